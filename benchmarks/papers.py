"""Runs of the papers' figures, stored in `benchmarks/results/papers`: what `docs/results.md` is written from.

The items are ordered by what they tell per second. A run that is stored is not repeated, and a run that was stopped is
resumed from its journal, so the command can be stopped at any time: `python -m benchmarks papers --hours 2`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from allweather.benchmark import Campaign, Run, execute
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import CATALOGUE
from allweather.benchmark.reproduce import select_campaigns
from benchmarks import published_code, stored_runs

JOURNALS = Path("reproductions") / "papers"


@dataclass(frozen=True)
class Item:
    """Some runs of a figure; where nothing is given, those of the paper."""

    figure: str
    problems: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    seeds: int | None = None
    iterations: int | None = None

    @property
    def stored(self) -> str:
        """Name under which its runs are stored: figures of the same runs share them."""
        return _figure(self.figure).journals or self.figure

    def campaigns(self, folder: Path | None = None) -> list[Campaign]:
        """The campaigns of the figure, restricted, with their folders inside `folder`."""
        figure = _figure(self.figure)
        return select_campaigns(figure, self.seeds, self.iterations, self.problems, self.methods, folder)

    def runs(self, folder: Path | None = None) -> list[tuple[Path | None, Run]]:
        """The runs, seed by seed over all campaigns, with the folder of their journals."""
        runs = [(each.folder, run) for each in self.campaigns(folder) for run in each.runs()]
        return sorted(runs, key=lambda pair: pair[1].seed)


def _figure(name: str) -> Figure:
    if name == published_code.NAME:
        return Figure(name, "published code", "", published_code.campaigns)
    found = CATALOGUE[name]
    assert isinstance(found, Figure)
    return found


_PAIR = ("ackley", "modified-branin")
_KDE = (*_PAIR, "newsvendor", "portfolio-normal")
_UCB = ("TS-BOCU", "UCB-BOCU-2", "UCB-SO", "UCB-RO", "Random")
_HARTMANN = tuple(f"hartmann3-subsets, {level}, 0.04" for level in ("moderate", "cheap", "expensive"))
_SUBSETS = ("etc-50", "etc-100", "etc-ada", "ucb-psq", "ts-psq")
_PLANAR = ("branin", "six-hump-camel")
ITEMS: tuple[Item, ...] = (
    Item(published_code.NAME, ("hartmann3", "gp-sample"), seeds=2),
    Item("wasserstein-fig3", _PAIR, ("erbo", "wdrbo", "gp-ucb", "sbo-kde"), iterations=30),
    Item("kde-fig1", _KDE, ("sbo-kde", "drbo-kde", "gp-ucb", "stableopt"), iterations=30),
    Item("wasserstein-fig1", methods=("WDRBO", "ERBO")),
    Item("phi-fig3", _PLANAR, ("drbo-chi2", "drbo-tv", "stableopt", "gp-ucb", "random"), iterations=30),
    Item("subsets-fig2", _HARTMANN[::2], _SUBSETS),
    Item("subsets-fig2", _HARTMANN, _SUBSETS, seeds=5),
    Item("bocu-fig2", ("hartmann3", "plant-ph"), _UCB, seeds=3, iterations=100),
    Item("phi-fig3", _PLANAR, iterations=30),
    Item("wasserstein-fig3", _PAIR, seeds=5, iterations=30),
    Item("subsets-fig2", _HARTMANN),
    Item("bocu-fig2", ("hartmann3", "plant-ph"), _UCB, iterations=100),
    Item("kde-fig1", _KDE, iterations=60),
    Item(published_code.NAME),
    Item("wasserstein-fig3", _PAIR),
    Item("bocu-fig2", ("hartmann3", "plant-ph"), _UCB, seeds=5, iterations=400),
    Item("phi-fig3"),
    Item("kde-fig1", iterations=90),
    Item("wasserstein-fig3"),
    Item("bocu-fig2", ("hartmann3", "plant-ph")),
    Item("subsets-fig2"),
    Item("kde-fig1"),
    Item("bocu-fig2"),
)
"""In the order in which they are run; later items contain earlier ones at the size of the paper."""


def missing(
    items: Sequence[Item], results: Path, journals: Path | None = None
) -> Iterator[tuple[str, Path | None, Run]]:
    """The runs that are not stored, or with fewer iterations: where they are stored, their folder, and the run.

    Args:
        items: what is wanted.
        results: folder of the stored runs.
        journals: folder of journals and optima.
    """
    lengths = {stored_runs.identity(record): stored_runs.length(record) for record in stored_runs.read(results)}
    for item in items:
        for folder, run in item.runs(None if journals is None else journals / item.stored):
            names = [None] if run.iterations is None else [measure.name for measure in run.measures]
            keys = [(item.stored, run.labels["problem"], run.labels["method"], name, run.seed) for name in names]
            if any(lengths.get(key, 0) < (run.iterations or 1) for key in keys):
                lengths |= dict.fromkeys(keys, run.iterations or 1)
                yield item.stored, folder, run


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers", description=__doc__)
    parser.add_argument("--results", type=Path, default=stored_runs.FOLDER, help="folder of the stored runs")
    parser.add_argument("--journals", type=Path, default=JOURNALS, help="folder of journals and optima")
    parser.add_argument("--hours", type=float, default=float("inf"), help="no run is started after this time")
    parser.add_argument("--figure", action="append", help="only this figure (repeatable)")
    parser.add_argument("--list", action="store_true", help="count the missing runs and do nothing")
    chosen = parser.parse_args(arguments)
    items = [item for item in ITEMS if chosen.figure is None or item.figure in chosen.figure]
    if chosen.list:
        for item in items:
            print(item, sum(1 for _ in missing([item], chosen.results)))
        return
    end = time.monotonic() + 3600 * chosen.hours
    for name, folder, run in missing(items, chosen.results, chosen.journals):
        if time.monotonic() > end:
            break
        found = stored_runs.records(name, execute(run, folder))
        stored_runs.append(chosen.results, found)
        print(name, run.key, f"{found[0]['cpu_s']:.1f} s", flush=True)
