"""The defaults of studies with control sets: the campaign that chose them.

The four problems of subsets at three levels of cost, their variables' laws unknown to the learner. Every candidate sees
the same initial outcomes, contexts and noise, and spends the same budget by the rule `CostAdaptive()`. Defaults were
chosen on seeds 0 to 2; the table is on seeds from 100 on. Results are kept in
`benchmarks/results/control_defaults.jsonl`; runs that it holds are not repeated. `--quick` runs a miniature.
`plant-5d` and `airfoil` need the papers' data, see `allweather.problems.data`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import allweather as aw
from allweather.benchmark.regret import SubsetJudge
from allweather.errors import BudgetSpent
from allweather.problems import SubsetProblem, problem
from allweather.surrogates import Surrogate
from benchmarks.comparison import Results
from benchmarks.paired import PairedRun, read

PROBLEMS = ("gp-sample-3d", "hartmann3-subsets", "plant-5d", "airfoil")
"""Those of subsets; a run on the first draws a function of its own."""
LEVELS = {"cheap": (0.25, 5.0), "moderate": (2.0, 8.0), "expensive": (4.0, 14.0)}
"""Costs, the effort of `CostAdaptive`, and the budget, in units of the dearest set: 41 to 95, 34 to 64 and 17 to 21
trials. With cheap sets the usual effort of 4 means 400 trials of the cheapest group alone."""
SETTINGS = tuple(f"{name}, {level}" for name in PROBLEMS for level in LEVELS)
SEEDS = range(100, 120)
RESULTS = Path(__file__).parent / "results" / "control_defaults.jsonl"
COLUMNS = ("pairs", "cumulative, by cost", "cumulative", "recommendation", "at half the budget")
REFERENCE, CHOSEN = "DRO, UCB(1.5), rbf", "ObjectiveUCB(1)"
"""What control sets had before, which ratios are to, and what was chosen."""


@dataclass(frozen=True)
class Candidate:
    """What a user leaves open."""

    acquisition: aw.Acquisition
    surrogate: Surrogate
    objective: aw.Objective
    context: aw.ContextModel


_ROBUST = aw.DRO(aw.TotalVariation(aw.DensityRadius()))
_CLIPPED = aw.KDE(bandwidth="silverman", bounds="clip")
_MEAN = (aw.Expectation(), aw.KDE())
_RBF = aw.GP(outputscale="fit", transform="auto")
_MATERN = aw.GP("matern", outputscale="fit", transform="auto")
CANDIDATES: dict[str, Candidate] = {
    REFERENCE: Candidate(aw.UCB(1.5), aw.GP(), _ROBUST, _CLIPPED),
    "mean, UCB(1.5), rbf": Candidate(aw.UCB(1.5), aw.GP(), aw.Expectation(), _CLIPPED),
    "ObjectiveUCB(1)": Candidate(aw.ObjectiveUCB(1.0), _MATERN, *_MEAN),
    "ObjectiveUCB(2)": Candidate(aw.ObjectiveUCB(2.0), _MATERN, *_MEAN),
    "UCB(1)": Candidate(aw.UCB(1.0), _MATERN, *_MEAN),
    "UCB(1.5)": Candidate(aw.UCB(1.5), _MATERN, *_MEAN),
    "ObjectiveUCB(1), rbf": Candidate(aw.ObjectiveUCB(1.0), _RBF, *_MEAN),
    "ObjectiveUCB(2), rbf": Candidate(aw.ObjectiveUCB(2.0), _RBF, *_MEAN),
    "ObjectiveUCB(1), rbf, untransformed": Candidate(aw.ObjectiveUCB(1.0), aw.GP(outputscale="fit"), *_MEAN),
    "ObjectiveUCB(1), untransformed": Candidate(aw.ObjectiveUCB(1.0), aw.GP("matern", outputscale="fit"), *_MEAN),
    "ObjectiveUCB(1), clipped": Candidate(aw.ObjectiveUCB(1.0), _MATERN, aw.Expectation(), _CLIPPED),
    "DRO, UCB(1.5)": Candidate(aw.UCB(1.5), _MATERN, _ROBUST, aw.KDE()),
}
"""With a Matern, a fitted outputscale, a transform and the mean under `KDE()` where the name says nothing else."""


@cache
def judged(setting: str, seed: int) -> tuple[SubsetProblem, SubsetJudge]:
    """A problem with its costs, and the judge of its decisions.

    Args:
        setting: one of `SETTINGS`.
        seed: of the function, where a run draws its own.
    """
    name, _, level = setting.partition(", ")
    drawn = {"seed": seed} if name == "gp-sample-3d" else {}
    chosen = problem(name, costs=level, **drawn)
    assert isinstance(chosen, SubsetProblem)
    return chosen, SubsetJudge.of(chosen)


def build(run: PairedRun, chosen: SubsetProblem, candidate: Candidate, budget: float) -> aw.Study:
    """A study with the problem's free initial outcomes."""
    effort, _ = LEVELS[run.problem.partition(", ")[2]]
    control = aw.Control(chosen.control.sets, budget, aw.CostAdaptive(effort=effort))
    study = aw.Study(
        chosen.space,
        control=control,
        context=candidate.context,
        objective=candidate.objective,
        acquisition=candidate.acquisition,
        surrogate=candidate.surrogate,
        seed=run.seed,
    )
    study.add(chosen.initial_data(np.random.default_rng([run.seed, 0])))
    return study


