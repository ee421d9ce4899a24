"""The library's errors: one base class, and one way to say what was wrong with an input."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


class AllweatherError(Exception):
    """Base class of every error that allweather raises on purpose."""


class InvalidInput(AllweatherError, ValueError):
    """An argument does not meet its requirement; nothing was changed or lost."""


class BudgetSpent(AllweatherError):
    """Nothing that could be asked for can be paid for any more."""


def require(condition: bool, where: str, requirement: str, received: Any) -> None:
    """Raise `InvalidInput` unless `condition` holds.

    Args:
        condition: what must be true.
        where: class and parameter, written as the user would: `"KL(radius=...)"`.
        requirement: what is asked for, after "must".
        received: the value that came instead.

    Example:
        >>> require(False, "TotalVariation(radius=...)", "be finite and at least 0", -1)
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `TotalVariation(radius=...)` must be finite and at least 0, got -1
    """
    if not condition:
        raise InvalidInput(f"`{where}` must {requirement}, got {shown(received)}")


def require_number(value: Any, where: str, *, low: float = -math.inf, above: float = -math.inf) -> None:
    """Raise `InvalidInput` unless `value` is a finite number, at least `low` and greater than `above`."""
    requirement = "be a finite number"
    if low > -math.inf:
        requirement += f", at least {low:g}"
    if above > -math.inf:
        requirement += f", greater than {above:g}"
    fits = is_number(value) and math.isfinite(value) and value >= low and value > above
    require(fits, where, requirement, value)


def require_count(value: Any, where: str, *, low: int = 0) -> None:
    """Raise `InvalidInput` unless `value` is a whole number of at least `low`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    require(whole and value >= low, where, f"be a whole number, at least {low}", value)


def is_number(value: Any) -> bool:
    """Whether `value` is a real number, Python's or NumPy's, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def shown(value: Any, limit: int = 120) -> str:
    """The value as it appears in a message, cut to one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
