"""Variables as axes: places along them in the user's units, and values in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from allweather._utils.registry import kebab
from allweather.distances import Distance
from allweather.engine.posterior_view import Outlook
from allweather.errors import InvalidInput, require
from allweather.objectives import Objective
from allweather.space import Box
from allweather.space.variables import Choice, Context, Integer, Real, Value, Variable

MOST = 64
"""So many whole numbers at most get a place each."""


def inner(variable: Variable) -> Variable:
    """The variable itself, whether it is decided or happens."""
    return variable.variable if isinstance(variable, Context) else variable


def grid(variable: Variable, count: int) -> list[Value]:
    """Values spread over a variable: `count` of a number, every option of a choice.

    Example:
        >>> grid(Real(0, 10), 3), grid(Choice("oak", "ash"), 3), grid(Integer(1, 4), 9)
        ([0.0, 5.0, 10.0], ['oak', 'ash'], [1, 2, 3, 4])
    """
    kind = inner(variable)
    if isinstance(kind, Choice):
        return list(kind.options)
    if isinstance(kind, Integer):
        whole = np.linspace(kind.lower, kind.upper, min(kind.upper - kind.lower + 1, MOST, max(count, 2)))
        return [int(each) for each in np.unique(whole.round())]
    return [kind.decode([place]) for place in np.linspace(0, 1, count)]


def places(variable: Variable, values: Any) -> list[Any]:
    """Values as an axis shows them: options as words, numbers as they are."""
    worded = isinstance(inner(variable), Choice)
    return [str(each) if worded else each for each in values]


def place(variable: Variable, value: Value) -> Any:
    """One value as an axis shows it."""
    return places(variable, [value])[0]


def is_numeric(variable: Variable) -> bool:
    """Whether its values have an order and distances."""
    return not isinstance(inner(variable), Choice)


def is_log(variable: Variable) -> bool:
    """Whether its axis is logarithmic."""
    kind = inner(variable)
    return isinstance(kind, Real) and kind.log


def chosen(box: Box, name: str | None, where: str) -> list[str]:
    """The variable called `name`, or all of a box."""
    if name is None:
        return list(box)
    require(name in box, where, f"be one of {', '.join(box) or 'none'}", name)
    return [name]


def require_contexts(outlook: Outlook, where: str) -> None:
    """Refuse a study in which nothing is left to chance."""
    if not outlook.reference.points.shape[1]:
        decided = ", ".join(outlook.control) or "or what happens is not looked at"
        raise InvalidInput(f"`{where}` needs contexts, which can shift; here everything is decided, {decided}")


def short(value: Value) -> str:
    """A value in a few digits.

    Example:
        >>> short(0.123456), short("oak"), short(3)
        ('0.1235', 'oak', '3')
    """
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)  # no minus before a zero


def told(row: Mapping[str, Value]) -> str:
    """Named values on a line.

    Example:
        >>> told({"order": 0.25, "wood": "oak"})
        'order = 0.25, wood = oak'
    """
    return ", ".join(f"{name} = {short(value)}" for name, value in row.items())


def measured(distance: Distance) -> str:
    """What shifts are measured in.

    Example:
        >>> from allweather import KL, TotalVariation, Wasserstein
        >>> [measured(each) for each in (TotalVariation(0.2), KL(1), Wasserstein(0.1))]
        ['total variation', 'KL', 'Wasserstein distance']
    """
    name = type(distance).__name__
    known = {"Wasserstein": "Wasserstein distance", "ChiSquared": "chi-squared divergence"}
    return name if name.isupper() else known.get(name, kebab(name).replace("-", " "))


def worded(objective: Objective) -> str:
    """An objective in a few words.

    Example:
        >>> from allweather import DRO, CVaR, Expectation, TotalVariation
        >>> worded(DRO(TotalVariation(0.2))), worded(Expectation()), worded(CVaR(0.1))
        ('worst mean within 0.2 in total variation', 'mean', 'CVaR, level 0.1')
    """
    kind, distance = type(objective).__name__, getattr(objective, "distance", None)
    if kind == "Expectation":
        return "mean"
    if kind == "WorstCase":
        return "worst context"
    if kind == "DRO" and distance is not None:
        return f"worst mean within {short(float(distance.number))} in {measured(distance)}"
    settings = [f"{name} {short(each)}" for name, each in vars(objective).items() if _plain(each)]
    within = [] if distance is None else [f"{short(float(distance.number))} in {measured(distance)}"]
    return ", ".join([kind, *settings, *within])


def _plain(value: object) -> TypeGuard[Value]:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
