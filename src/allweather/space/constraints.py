"""Linear constraints on decisions, in the user's units, and their rows over the unit cube."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from allweather.errors import is_number, require, require_number
from allweather.space.space import Box
from allweather.space.variables import Integer, Real, Variable


@dataclass(frozen=True)
class LinearConstraint:
    """An inequality `lower <= sum of coefficient * variable <= upper` that every decision must meet.

    Example:
        >>> LinearConstraint({"sand": 1, "lime": 1}, upper=1).holds({"sand": 0.3, "lime": 0.8})
        False
    """

    coefficients: Mapping[str, float]
    """One number per variable that takes part, by name."""
    upper: float | None = None
    """The sum is at most this, if given."""
    lower: float | None = None
    """The sum is at least this, if given; equal to `upper`, it makes an equation."""

    def __post_init__(self) -> None:
        where = "LinearConstraint(coefficients=...)"
        require(isinstance(self.coefficients, Mapping), where, "map names to numbers", self.coefficients)
        coefficients = dict(self.coefficients)
        numbers = all(is_number(c) and math.isfinite(c) for c in coefficients.values())
        require(numbers, where, "map names to finite numbers", coefficients)
        require(any(coefficients.values()), where, "name a variable with a coefficient other than 0", coefficients)
        object.__setattr__(self, "coefficients", coefficients)
        bounds = (self.lower, self.upper)
        require(bounds != (None, None), "LinearConstraint(lower=..., upper=...)", "give at least one bound", bounds)
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None:
                require_number(bound, f"LinearConstraint({name}=...)")
        ordered = self.lower is None or self.upper is None or self.lower <= self.upper
        require(ordered, "LinearConstraint(lower=..., upper=...)", "have lower at most upper", bounds)

    def __hash__(self) -> int:
        return hash((frozenset(self.coefficients.items()), self.upper, self.lower))

    def holds(self, decision: Mapping[str, Any], tolerance: float = 0.0) -> bool:
        """Whether a decision, by name and in the user's units, meets the constraint."""
        total = math.fsum(c * decision[name] for name, c in self.coefficients.items())
        above = self.lower is None or total >= self.lower - tolerance
        return above and (self.upper is None or total <= self.upper + tolerance)


class Halfspaces(NamedTuple):
    """The points `u` of the unit cube with `normals @ u <= limits`; normals have length 1, so slack is a distance."""

    normals: np.ndarray  # (m, columns)
    limits: np.ndarray  # (m,)


def halfspaces(constraints: Sequence[LinearConstraint], box: Box) -> Halfspaces:
    """The constraints as rows over the columns of `box`.

    Example:
        >>> from allweather.space.space import Space
        >>> box = Space(a=Real(0, 2), b=Real(0, 2)).decisions
        >>> rows = halfspaces([LinearConstraint({"a": 3, "b": 4}, upper=5)], box)
        >>> rows.normals.round(9).tolist(), rows.limits.tolist()
        ([[0.6, 0.8]], [0.5])
    """
    normals: list[np.ndarray] = []
    limits: list[float] = []
    for constraint in constraints:
        require(isinstance(constraint, LinearConstraint), "constraints=...", "be LinearConstraint", constraint)
        row, offset = _row(constraint, box)
        length = float(np.linalg.norm(row))
        for sign, bound in ((1.0, constraint.upper), (-1.0, constraint.lower)):
            if bound is not None:
                normals.append(sign * row / length)
                limits.append(sign * (bound - offset) / length)
    return Halfspaces(np.array(normals).reshape(-1, box.columns), np.array(limits, dtype=np.float64))


def _row(constraint: LinearConstraint, box: Box) -> tuple[np.ndarray, float]:
    """The sum as `row @ u + offset`."""
    unknown = [name for name in constraint.coefficients if name not in box]
    require(not unknown, "LinearConstraint(coefficients=...)", f"name variables among {list(box)}", unknown)
    row, offset, start = np.zeros(box.columns), 0.0, 0
    for name, variable in box.variables:
        if name in constraint.coefficients:
            lower, upper = _linear_bounds(name, variable)
            row[start] = constraint.coefficients[name] * (upper - lower)
            offset += constraint.coefficients[name] * lower
        start += variable.columns
    return row, offset


def _linear_bounds(name: str, variable: Variable) -> tuple[float, float]:
    linear = isinstance(variable, Integer) or (isinstance(variable, Real) and not variable.log)
    where = f"LinearConstraint(coefficients={{{name!r}: ...}})"
    require(linear, where, "name a Real that is not on a log scale, or an Integer", variable)
    assert isinstance(variable, (Real, Integer))
    return variable.lower, variable.upper
