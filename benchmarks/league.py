"""The league: the default and its rivals for 195 trials, next to the results that the newest rival's authors published.

Eight problems of kde and wasserstein with 5 initial trials, and contexts with a standard deviation of 0.2 where the law
is normal, as in arXiv 2605.07565. Seeds from 100 on are held out; variants of the default run on seeds below 100 only.

    python -m benchmarks league                                       # what is missing, then the tables; many hours
    python -m benchmarks league --show                                # only the tables
    python -m benchmarks league --problems newsvendor --methods default sbo-kde --seeds 100-103 --trials 60
    python -m benchmarks league --methods default "untransformed" --seeds 0-9 --trials 60 --against default
    python -m benchmarks league --methods "Optuna, TPE" "Optuna, GP" "BoTorch, decisions alone" "BoTorch, contexts seen"
    python -m benchmarks league --second                              # ten problems that no default was chosen on

Runs are kept in `benchmarks/results` (`league.jsonl`, `league_tuning.jsonl`, `second_league.jsonl`); what is there is
not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather.acquisition import Acquisition
from allweather.methods.composition import Composition
from allweather.problems import Problem, problem
from allweather.surrogates.gp.priors import LogNormalPriors
from benchmarks import rivals, unseen_problems
from benchmarks.defaults import GOALS, RECOMMENDING, study_with
from benchmarks.league_runs import CHECKPOINTS, Entrant, League, entrant, stored_runs
from benchmarks.league_tables import STORED, Standings, cumulative, recommended

FOLDER = Path(__file__).parent / "results"
TUNING = FOLDER / "league_tuning.jsonl"
"""Runs with seeds below 100."""
HELD_OUT = 100
"""The first held-out seed."""
SHOWN = (30, 60, 195)
"""Trials of the tables."""
SETTINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ackley": ("ackley", {"sd": 0.2}),
    "hartmann6": ("hartmann6", {"sd": 0.2}),
    "modified-branin": ("modified-branin", {"sd": 0.2}),
    "portfolio-uniform": ("portfolio-uniform", {}),
    "portfolio-normal": ("portfolio-normal", {"sd": 0.2}),
    "complicated-hartmann": ("complicated-hartmann", {}),
    "newsvendor": ("newsvendor", {}),
    "three-hump-camel": ("three-hump-camel", {"law": "normal"}),
}
"""Problems of the first league: name and options."""
REFERENCE, LEDRBO = "sbo-kde", "ledrbo"
DEFAULT = "default"
METHODS: dict[str, Callable[[], Composition]] = {
    DEFAULT: partial(Composition, goal=GOALS[DEFAULT]),
    RECOMMENDING: partial(Composition, goal=GOALS[RECOMMENDING]),
    REFERENCE: partial(aw.method, REFERENCE),
    LEDRBO: partial(aw.method, LEDRBO),
    "sbo-kde, rbf": lambda: aw.method(REFERENCE, samples=512, surrogate=aw.GP()),
}
"""Defaults of two goals, and published methods; `sbo-kde, rbf` has surrogate and samples of wasserstein's code."""
PRIORS = LogNormalPriors()
PLAIN = aw.GP("matern", outputscale="fit", priors=PRIORS)
EVEN = aw.GP("matern", outputscale="fit", transform="auto", priors=PRIORS, varying_noise=False)
SMOOTH = aw.GP(outputscale="fit", transform="auto", priors=PRIORS, varying_noise=False)
ACQUISITIONS: Mapping[str, Acquisition] = {
    "width 1": aw.ObjectiveUCB(1.0),
    "width 2": aw.ObjectiveUCB(2.0),
    **{f"horizon {horizon}": aw.OnlineKnowledgeGradient(horizon) for horizon in (1.5, 2.0, 3.0, 6.0)},
    **{f"horizon {c} sqrt": aw.OnlineKnowledgeGradient(aw.PowerLaw(c, -0.5)) for c in (0.5, 1.0)},
}
SURROGATES: Mapping[str, aw.Surrogate] = {
    "untransformed": PLAIN,
    "even noise": EVEN,
    "rbf": SMOOTH,
    "kernel average": aw.KernelAverage(surrogate=SMOOTH),
    "kernels by evidence": aw.KernelAverage(surrogate=SMOOTH, weights="evidence"),
}
VARIANTS: dict[str, Callable[[], Composition]] = {
    **{name: partial(Composition, acquisition=acquisition) for name, acquisition in ACQUISITIONS.items()},
    **{name: partial(Composition, surrogate=surrogate) for name, surrogate in SURROGATES.items()},
    **{
        f"{first}, {second}": partial(Composition, acquisition=acquisition, surrogate=surrogate)
        for first, acquisition in ACQUISITIONS.items()
        for second, surrogate in SURROGATES.items()
    },
}
"""Candidates for the default; what a composition leaves open is as in the default."""


def _bursts(step: int) -> float:
    return float(step) if step in {int(6 * 1.25**k) for k in range(20)} else 3.0


