"""Paired ratios of regret: geometric means over problems and seeds, with standard errors of the logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

FLOOR = 1e-3
"""Of a recommendation's regret, in units of the reference method's mean regret per trial on the problem.

Ratios of regrets that are both next to nothing say nothing.
"""


class Ratio(NamedTuple):
    """A geometric mean of paired ratios."""

    value: float
    error: float
    """Standard error of its logarithm."""
    pairs: int

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.error:.2f})" if self.pairs else "-"

    @property
    def better(self) -> bool:
        """Whether it is below 1 by more than two standard errors."""
        return self.pairs > 2 and bool(np.log(self.value) < -2 * self.error)


@dataclass(frozen=True)
class Results:
    """Results of paired runs, by problem, method and seed."""

    by_run: dict[tuple[str, str, int], dict[str, Any]]

    @classmethod
    def of(cls, results: Sequence[dict[str, Any]]) -> Results:
        """From the lines of a file."""
        return cls({(each["problem"], each["method"], each["seed"]): each for each in results})

    @property
    def methods(self) -> list[str]:
        """In the order of their first results."""
        return list(dict.fromkeys(method for _, method, _ in self.by_run))

    def ratio(self, method: str, against: str, kind: str, measure: int = 0, problem: str | None = None) -> Ratio:
        """How much a method loses, against another on the same problems and seeds.

        Args:
            method: whose regret is the numerator.
            against: whose regret is the denominator.
            kind: `cumulative` or `recommended`.
            measure: 0 for the mean under the true law, 1 for the worst mean nearby.
            problem: only of this problem; of all if not given.
        """
        logarithms = []
        for (name, who, seed), result in self.by_run.items():
            other = self.by_run.get((name, against, seed))
            if who != method or other is None or problem not in (None, name):
                continue
            floor = FLOOR * self._usual(name, against, measure) if kind == "recommended" else 1e-12
            logarithms.append(np.log((result[kind][measure] + floor) / (other[kind][measure] + floor)))
        if not logarithms:
            return Ratio(np.nan, np.nan, 0)
        n = len(logarithms)
        error = float(np.std(logarithms, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        return Ratio(float(np.exp(np.mean(logarithms))), error, n)

    def _usual(self, problem: str, method: str, measure: int) -> float:
        found = [
            each["cumulative"][measure] / each.get("trials", 30)
            for (name, who, _), each in self.by_run.items()
            if (name, who) == (problem, method)
        ]
        return float(np.mean(found))
