"""Variables that stand for another tool's parameters, and values on their way there and back."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from allweather.space.variables import Choice, Integer, Real, Value, Variable


@dataclass(frozen=True, eq=False)
class Translation:
    """A variable, and the way between its values and the tool's."""

    variable: Variable
    ours: Callable[[Any], Value]
    """A value of the tool's in our words; a `ValueError` where it is none of theirs."""
    theirs: Callable[[Any], Any]


def number(low: float, high: float, log: bool = False) -> Translation:
    """A real number is one everywhere."""
    return Translation(Real(low, high, log), float, float)


def whole_number(low: int, high: int, log: bool = False) -> Translation:
    """A whole number; on a logarithmic scale it is searched between the whole numbers and rounded.

    Example:
        >>> whole_number(1, 100, log=True).theirs(9.7)
        10
    """
    if not log:
        return Translation(Integer(low, high), int, int)
    between = Real(low - 0.5, high + 0.5, log=True)
    return Translation(between, float, lambda value: min(max(round(value), low), high))


def stepped(low: float, high: float, step: float) -> Translation:
    """One of the numbers between two bounds that are whole steps apart, by its place.

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
            raise ValueError(f"{number!r} is no whole step between {low} and {high}")
        return nearest

    return Translation(Integer(0, count), place, value)


def ladder(values: Sequence[float]) -> Translation:
    """One of some ascending numbers, by its place.

    Example:
        >>> powers = ladder([1, 10, 100])
        >>> powers.variable, powers.ours(10), powers.theirs(2)
        (Integer(lower=0, upper=2), 1, 100)
    """
    rungs = list(values)

    def place(value: float) -> int:
        around = bisect(rungs, value)
        nearest = min((i for i in (around - 1, around) if 0 <= i < len(rungs)), key=lambda i: abs(rungs[i] - value))
        if abs(rungs[nearest] - value) > 1e-8 * max(abs(rungs[-1] - rungs[0]), 1e-300):
            raise ValueError(f"{value!r} is none of {rungs}")
        return nearest

    return Translation(Integer(0, len(rungs) - 1), place, lambda count: rungs[count])


def options(choices: Sequence[Any], place: Callable[[Any], int]) -> Translation:
    """One of some options of any kind.

    Args:
        choices: the options.
        place: which of them a value is.

    Example:
        >>> options([1, True, None], [1, True, None].index).variable
        Choice(options=('1', 'True', 'None'))
    """
    names: tuple[Value, ...] = tuple(choices)
    if not all(_plain(choice) for choice in choices) or len(set(choices)) < len(choices):
        names = tuple(repr(choice) for choice in choices)  # 1 and True are equal, their names are not
    return Translation(Choice(*names), lambda value: names[place(value)], lambda name: choices[names.index(name)])


def _plain(option: object) -> bool:
    return isinstance(option, str | int) or (isinstance(option, float) and math.isfinite(option))
