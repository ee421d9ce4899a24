"""Where the CPU time of one default `ask` goes, stage by stage, against a lower bound computed in the same run.

The bound is one Cholesky factorisation with the inverse of its factor, and the evaluations that the search made, in one
batch of bare matrix products each. `--before DIR` times the asks of another checkout beside, in processes of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg.lapack import dpotrf, dtrtri

import allweather as aw
from allweather._utils.timing import threads
from allweather.acquisition.optimize.scores import Scores
from allweather.acquisition.optimize.search import Search
from allweather.engine.beliefs import Beliefs
from allweather.methods.composition import Parts
from allweather.surrogates import GP
from allweather.surrogates.posteriors.field import ProductField
from benchmarks.asks import SPACE, data

STAGES: dict[str, list[tuple[type, str]]] = {
    "rows": [(Beliefs, "observations")],
    "transform": [(GP, "_place")],
    "fit": [(GP, "_climbed")],
    "Cholesky": [(GP, "resume")],
    "reference": [(Parts, "reference")],
    "field": [(ProductField, "__init__"), (ProductField, "shared")],
    "screening": [(Scores, "values")],
    "climbs": [(Search, "_climbed")],
    "search": [(Search, "best")],
}
"""What a stage's own time is spent in; the time of another stage within it is not its own."""
REPEATS = 9
TIMED = """
import sys, time
import pandas, torch
import allweather as aw
torch.set_num_threads(1)
space = aw.Space(x1=aw.Real(0, 1), x2=aw.Real(0, 1), c1=aw.Context(0, 1), c2=aw.Context(0, 1))
table, taken = pandas.read_json(sys.stdin), []
for seed in range(int(sys.argv[1])):
    study = aw.Study(space, seed=seed)
    study.add(table)
    started = time.process_time()
    study.ask()
    taken.append(time.process_time() - started)
print(taken[0], sorted(taken[1:])[len(taken[1:]) // 2])
"""


class Clock:
    """CPU seconds by stage, each second in the innermost stage only, and how many points were evaluated."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.points: defaultdict[str, int] = defaultdict(int)
        self._running, self._since = ["other"], time.process_time()

    def enter(self, stage: str) -> None:
        """Begin a stage within the present one; an empty name ends it."""
        now = time.process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now
        if stage:
            self._running.append(stage)
        else:
            self._running.pop()


@contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """Every stage's functions, charged to the clock."""
    before = [(owner, name, getattr(owner, name)) for places in STAGES.values() for owner, name in places]
    for stage, places in STAGES.items():
        for owner, name in places:
            setattr(owner, name, _charged(clock, stage, getattr(owner, name)))
    evaluate = Scores.slopes
    Scores.slopes = _counted(clock, evaluate)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Scores.slopes = evaluate  # type: ignore[method-assign]
        for owner, name, function in before:
            setattr(owner, name, function)


def _charged(clock: Clock, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def charged(*args: Any, **kwargs: Any) -> Any:
        clock.enter(stage)
        if stage == "screening":
            clock.points["values"] += len(args[1])
        try:
            return function(*args, **kwargs)
        finally:
            clock.enter("")

    return charged


def _counted(clock: Clock, function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(scores: Scores, points: np.ndarray) -> Any:
        clock.points["slopes"] += len(points)
        return function(scores, points)

    return counted


def study_of(trials: int, seed: int) -> aw.Study:
    """A default study that knows some outcomes."""
    study = aw.Study(SPACE, seed=seed)
    study.add(data(trials))
    return study


def asked(trials: int, later: bool) -> tuple[dict[str, float], float]:
    """CPU ms by stage of one ask, the median of some, and its lower bound.

    Args:
        trials: outcomes that are known.
        later: whether the study asked before, so that the fit starts from its last optimum.
    """
    found, clock = [], Clock()
    for seed in range(REPEATS + 1):
        study = study_of(trials, seed)
        if later:
            study.tell(study.ask(), value=0.0, context={"c1": 0.5, "c2": 0.5})
        clock = Clock()
        with watched(clock):
            study.ask()
            clock.enter("other")
        found.append(clock.seconds)
    names = ["other", *STAGES]
    # The first one imports and fills caches.
    medians = {name: 1e3 * float(np.median([each[name] for each in found[1:]])) for name in names}
    return medians, 1e3 * lower_bound(study, clock)


def lower_bound(study: aw.Study, clock: Clock) -> float:
    """Seconds of one Cholesky factorisation with its inverse, and of the search's evaluations in a batch each."""
    history = study.history
    posterior = study._engine.posterior(history)
    product = getattr(posterior, "inner", posterior)
    points = product.data.points
    covariance = np.asfortranarray(
        product.data.kernel(points, points).numpy() + product.data.noise * np.eye(len(points))
    )
    weights = product.data.points.new_full((8,), 1 / 8)
    closed = product.field(points[:8, 2:]).quadrature(weights, 1.0)
    source = np.random.default_rng(0)
    screened, climbed = (source.random((max(clock.points[kind], 1), 2)) for kind in ("values", "slopes"))
    parts = [
        lambda: dtrtri(dpotrf(covariance, lower=1)[0], lower=1),
        lambda: closed.values(screened),
        lambda: closed.slopes(climbed),
    ]
    return sum(_least(part) for part in parts)


def _least(function: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        started = time.process_time()
        function()
        taken.append(time.process_time() - started)
    return min(taken)


def processes(source: str | None, trials: int) -> tuple[float, float]:
    """CPU ms of the first ask of a process, and the median of later studies' first asks in it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, "-c", TIMED, str(REPEATS)]
    done = subprocess.run(
        command, input=data(trials).to_json(), capture_output=True, text=True, env=environment, check=True
    )
    first, others = done.stdout.split()
    return 1e3 * float(first), 1e3 * float(others)


def main(arguments: Sequence[str] = ()) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks stages", description=__doc__)
    parser.add_argument("--trials", nargs="*", type=int, default=[30, 100, 300])
    parser.add_argument("--before", help="the folder `src` of another checkout, whose asks are timed beside")
    chosen = parser.parse_args(arguments)
    table = Table(title="one default ask: CPU ms by stage, 2 decisions, 2 contexts, 1024 context samples, one thread")
    for column in ("trials", "", *STAGES, "other", "sum", "bound"):
        table.add_column(column, justify="right")
    with threads(1):
        for trials in chosen.trials:
            for later in (False, True):
                stages, bound = asked(trials, later)
                total = sum(stages.values())
                cells = [stages[name] for name in (*STAGES, "other")]
                kind = "later" if later else "first"
                table.add_row(str(trials), kind, *(f"{cell:.2f}" for cell in cells), f"{total:.1f}", f"{bound:.1f}")
    Console(width=160).print(table)
    compared = Table(title="the same ask without a watch: CPU ms, in fresh processes in turn")
    for column in ("trials", "first of a process", "others", "first, before", "others, before", "ratio"):
        compared.add_column(column, justify="right")
    for trials in chosen.trials:
        now = processes(None, trials)
        before = processes(chosen.before, trials) if chosen.before else None
        others = ["", "", ""] if before is None else [*(f"{ms:.1f}" for ms in before), f"{now[1] / before[1]:.2f}"]
        compared.add_row(str(trials), *(f"{ms:.1f}" for ms in now), *others)
    Console(width=120).print(compared)
