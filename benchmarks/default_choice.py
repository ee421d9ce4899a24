"""The campaign that chose priors, acquisition and transform of the defaults together, on seeds below 100.

Settings are papers' problems, two of them with the wider contexts of wasserstein, where runs got stuck. All candidates
see the same initial design, contexts and noise. Results are kept in `benchmarks/results/default_choice.jsonl`; runs
that it holds are not repeated.

    python -m benchmarks default_choice --show
    python -m benchmarks default_choice --candidates "ObjectiveUCB(1)" --seeds 0-5
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather.benchmark.regret import Judge, Measure
from allweather.methods.composition import Composition
from allweather.problems import Problem, problem
from allweather.surrogates.gp.priors import PUBLISHED, LogNormalPriors
from benchmarks.comparison import Results
from benchmarks.defaults import study_with
from benchmarks.paired import OPTIMA, PROBLEMS, read

WIDE = {"ackley, sd .2": "ackley", "modified-branin, sd .2": "modified-branin"}
"""Settings with contexts of deviation .2."""
SETTINGS = (*WIDE, *PROBLEMS)
SEEDS, CHECKPOINTS = range(12), (30, 60)
RESULTS = Path(__file__).parent / "results" / "default_choice.jsonl"
REFERENCE = "published priors, ObjectiveUCB(1)"
STUCK_TRIALS = 15
"""A run is stuck where these last trials lose more than three times as much as the median run's."""


HORIZONS: dict[str, float | aw.Schedule] = {
    "3": 3.0,
    "6": 6.0,
    "sqrt t": aw.PowerLaw(1.0, -0.5),
    **{f"{share} t": aw.PowerLaw(share, -1.0) for share in (0.2, 0.3, 0.6, 1.0)},
}
"""Of `OnlineKnowledgeGradient`: a number, or shares of the trials that there were."""


def candidates() -> dict[str, Composition]:
    """Compositions that may become the default; all but the reference have priors of ordinary width."""
    usual = aw.GP("matern", outputscale="fit", transform="auto", priors=PUBLISHED)
    own = aw.GP("matern", outputscale="fit", transform="auto", priors=LogNormalPriors())
    gradients = {
        f"OnlineKnowledgeGradient({name})": Composition(acquisition=aw.OnlineKnowledgeGradient(horizon), surrogate=own)
        for name, horizon in HORIZONS.items()
    }
    return {
        REFERENCE: Composition(acquisition=aw.ObjectiveUCB(1.0), surrogate=usual),
        "ObjectiveUCB(1)": Composition(acquisition=aw.ObjectiveUCB(1.0), surrogate=own),
        "ObjectiveUCB(2)": Composition(acquisition=aw.ObjectiveUCB(2.0), surrogate=own),
        **gradients,
        "OnlineKnowledgeGradient(3), untransformed": Composition(
            acquisition=aw.OnlineKnowledgeGradient(3.0),
            surrogate=aw.GP("matern", outputscale="fit", priors=LogNormalPriors()),
        ),
    }


@cache
def setting(name: str) -> tuple[Problem, Judge]:
    """A problem and the judge of its decisions."""
    chosen = problem(WIDE[name], sd=0.2) if name in WIDE else problem(name)
    return chosen, Judge.of(chosen, Measure("expected"), None if name in WIDE else OPTIMA)


def execute(name: str, candidate: str, seed: int) -> dict[str, Any]:
    """Carry out a run: regret after the checkpoints, that of the recommendations there, and whether intervals held.

    Args:
        name: of the setting.
        candidate: which composition.
        seed: of the run.
    """
    chosen, judge = setting(name)
    study, started = study_with(candidates()[candidate])(chosen, seed), time.process_time()
    regrets: list[float] = []
    recommended, held = [], []
    for number in range(chosen.initial + max(CHECKPOINTS)):
        rng = np.random.default_rng([seed, number])
        context = chosen.draw(rng)
        trial = study.ask()
        study.tell(trial, chosen.observe(trial.decision, context, rng), context=context)
        if number >= chosen.initial:
            regrets.append(judge.regret(chosen.space.decisions.encode(trial.decision)[0]))
        if len(regrets) in CHECKPOINTS and number >= chosen.initial:
            best = study.recommend()
            regret = judge.regret(chosen.space.decisions.encode(best.decision)[0])
            recommended.append(regret)
            held.append(bool(best.interval[0] <= judge.best - regret <= best.interval[1]))
    return {
        "problem": name,
        "method": candidate,
        "seed": seed,
        "cumulative": [float(f"{max(sum(regrets[:count]), 0):.6g}") for count in CHECKPOINTS],
        "recommended": [float(f"{max(each, 0.0):.6g}") for each in recommended],
        "last": float(f"{np.mean(regrets[-STUCK_TRIALS:]):.4g}"),
        "held": held,
        "seconds": round(time.process_time() - started, 2),
    }


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the table.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks default_choice")
    parser.add_argument("--candidates", nargs="+", default=list(candidates()))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print the table of what was run")
    chosen = parser.parse_args(arguments)
    first, _, last = chosen.seeds.partition("-")
    results = read(chosen.results)
    known = {(each["problem"], each["method"], each["seed"]) for each in results}
    runs = [
        (name, candidate, seed)
        for seed in range(int(first), int(last or first) + 1)
        for candidate in chosen.candidates
        for name in chosen.settings
    ]
    for run in [] if chosen.show else runs:
        if run not in known:
            results.append(execute(*run))
            with chosen.results.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
    show(results)


def show(found: Sequence[dict[str, Any]]) -> None:
    """Print regret relative to the reference, stuck runs and the share of intervals that held.

    Args:
        found: results of runs.
    """
    results = Results.of(found)
    table = Table(title=f"regret as a multiple of that of: {REFERENCE}")
    for column in ("candidate", "pairs", "30", "60", "recommended, 30", "60", "stuck", "held, 30", "60", "seconds"):
        table.add_column(column)
    settings = {each["problem"] for each in found}
    medians = {name: np.median([each["last"] for each in found if each["problem"] == name]) for name in settings}
    for method in results.methods:
        own = [each for each in found if each["method"] == method]
        kinds = [("cumulative", 0), ("cumulative", 1), ("recommended", 0), ("recommended", 1)]
        cells = [results.ratio(method, REFERENCE, kind, place) for kind, place in kinds]
        prone = [each for each in own if each["problem"] == "modified-branin, sd .2"]
        stuck = [each["last"] > 3 * medians[each["problem"]] and each["last"] > 1 for each in prone]
        shares = [f"{np.mean([each['held'][place] for each in own]):.2f}" for place in range(len(CHECKPOINTS))]
        seconds = f"{np.mean([each['seconds'] for each in own]):.1f}"
        table.add_row(method, str(cells[0].pairs), *map(str, cells), f"{sum(stuck)} of {len(stuck)}", *shares, seconds)
    Console(width=150).print(table)
