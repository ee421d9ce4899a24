"""Regret of decisions, under the true function and contexts that the learner has not seen."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.scores import spread_of
from allweather.acquisition.optimize.search import Best
from allweather.benchmark.from_problem import FromProblem, resolved
from allweather.contexts import Reference
from allweather.errors import require
from allweather.objectives import Expectation, Objective
from allweather.problems import Problem, SubsetProblem
from allweather.schedules import Progress

TRUTH_CONTEXTS = 4096
"""Contexts that approximate a continuous true distribution."""
RIDGE_DECISIONS = (33, 9, 9, 9)
"""Decisions evaluated on a ridge: a grid, and three that refine it."""


@dataclass(frozen=True)
class Measure:
    """What regret is measured by: an objective under a context distribution."""

    name: str = "expected"
    """Label in tables."""
    objective: Objective | FromProblem[Objective] = field(default_factory=Expectation)
    under: Literal["truth", "belief", "told"] = "truth"
    """The true context distribution, the one that the learner is told, or that where there is one and else the true."""

    def on(self, problem: Problem) -> Measure:
        """Return the measure whose objective is that of a problem."""
        return Measure(self.name, resolved(self.objective, problem), self.under)

    @property
    def scheduled(self) -> bool:
        """Whether the objective changes with the step; that of a problem is known after `on`."""
        return isinstance(self.objective, Objective) and self.objective.at(Progress(1)) != self.objective

    def reference(self, problem: Problem) -> Reference:
        """Return the context distribution that decisions of a problem are evaluated under."""
        if self.under == "truth" or (self.under == "told" and problem.belief is None):
            return problem.truth(TRUTH_CONTEXTS)
        where = f"Measure({self.name!r}, under={self.under!r})"
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
        objective = resolved(self.measure.objective, self.problem)
        value: Tensor = objective(self.problem.values(decisions, self.reference.points), self.reference)
        return value

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
    for points in RIDGE_DECISIONS:
        shares = torch.linspace(low, high, points, dtype=torch.float64)
        with torch.no_grad():
            values = judge.value(start + shares[:, None] * (end - start))
        top = int(values.argmax())
        if float(values[top]) > best:
            previous, best, place = best, float(values[top]), float(shares[top])
        step = (high - low) / (points - 1)
        low, high = max(place - step, 0.0), min(place + step, 1.0)
    return Optimum(best, best - previous, start + place * (end - start))


@dataclass(eq=False)
class ScheduledJudge:
    """The true objective of decisions at every step, and its optimum at that step.

    The first optimum that is asked for is searched with more effort than the others, which are searched near the last
    one and among fewer new points. Optima are kept in a file if a folder is given.

    Example:
        >>> from allweather import DRO, DivergenceRadius, TotalVariation
        >>> from allweather.problems import problem
        >>> measure = Measure("Eq. 6", DRO(TotalVariation(DivergenceRadius("total-variation"))))
        >>> judge = ScheduledJudge.of(problem("hartmann3"), measure)
        >>> middle = torch.tensor([0.5, 0.5], dtype=torch.float64)
        >>> judge.regret(middle, 1) > judge.regret(middle, 50) > 0
        True
    """

    problem: Problem
    measure: Measure
    reference: Reference
    path: Path | None = None
    best: dict[int, float] = field(default_factory=dict)
    """The optimum by step."""
    near: Tensor | None = None
    """(1, d_x) the best decision found last."""

    @classmethod
    def of(cls, problem: Problem, measure: Measure, folder: Path | None = None) -> ScheduledJudge:
        """Return a judge of a problem by a measure whose objective has a schedule, with the optima kept in a folder."""
        path = None if folder is None else folder / f"optima-{problem.name}-{measure.name}.json"
        known = json.loads(path.read_text()) if path is not None and path.is_file() else {}
        return cls(
            problem, measure, measure.reference(problem), path, {int(step): best for step, best in known.items()}
        )

    def at(self, step: int) -> Judge:
        """Return the judge of one step: observations so far, at least 1."""
        progress = Progress(step, self.problem.space.decisions.columns, self.problem.space.contexts.columns)
        objective = resolved(self.measure.objective, self.problem).at(progress)
        now = Measure(self.measure.name, objective, self.measure.under)
        judge = Judge(self.problem, now, self.reference, 0.0)
        if step not in self.best:
            self.best[step] = self._optimum(judge)
            self._write()
        return Judge(self.problem, now, self.reference, self.best[step])

    def regret(self, decision: Tensor, step: int) -> float:
        """Return the regret of one decision (d_x,) in the unit cube at a step."""
        return self.at(max(step, 1)).regret(decision)

    def _optimum(self, judge: Judge) -> float:
        chosen = self.problem
        if chosen.ridge is not None:
            return find_optimum(chosen, judge.measure, self.reference).value
        raw, starts, steps = (512, 16, 60) if self.near is None else (128, 4, 40)
        search = Search(
            chosen.space.decisions, chosen.constraints, chosen.candidates, raw=raw, starts=starts, steps=steps
        )
        best = search.best(judge.value, torch.Generator().manual_seed(0), self.near)
        self.near = best.decision[None]
        return best.value

    def _write(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            written = self.path.with_suffix(".tmp")
            written.write_text(json.dumps(self.best))
            written.replace(self.path)


Names = frozenset[str]


@dataclass(frozen=True, eq=False)
class SubsetJudge:
    """The true expected value of decisions of any control set, over the laws of the variables it does not control.

    The optimum of each control set is found as for other problems, see `optimum`.

    Example:
        >>> from allweather.problems import problem
        >>> judge = SubsetJudge.of(problem("hartmann3-subsets", variance=0.08))
        >>> round(judge.best, 4), sorted(judge.optimal)
        (3.8628, ['x1', 'x2', 'x3'])
        >>> round(judge.regret({"x1": 0.1, "x2": 0.55, "x3": 0.85}), 4), round(judge.regret({"x3": 0.85}), 4)
        (0.0018, 1.6948)
    """

    judges: Mapping[Names, Judge]
    """One for each control set, in the problem's order."""

    @classmethod
    def of(cls, problem: SubsetProblem, folder: Path | None = None) -> SubsetJudge:
        """Return a judge, with the optima read from `folder` or found now."""
        sets = problem.control.on(problem.space)
        averages = ((frozenset(each.variables), problem.averaged(each.variables)) for each in sets)
        return cls({names: Judge.of(average, Measure(), folder) for names, average in averages})

    @property
    def best(self) -> float:
        """The largest expected value over all control sets."""
        return max(judge.best for judge in self.judges.values())

    @property
    def optimal(self) -> Names:
        """The variables of the best control set; of equal ones the first."""
        return max(self.judges, key=lambda names: self.judges[names].best)

    def value(self, decision: Mapping[str, Any]) -> float:
        """Return the expected value of a decision, in the user's units; the other variables follow their laws."""
        judge = self.judges[frozenset(decision)]
        return judge.best - judge.regret(judge.problem.space.decisions.encode(decision)[0])

    def regret(self, decision: Mapping[str, Any]) -> float:
        """Return the regret of a decision, in the user's units."""
        return self.best - self.value(decision)
