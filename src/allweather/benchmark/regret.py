"""Regret: what a decision loses against the best one, under the true function and contexts the learner never saw."""

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
"""Contexts that stand for a continuous true law."""


@dataclass(frozen=True)
class Measure:
    """What a decision is judged by: an objective, under the true context law or under what the learner was told."""

    name: str = "expected"
    objective: Objective = field(default_factory=Expectation)
    under: Literal["truth", "belief"] = "truth"

    def reference(self, problem: Problem) -> Reference:
        """The contexts decisions are judged on."""
        if self.under == "truth":
            return problem.truth(EVALUATION)
        where = f"Measure({self.name!r}, under='belief')"
        require(problem.belief is not None, where, "be of a problem that tells the learner a law", problem.name)
        assert problem.belief is not None
        model, nothing = problem.belief.on(problem.space), torch.zeros(0, problem.space.contexts.columns)
        return model.reference(nothing, 1, torch.Generator().manual_seed(0))


@dataclass(frozen=True, eq=False)
class Judge:
    """The true objective of decisions, and the best there is."""

    problem: Problem
    measure: Measure
    reference: Reference
    best: float

    @classmethod
    def of(cls, problem: Problem, measure: Measure, folder: Path | None = None) -> Judge:
        """With the optimum found now, or found before and kept in `folder`."""
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
        """The true objective (b,) of decisions (b, d_x) in the unit cube."""
        return self.measure.objective(self.problem.values(decisions, self.reference.points), self.reference)

    def regret(self, decision: Tensor) -> float:
        """What one decision (d_x,) loses."""
        with torch.no_grad():
            return self.best - float(self.value(decision[None])[0])


def optimum(problem: Problem, measure: Measure, reference: Reference) -> tuple[float, float]:
    """The best value of the true objective, and its accuracy: how far behind the second best of the searches came.

    Independent searches go on until the two best agree to a millionth of the spread of values, eight times at most.
    """
    search = Search(problem.space.decisions, problem.constraints, problem.candidates, raw=2048, starts=32, steps=100)
    judge = Judge(problem, measure, reference, 0.0)
    spread = spread_of(judge.value(search.sample(64, torch.Generator().manual_seed(0))).numpy())
    found: list[float] = []
    for seed in range(8):
        found.append(search.best(judge.value, torch.Generator().manual_seed(seed)).value)
        best, second, *_ = *sorted(found, reverse=True), -math.inf
        if problem.candidates is not None:  # all of them were tried
            return best, 0.0
        if best - second <= 1e-6 * spread:
            break
    return best, best - second
