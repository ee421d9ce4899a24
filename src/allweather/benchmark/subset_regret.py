"""Regret with control sets: what a set and its values lose against the best set with its best values."""

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
    """What decisions of any control set are worth under the true laws of the variables they leave alone.

    The best of each set is found as for other problems, by searches that agree to a millionth of the spread of values.

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
        """With the optima found now, or found before and kept in `folder`."""
        sets = problem.control.on(problem.space)
        averages = ((frozenset(each.variables), problem.averaged(each.variables)) for each in sets)
        return cls({names: Judge.of(average, Measure(), folder) for names, average in averages})

    @property
    def best(self) -> float:
        """The largest expected value of any control set."""
        return max(judge.best for judge in self.judges.values())

    @property
    def optimal(self) -> Names:
        """The variables of the control set that has it; of equal ones the first."""
        return max(self.judges, key=lambda names: self.judges[names].best)

    def value(self, decision: Mapping[str, Any]) -> float:
        """The expected value of deciding these variables so, in the user's units, and leaving the others alone."""
        judge = self.judges[frozenset(decision)]
        return judge.best - judge.regret(judge.problem.space.decisions.encode(decision)[0])

    def regret(self, decision: Mapping[str, Any]) -> float:
        """What it loses against the best there is."""
        return self.best - self.value(decision)