def execute(run: PairedRun, candidate: Candidate, budget: float | None = None) -> dict[str, Any]:
    """Carry out a run.

    Returns:
        Cumulative regret, weighted by costs and not; regret of the recommendation in the end and after half of the
        budget; how many trials there were, and seconds of CPU time.
    """
    chosen, judge = judged(run.problem, run.seed if run.problem.startswith("gp-sample") else 0)
    budget = LEVELS[run.problem.partition(", ")[2]][1] if budget is None else budget
    started, study = time.process_time(), build(run, chosen, candidate, budget)
    weighted, plain, spent, number, half = 0.0, 0.0, 0.0, 0, None
    while True:
        try:
            trial = study.ask()
        except BudgetSpent:
            break
        number += 1
        rng = np.random.default_rng([run.seed, number])  # nature's, whatever is decided
        natural = chosen.draw(rng)
        context = {name: natural[name] for name in trial.left}
        study.tell(trial, chosen.observe(trial.decision, context, rng), context=context)
        regret, cost = judge.regret(trial.decision), trial.cost or 0.0
        weighted, plain, spent = weighted + cost * regret, plain + regret, spent + cost
        if half is None and spent >= budget / 2 - 1e-9:
            half = judge.regret(study.outlook().decision)
    end = judge.regret(study.outlook().decision)
    return {
        "problem": run.problem,
        "method": run.method,
        "seed": run.seed,
        "trials": number,
        "cumulative": [_short(weighted), _short(plain)],
        "recommended": [_short(end), _short(end if half is None else half)],
        "seconds": round(time.process_time() - started, 2),
    }


def campaign(runs: Iterable[PairedRun], path: Path, budget: float | None = None) -> list[dict[str, Any]]:
    """All results: those in the file, and those of the runs that it lacks, which are appended.

    Args:
        runs: those wanted.
        path: of the file.
        budget: in place of that of the setting.
    """
    results = read(path)
    known = {(each["problem"], each["method"], each["seed"]) for each in results}
    for run in runs:
        if run.key not in known:
            results.append(execute(run, CANDIDATES[run.method], budget))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
            print(*run.key, results[-1]["cumulative"], results[-1]["recommended"], results[-1]["seconds"], flush=True)
    return results


def by_candidate(results: Sequence[Mapping[str, Any]], seeds: Iterable[int] = SEEDS) -> list[list[str]]:
    """Rows of a table of regrets as multiples of the reference's, the head first.

    Args:
        results: lines of the file.
        seeds: those that count.
    """
    own = _own(results, seeds)
    return [["candidate", *COLUMNS], *([name, *_cells(own, name)] for name in own.methods)]


def by_problem(results: Sequence[Mapping[str, Any]], method: str, seeds: Iterable[int] = SEEDS) -> list[list[str]]:
    """As `by_candidate`, of one candidate by problem and cost.

    Args:
        results: lines of the file.
        method: the candidate.
        seeds: those that count.
    """
    own = _own(results, seeds)
    return [["problem", *COLUMNS], *([name, *_cells(own, method, name)] for name in SETTINGS)]


def _own(results: Sequence[Mapping[str, Any]], seeds: Iterable[int]) -> Results:
    counted = set(seeds)
    return Results.of([dict(each) for each in results if each["seed"] in counted])


def _cells(own: Results, method: str, setting: str | None = None) -> list[str]:
    kinds = [(kind, place) for kind in ("cumulative", "recommended") for place in (0, 1)]
    cells = [own.ratio(method, REFERENCE, *kind, setting) for kind in kinds]
    alone = cells[0].pairs == 1  # one pair has no standard error
    return [str(cells[0].pairs), *(f"{each.value:.2f}" if alone else str(each) for each in cells)]


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks control_defaults")
    parser.add_argument("--methods", nargs="+", default=list(CANDIDATES))
    parser.add_argument("--problems", nargs="+", default=list(SETTINGS))
    parser.add_argument("--seeds", default=f"{SEEDS.start}-{SEEDS.stop - 1}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only print the tables of what was run")
    parser.add_argument("--quick", action="store_true", help="one problem, one seed, a small budget")
    chosen = parser.parse_args(arguments)
    first, _, last = chosen.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if chosen.quick:
        runs = [PairedRun("hartmann3-subsets, expensive", name, 0) for name in (REFERENCE, "ObjectiveUCB(1)")]
        with tempfile.TemporaryDirectory() as folder:
            return _show(campaign(runs, Path(folder) / "quick.jsonl", 2.0), range(1))
    runs = [PairedRun(name, method, seed) for seed in seeds for name in chosen.problems for method in chosen.methods]
    return _show(read(chosen.results) if chosen.show else campaign(runs, chosen.results), seeds)


def _show(results: Sequence[Mapping[str, Any]], seeds: range) -> None:
    title = f"regret as a multiple of {REFERENCE}: geometric means of paired ratios (standard error of the logarithm)"
    tables = {title: by_candidate(results, seeds)}
    tables |= {method: by_problem(results, method, seeds) for method in _own(results, seeds).methods}
    for name, (head, *rows) in tables.items():
        shown = Table(*head, title=name)
        for row in rows:
            shown.add_row(*row)
        Console(width=130).print(shown)


def _short(number: float) -> float:
    return float(f"{max(number, 0.0):.6g}")
