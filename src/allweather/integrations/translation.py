"""Translation between the parameters of other libraries and variables."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from allweather.space.variables import Choice, Integer, Real, Value, Variable


@dataclass(frozen=True, eq=False)
class Translation:
    """A variable, and the functions between its values and those of the other library's parameter."""

    variable: Variable
    ours: Callable[[Any], Value]
    """Converts a value of the parameter; raises `ValueError` for one outside of its range."""
    theirs: Callable[[Any], Any]
    """Converts a value of the variable."""


def number(low: float, high: float, log: bool = False) -> Translation:
    """Return the translation of a real parameter.

    Args:
        low: lower bound.
        high: upper bound.
        log: whether the scale is logarithmic.
    """
    return Translation(Real(low, high, log), float, float)


def whole_number(low: int, high: int, log: bool = False) -> Translation:
    """Return the translation of an integer parameter; on a logarithmic scale it is a real variable that is rounded.

    Args:
        low: lower bound.
        high: upper bound.
        log: whether the scale is logarithmic.

    Example:
        >>> whole_number(1, 100, log=True).theirs(9.7)
        10
    """
    if not log:
        return Translation(Integer(low, high), int, int)
    between = Real(low - 0.5, high + 0.5, log=True)
    return Translation(between, float, lambda value: min(max(round(value), low), high))


def stepped(low: float, high: float, step: float) -> Translation:
    """Return the translation of a parameter with a step size, as an integer that counts the steps.

    Args:
        low: lower bound.
        high: upper bound.
        step: distance between neighbouring values.

    Example:
        >>> halves = stepped(0.0, 1.0, 0.5)
        >>> halves.variable, halves.ours(0.5), halves.theirs(2)
        (Integer(lower=0, upper=2), 1, 1.0)
    """
    count = round((high - low) / step)
    rounding = 1e-6 * step + 1e-14 * max(abs(low), abs(high))

    def value(place: int) -> float:
        return min(low + place * step, high)

    def place(number: float) -> int:
        nearest = round((number - low) / step)
        if not 0 <= nearest <= count or abs(value(nearest) - number) > rounding:
            raise ValueError(f"{number!r} is not a whole number of steps between {low} and {high}")
        return nearest

    return Translation(Integer(0, count), place, value)


def ordered_values(values: Sequence[float]) -> Translation:
    """Return the translation of an ordered choice of numbers, as an integer that counts them.

    Args:
        values: in ascending order.

    Example:
        >>> powers = ordered_values([1, 10, 100])
        >>> powers.variable, powers.ours(10), powers.theirs(2)
        (Integer(lower=0, upper=2), 1, 100)
    """
    levels = list(values)

    def place(value: float) -> int:
        around = bisect(levels, value)
        nearest = min((i for i in (around - 1, around) if 0 <= i < len(levels)), key=lambda i: abs(levels[i] - value))
        if abs(levels[nearest] - value) > 1e-8 * max(abs(levels[-1] - levels[0]), 1e-300):
            raise ValueError(f"{value!r} is not one of {levels}")
        return nearest

    return Translation(Integer(0, len(levels) - 1), place, lambda count: levels[count])


def options(choices: Sequence[Any], place: Callable[[Any], int]) -> Translation:
    """Return the translation of a choice among options of any type.

    Args:
        choices: the options.
        place: returns the index of a value.

    Example:
        >>> options([1, True, None], [1, True, None].index).variable
        Choice(options=('1', 'True', 'None'))
    """
    names: tuple[Value, ...] = tuple(choices)
    if not all(_plain(choice) for choice in choices) or len(set(choices)) < len(choices):
        names = tuple(repr(choice) for choice in choices)  # 1 == True, but their names differ
    return Translation(Choice(*names), lambda value: names[place(value)], lambda name: choices[names.index(name)])


def _plain(option: object) -> bool:
    return isinstance(option, str | int) or (isinstance(option, float) and math.isfinite(option))