def _built(label: str) -> Problem:
    name, options = SETTINGS[label]
    return replace(problem(name, **options), initial=5)


FIRST = League(
    "league", {label: partial(_built, label) for label in SETTINGS}, 195, range(100, 112), FOLDER / "league.jsonl"
)
SECOND = League("second-league", unseen_problems.PROBLEMS, 60, range(500, 510), FOLDER / "second_league.jsonl")


def entrants() -> dict[str, Entrant]:
    """Everything that can be run, by name."""
    ours = {name: entrant(study_with(build())) for name, build in {**METHODS, **VARIANTS}.items()}
    return ours | rivals.RIVALS


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks league", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    leagues = parser.add_mutually_exclusive_group()
    leagues.add_argument("--first", action="store_const", dest="league", const=FIRST, help="the papers' problems")
    leagues.add_argument("--second", action="store_const", dest="league", const=SECOND, help="problems of our own")
    parser.add_argument("--show", action="store_true", help="only print the tables of what was run")
    parser.add_argument("--problems", nargs="+", default=None, help="by label; all by default")
    parser.add_argument("--methods", nargs="+", default=None, help=f"among {', '.join(entrants())}")
    parser.add_argument("--seeds", default=None, help="the first and the last, as 100-111; below 100 for variants")
    parser.add_argument("--trials", type=int, default=None, help="after the initial design")
    parser.add_argument("--results", type=Path, default=None, help="file of the runs")
    parser.add_argument("--against", default=None, help=f"denominator of the ratios; {REFERENCE} by default")
    chosen = parser.parse_args(arguments)
    league, known = chosen.league or FIRST, entrants()
    seeds = _seeds(chosen.seeds, league.seeds)
    tuning = seeds.stop <= HELD_OUT
    methods = chosen.methods or list(METHODS)
    labels = chosen.problems or list(league.problems)
    for kind, given, among in (("method", methods, known), ("problem", labels, league.problems)):
        unknown = [name for name in given if name not in among]
        if unknown:
            parser.error(f"no {kind} {unknown}; there are {', '.join(among)}")
    if league is SECOND and (tuning or seeds.start < SECOND.seeds.start):
        parser.error(f"no choice is made on the second league: it runs on seeds from {SECOND.seeds.start} on")
    if not tuning and (seeds.start < HELD_OUT or any(name in VARIANTS for name in methods)):
        parser.error(f"variants run on seeds below {HELD_OUT} only, and those are not mixed with held-out ones")
    path = chosen.results or (TUNING if tuning else league.results)
    if not chosen.show:
        usual = {name: rivals.TRIALS if name in rivals.RIVALS else league.trials for name in methods}
        trials = {name: chosen.trials or number for name, number in usual.items()}
        league.campaign(labels, {name: known[name] for name in methods}, seeds, trials, path)
    records = [each for each in stored_runs(path) if each["problem"] in labels]
    if chosen.seeds is not None:
        records = [each for each in records if each["seed"] in seeds]
    if chosen.methods is not None:
        records = [each for each in records if each["method"] in {*methods, chosen.against}]
    show(Standings.of(records, league is FIRST), chosen.against or REFERENCE, shown_in(league))


def _seeds(text: str | None, usual: range) -> range:
    if text is None:
        return usual
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def shown_in(league: League) -> tuple[int, ...]:
    """The numbers of trials that tables show.

    Args:
        league: the first or the second.
    """
    return SHOWN if league is FIRST else CHECKPOINTS


def show(standings: Standings, against: str = REFERENCE, shown: Sequence[int] = SHOWN) -> None:
    """Print the tables.

    Args:
        standings: of the league.
        against: the method in the denominators.
        shown: numbers of trials.
    """
    console = Console(width=190)
    for title, rows in tables(standings, against, shown).items():
        table = Table(title=title)
        head, *body = rows
        for column in head:
            table.add_column(column, justify="left" if column == head[0] else "right")
        for row in body:
            table.add_row(*row)
        console.print(table)


def tables(standings: Standings, against: str = REFERENCE, shown: Sequence[int] = SHOWN) -> dict[str, list[list[str]]]:
    """Rows of the tables by title, the first row the head.

    Args:
        standings: of the league.
        against: the method in the denominators.
        shown: numbers of trials.
    """
    if not standings.methods:
        return {}
    title = "cumulative regret as a multiple of that of {}"
    first = f"{title.format(against)} (standard error of the logarithm; 95% interval)"
    found = {first: cumulative(standings, against, shown)}
    rival = STORED.format(LEDRBO)
    if rival in standings.published:
        found[title.format(rival)] = cumulative(standings, rival, shown)
    if DEFAULT in standings.methods and rival in standings.published:
        found[f"{title.format(rival)}: {DEFAULT}, by problem"] = [
            ["problem", *(f"{n} trials" for n in shown)],
            *(
                [name, *(str(standings.cumulative(DEFAULT, rival, n, name)) for n in shown)]
                for name in standings.problems
            ),
        ]
    found["recommendations, and runs that are stuck"] = recommended(standings, against)
    return found
