"""Control sets: variables that can be controlled together, and the cost of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from allweather.errors import require, require_number


@dataclass(frozen=True)
class ControlSet:
    """Variables that are controlled together; all others are contexts.

    Example:
        >>> ControlSet(("ph", "nh3"), cost=0.2)
        ControlSet(ph, nh3; cost 0.2)
    """

    variables: tuple[str, ...]
    cost: float

    def __post_init__(self) -> None:
        given: Any = self.variables
        several = isinstance(given, Iterable) and not isinstance(given, str)
        names: tuple[str, ...] = tuple(given) if several else (given,)
        words = len(names) > 0 and all(isinstance(name, str) for name in names)
        require(words, "ControlSet(variables=...)", "name at least one variable", self.variables)
        require(len(set(names)) == len(names), "ControlSet(variables=...)", "name a variable once", names)
        require_number(self.cost, f"ControlSet({', '.join(names)}, cost=...)", low=0)
        object.__setattr__(self, "variables", names)
        object.__setattr__(self, "cost", float(str(self.cost)))  # a tenth of any precision is a tenth

    @property
    def names(self) -> frozenset[str]:
        """The variables, in no order."""
        return frozenset(self.variables)

    @property
    def exact_cost(self) -> Fraction:
        """The cost as it is written: a tenth is a tenth, not the float next to it."""
        return exact(self.cost)

    def __repr__(self) -> str:
        return f"ControlSet({', '.join(self.variables)}; cost {self.cost:g})"


def exact(number: float) -> Fraction:
    """The number as it is written in decimal; one of less precision as it prints.

    Example:
        >>> 10_000 * exact(0.1) == 1000
        True
    """
    return Fraction(str(number.item() if isinstance(number, np.float64) else number))
