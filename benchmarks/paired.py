"""Paired runs: every method sees the same initial design, contexts and noise for the same problem and seed.

Results are JSON lines, one per run, appended as runs end: a campaign that was stopped resumes where it ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import allweather as aw
from allweather.benchmark.regret import Judge, Measure
from allweather.problems import Problem, problem

PROBLEMS = (
    "ackley",
    "ackley-4c",
    "branin",
    "complicated-hartmann",
    "goldstein-price",
    "hartmann6",
    "modified-branin",
    "newsvendor",
    "plant-ph",
    "portfolio-normal",
    "portfolio-uniform",
    "six-hump-camel",
    "three-hump-camel",
    "wind",
)
"""Those of the papers on which a run takes seconds."""
MEASURES = (Measure("expected"), Measure("shifted", aw.DRO(aw.TotalVariation(0.2))))
"""The mean under the true law, and the worst mean within a total variation of 0.2 of it."""
OPTIMA = Path(__file__).parent / "results" / "optima"

Builder = Callable[[Problem, int], aw.Study]
"""A problem and a seed to a study without trials."""


@dataclass(frozen=True)
class PairedRun:
    """One method on one problem with one seed."""

    problem: str
    method: str
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies its result."""
        return self.problem, self.method, self.seed


@cache
def judges(name: str) -> tuple[Problem, tuple[Judge, ...]]:
    """A problem and the judges of its decisions; optima are kept."""
    chosen = problem(name)
    return chosen, tuple(Judge.of(chosen, measure, OPTIMA) for measure in MEASURES)


def execute(run: PairedRun, build: Builder, trials: int) -> dict[str, Any]:
    """Carry out a run.

    Args:
        run: what to run.
        build: makes the study.
        trials: how many decisions the method chooses, after the problem's initial design.

    Returns:
        Cumulative regret by measure over these trials, the regret of the final recommendation, and seconds.
    """
    chosen, judged = judges(run.problem)
    study, started = build(chosen, run.seed), time.perf_counter()
    totals = np.zeros(len(judged))
    for number in range(chosen.initial + trials):
        rng = np.random.default_rng([run.seed, number])  # nature's, whatever the method does
        context = chosen.draw(rng)
        trial = study.ask()
        value = chosen.observe(trial.decision, context, rng)
        study.tell(trial, value, context=context)
        if number >= chosen.initial:
            totals += _regrets(chosen, judged, trial.decision)
    recommended = _regrets(chosen, judged, study.outlook().decision)
    return {
        "problem": run.problem,
        "method": run.method,
        "seed": run.seed,
        "trials": trials,
        "cumulative": [_short(number) for number in totals],
        "recommended": [_short(number) for number in recommended],
        "seconds": round(time.perf_counter() - started, 2),
    }


def campaign(
    runs: Iterable[PairedRun], builders: Mapping[str, Builder], trials: int, path: Path, report: bool = True
) -> list[dict[str, Any]]:
    """All results: those in the file, and those of the runs that it lacks, which are appended."""
    results = read(path)
    known = {PairedRun(each["problem"], each["method"], each["seed"]).key for each in results}
    for run in runs:
        if run.key in known:
            continue
        result = execute(run, builders[run.method], trials)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(result) + "\n")
        results.append(result)
        if report:
            print(*run.key, result["cumulative"], result["recommended"], f"{result['seconds']} s", flush=True)
    return results


def read(path: Path) -> list[dict[str, Any]]:
    """The results in a file; a last line that was cut off is left out."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def _regrets(chosen: Problem, judged: tuple[Judge, ...], decision: Mapping[str, Any]) -> np.ndarray:
    encoded = chosen.space.decisions.encode(decision)[0]
    return np.array([judge.regret(encoded) for judge in judged])


def _short(number: float) -> float:
    return float(f"{max(number, 0.0):.6g}")
