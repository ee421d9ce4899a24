"""Regret of decisions, under the true function and contexts that the learner has not seen."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.scores import spread_of
from allweather.contexts import Reference
from allweather.errors import require
from allweather.objectives import Expectation, Objective
from allweather.problems import Problem

EVALUATION = 4096
"""Contexts that approximate a continuous true distribution."""


@dataclass(frozen=True)
class Measure:
    """What regret is measured by: an objective under a context distribution."""

    name: str = "expected"
    """Label in tables."""
    objective: Objective = field(default_factory=Expectation)
    under: Literal["truth", "belief"] = "truth"
    """The true context distribution, or the one that the learner is told."""

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


def optimum(problem: Problem, measure: Measure, reference: Reference) -> tuple[float, float]:
    """Return the optimum of the true objective, and its accuracy: the gap between the two best searches.

    At most eight independent searches are run, until the two best agree to a millionth of the spread of values.

    Args:
        problem: the test problem.
        measure: its objective is maximised.
        reference: the context distribution, `measure.reference(problem)`.
    """
    search = Search(problem.space.decisions, problem.constraints, problem.candidates, raw=2048, starts=32, steps=100)
    judge = Judge(problem, measure, reference, 0.0)
    spread = spread_of(judge.value(search.sample(64, torch.Generator().manual_seed(0))).numpy())
    found: list[float] = []
    for seed in range(8):
        found.append(search.best(judge.value, torch.Generator().manual_seed(seed)).value)
        best, second, *_ = *sorted(found, reverse=True), -math.inf
        if problem.candidates is not None:  # all candidates were evaluated
            return best, 0.0
        if best - second <= 1e-6 * spread:
            break
    return best, best - second
