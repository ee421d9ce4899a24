"""Regret of decisions, under the true function and contexts that the learner has not seen."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.scores import spread_of
from allweather.acquisition.optimize.search import Best
from allweather.contexts import Reference
from allweather.errors import require
from allweather.objectives import Expectation, Objective
from allweather.problems import Problem
from allweather.schedules import Progress

EVALUATION = 4096
"""Contexts that approximate a continuous true distribution."""
RIDGE = (33, 9, 9, 9)
"""Decisions evaluated on a ridge: a grid, and three that refine it."""


@dataclass(frozen=True)
class Measure:
    """What regret is measured by: an objective under a context distribution."""

    name: str = "expected"
    """Label in tables."""
    objective: Objective = field(default_factory=Expectation)
    under: Literal["truth", "belief"] = "truth"
    """The true context distribution, or the one that the learner is told."""

    @property
    def scheduled(self) -> bool:
        """Whether the objective changes with the step."""
        return self.objective.at(Progress(1)) != self.objective

    def reference(self, problem: Problem) -> Reference:
        """Return the context distribution that decisions of a problem are evaluated under."""
        if self.under == "truth":
            return problem.truth(EVALUATION)
        where = f"Measure({self.name!r}, under='belief')"
        require(
            problem.belief is not None,
            where,
            "be of a problem that tells the learner a context distribution",
            problem.name,
        )
        assert problem.belief is not None
        model, nothing = problem.belief.on(problem.space), torch.zeros(0, problem.space.contexts.columns)
        return model.reference(nothing, 1, torch.Generator().manual_seed(0))


@dataclass(frozen=True, eq=False)
class Judge:
    """The true objective of decisions, and its optimum."""

    problem: Problem
    measure: Measure
    reference: Reference
    best: float
    """The optimum of the true objective."""

    @classmethod
    def of(cls, problem: Problem, measure: Measure, folder: Path | None = None) -> Judge:
        """Return a judge, with the optimum read from `folder` or found now.

        Args:
            problem: the test problem.
            measure: what regret is measured by.
            folder: where optima are kept; None to search always.
        """
        reference = measure.reference(problem)
        kept = None if folder is None else folder / f"optimum-{problem.name}-{measure.name}.json"
        if kept is not None and kept.is_file():
            return cls(problem, measure, reference, float(json.loads(kept.read_text())["value"]))
        best, accuracy = optimum(problem, measure, reference)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            written = kept.with_suffix(".tmp")
            written.write_text(json.dumps({"value": best, "accuracy": accuracy}))
            written.replace(kept)
        return cls(problem, measure, reference, best)

    def value(self, decisions: Tensor) -> Tensor:
        """Return the true objective (b,) of decisions (b, d_x) in the unit cube."""
        return self.measure.objective(self.problem.values(decisions, self.reference.points), self.reference)

    def regret(self, decision: Tensor) -> float:
        """Return the regret of one decision (d_x,) in the unit cube."""
        with torch.no_grad():
            return self.best - float(self.value(decision[None])[0])


class Optimum(NamedTuple):
    """The optimum of the true objective."""

    value: float
    accuracy: float
    """The gap between the two best searches."""
    decision: Tensor
    """(d_x,) in the unit cube."""


def optimum(problem: Problem, measure: Measure, reference: Reference) -> tuple[float, float]:
    """Return the optimum of the true objective, and its accuracy: the gap between the two best searches.

    Args:
        problem: the test problem.
        measure: its objective is maximised.
        reference: the context distribution, `measure.reference(problem)`.
    """
    return find_optimum(problem, measure, reference)[:2]


def find_optimum(problem: Problem, measure: Measure, reference: Reference) -> Optimum:
    """Return the optimum of the true objective, with its decision.

    At most eight independent searches are run, until the two best agree to a millionth of the spread of values. Where
    the problem has a ridge, only decisions on it are evaluated.

    Args:
        problem: the test problem.
        measure: its objective is maximised.
        reference: the context distribution, `measure.reference(problem)`.
    """
    judge = Judge(problem, measure, reference, 0.0)
    if problem.ridge is not None:
        return _best_on_ridge(judge, *problem.ridge)
    search = Search(problem.space.decisions, problem.constraints, problem.candidates, raw=2048, starts=32, steps=100)
    spread = spread_of(judge.value(search.sample(64, torch.Generator().manual_seed(0))).numpy())
    found: list[Best] = []
    for seed in range(8):
        found.append(search.best(judge.value, torch.Generator().manual_seed(seed)))
        found.sort(key=lambda each: -each.value)
        gap = found[0].value - found[1].value if len(found) > 1 else math.inf
        if problem.candidates is not None:  # all candidates were evaluated
            return Optimum(found[0].value, 0.0, found[0].decision)
        if gap <= 1e-6 * spread:
            break
    return Optimum(found[0].value, gap, found[0].decision)


def _best_on_ridge(judge: Judge, start: Tensor, end: Tensor) -> Optimum:
    """Search a segment between decisions (d_x,): a grid, refined three times around its best point."""
    low, high, previous, best, place = 0.0, 1.0, -math.inf, -math.inf, 0.0
    for points in RIDGE:
        shares = torch.linspace(low, high, points, dtype=torch.float64)
        with torch.no_grad():
            values = judge.value(start + shares[:, None] * (end - start))
        top = int(values.argmax())
        if float(values[top]) > best:
            previous, best, place = best, float(values[top]), float(shares[top])
        step = (high - low) / (points - 1)
        low, high = max(place - step, 0.0), min(place + step, 1.0)
    return Optimum(best, best - previous, start + place * (end - start))
