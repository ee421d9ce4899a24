"""Variables as axes: grids of values in the user's units, and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allweather.engine.outlook import Outlook
from allweather.errors import InvalidInput, require
from allweather.space import Box
from allweather.space.variables import Choice, Context, Integer, Real, Value, Variable
from allweather.study import Study

if TYPE_CHECKING:
    import pandas as pd

MAX_INTEGERS = 64
"""Integers with a position of their own, at most."""


def inner(variable: Variable) -> Variable:
    """Return the variable itself, whether it is a decision or a context."""
    return variable.variable if isinstance(variable, Context) else variable


def grid(variable: Variable, count: int) -> list[Value]:
    """Return values spread over the range of a variable.

    Args:
        variable: in the user's units.
        count: number of values of a real variable, and at most of an integer; a choice has all its options.

    Example:
        >>> grid(Real(0, 10), 3), grid(Choice("oak", "ash"), 3), grid(Integer(1, 4), 9)
        ([0.0, 5.0, 10.0], ['oak', 'ash'], [1, 2, 3, 4])
    """
    kind = inner(variable)
    if isinstance(kind, Choice):
        return list(kind.options)
    if isinstance(kind, Integer):
        whole = np.linspace(kind.lower, kind.upper, min(kind.upper - kind.lower + 1, MAX_INTEGERS, max(count, 2)))
        return [int(each) for each in np.unique(whole.round())]
    return [kind.decode([position]) for position in np.linspace(0, 1, count)]


def places(variable: Variable, values: Any) -> list[Any]:
    """Return positions on the axis of a variable.

    Args:
        variable: of the axis.
        values: of the variable; the options of a choice become text, numbers stay as they are.
    """
    categorical = isinstance(inner(variable), Choice)
    return [str(each) if categorical else each for each in values]


def place(variable: Variable, value: Value) -> Any:
    """Return the position of one value on the axis of a variable."""
    return places(variable, [value])[0]


def is_numeric(variable: Variable) -> bool:
    """Return whether the values of a variable are numbers."""
    return not isinstance(inner(variable), Choice)


def is_log(variable: Variable) -> bool:
    """Return whether the axis of a variable is logarithmic."""
    kind = inner(variable)
    return isinstance(kind, Real) and kind.log


def chosen(box: Box, name: str | None, where: str) -> list[str]:
    """Return the names of the variables to show.

    Args:
        box: decisions or contexts.
        name: of one variable, or None for all.
        where: what the user called, for errors.
    """
    if name is None:
        return list(box)
    require(name in box, where, f"be one of {', '.join(box) or 'none'}", name)
    return [name]


def require_contexts(outlook: Outlook, where: str) -> None:
    """Raise `InvalidInput` for a study whose outcomes are modelled without contexts.

    Args:
        outlook: of the study.
        where: what the user called.
    """
    if not outlook.reference.points.shape[1]:
        reason = f"all variables are controlled, {', '.join(outlook.control)}" if outlook.control else "it models none"
        raise InvalidInput(f"needs a study with contexts, which can shift; {reason}", where=where)


def complete_trials(study: Study) -> pd.DataFrame:
    """Return the complete trials of a study; `value` is the outcome that figures are about, the first of several."""
    table = study.trials()
    if study.spec.outcome_names:
        first = next(name for name, outcome in study.spec.outcomes.items() if not outcome.constrains)
        table = table.assign(value=table[first])
        return table[(table["state"] == "complete") & table["value"].notna()]
    return table[table["state"] == "complete"]
