"""Variables that stand for another tool's parameters, and values on their way there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from allweather.variables import Choice, Integer, Real, Value, Variable


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


def ladder(values: Sequence[float]) -> Translation:
    """One of some ascending numbers, by its place.

    Example:
        >>> halves = ladder([0.0, 0.5, 1.0])
        >>> halves.variable, halves.ours(0.5), halves.theirs(2)
        (Integer(lower=0, upper=2), 1, 1.0)
    """
    rungs = list(values)

    def place(value: float) -> int:
        nearest = min(range(len(rungs)), key=lambda i: abs(rungs[i] - value))
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
    if None in choices or len(set(choices)) < len(choices):
        names = tuple(repr(choice) for choice in choices)  # 1 and True are equal, their names are not
    return Translation(Choice(*names), lambda value: names[place(value)], lambda name: choices[names.index(name)])
