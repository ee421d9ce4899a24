"""Regret with control sets: against the best decision of the best control set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allweather.benchmark.regret import Judge, Measure
from allweather.problems import SubsetProblem

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
