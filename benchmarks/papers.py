"""Runs of the papers' figures, stored in `benchmarks/results/papers`: what `docs/results.md` is written from.

The items are run in their order, seed by seed. A run that is stored is not repeated, and a run that was stopped is
resumed from its journal, so the command can be stopped at any time:
`python -m benchmarks papers --minutes 90 --workers 2 --figure kde`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import torch

from allweather.benchmark import Campaign, Run, execute
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import CATALOGUE
from allweather.benchmark.reproduce import select_campaigns
from allweather.benchmark.runner import prepare
from allweather.errors import InvalidInput, MissingData
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


ITEMS: tuple[Item, ...] = (
    Item(published_code.NAME),
    Item("kde-fig1"),
    Item("kde-table1"),
    Item("wasserstein-fig3"),
    Item("wasserstein-fig1"),
    Item("phi-fig3"),
    Item("phi-fig4"),
    Item("phi-fig5"),
    Item("phi-fig1"),
    Item("phi-fig7"),
    Item("subsets-fig2"),
    Item("subsets-fig3"),
    Item("bocu-fig2"),
    Item("bocu-fig3"),
    Item("kde-fig2"),
    Item("subsets-kg"),
)
"""In the order in which they are run, at the size of the paper."""


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


def tasks(wanted: Iterable[tuple[str, Path, Run]], end: float) -> Iterator[tuple[str, Path, Run]]:
    """Yield runs until a time, each after the optimum of its problem was found; without those whose data are missing.

    Args:
        wanted: where the runs are stored, their folder, and the run.
        end: of `time.monotonic`.
    """
    prepared: dict[tuple[str, str], bool] = {}
    for name, folder, run in wanted:
        if time.monotonic() > end:
            return
        key = (name, run.optimum_key)
        if key not in prepared:
            try:
                prepare(run, folder)
                prepared[key] = True
            except MissingData as error:
                prepared[key] = False
                print(f"{name}: {run.labels['problem']} is left out: {error}", flush=True)
        if prepared[key]:
            yield name, folder, run


def execute_one(name: str, folder: Path, run: Run) -> tuple[str, Run, list[stored_runs.Record]]:
    """Execute a run on one thread, and return it with its records.

    Args:
        name: of the figure under which it is stored.
        folder: of its journal.
        run: what to run.
    """
    torch.set_num_threads(1)
    return name, run, stored_runs.records(name, execute(run, folder))


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers", description=__doc__)
    parser.add_argument("--results", type=Path, default=stored_runs.FOLDER, help="folder of the stored runs")
    parser.add_argument("--journals", type=Path, default=JOURNALS, help="folder of journals and optima")
    parser.add_argument("--hours", type=float, default=float("inf"), help="no run is started after this time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="the same in minutes")
    parser.add_argument("--workers", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--nice", type=int, default=10, help="added to the niceness of the processes")
    parser.add_argument("--figure", action="append", help="only this figure (repeatable), or all of a paper: kde")
    parser.add_argument("--problem", action="append", help="only this problem (repeatable)")
    parser.add_argument("--method", action="append", help="only this method (repeatable)")
    parser.add_argument("--seeds", type=int, help="only the first seeds")
    parser.add_argument("--iterations", type=int, help="of each run; default: as in the paper")
    parser.add_argument("--list", action="store_true", help="count the missing runs and do nothing")
    chosen = parser.parse_args(arguments)
    items = _restricted(chosen.figure, chosen.problem, chosen.method, chosen.seeds, chosen.iterations)
    if chosen.list:
        for item in items:
            print(item, sum(1 for _ in missing([item], chosen.results)))
        return
    os.nice(chosen.nice)
    end = time.monotonic() + min(3600 * chosen.hours, 60 * chosen.minutes)
    wanted = tasks(missing(items, chosen.results, chosen.journals), end)  # type: ignore[arg-type]
    jobs = (joblib.delayed(execute_one)(*task) for task in wanted)
    parallel = joblib.Parallel(n_jobs=chosen.workers, return_as="generator_unordered", pre_dispatch="n_jobs")
    for name, run, found in parallel(jobs):
        stored_runs.append(chosen.results, found)
        print(name, run.key, f"{found[0]['cpu_s']:.1f} s", flush=True)


def _restricted(
    figures: Sequence[str] | None,
    problems: Sequence[str] | None,
    methods: Sequence[str] | None,
    seeds: int | None,
    iterations: int | None,
) -> list[Item]:
    """The items of some figures, with some of their runs; figures that have none of these are left out."""
    kept = []
    for item in ITEMS:
        if figures is not None and not {item.figure, item.figure.split("-")[0]} & set(figures):
            continue
        chosen = Item(item.figure, problems and tuple(problems), methods and tuple(methods), seeds, iterations)
        try:
            chosen.campaigns()
        except InvalidInput:
            continue
        kept.append(chosen)
    return kept
