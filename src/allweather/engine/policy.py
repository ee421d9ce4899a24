"""The answer as people use it: the best decision for each known context, and how far one may depart from the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allweather._utils.formatting import plain
from allweather.engine.outlook import Outlook
from allweather.errors import require, require_number
from allweather.space import Box, Row
from allweather.space.text import units_of
from allweather.space.variables import Choice, Context, Integer, Real, Value, Variable

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_VALUES = 7
"""Values of a number that a policy has by default."""
RANGE_STEPS = 60
"""Steps in which the range of a variable is searched."""


@dataclass(frozen=True, eq=False)
class Policy:
    """The best decision for each of several contexts that are known before the decision."""

    table: pd.DataFrame
    """One row per context: its variables, the decision's, the objective's `value`, and `low` and `high` of its 90%
    interval."""
    contexts: tuple[str, ...]
    """The columns of the contexts."""
    decisions: tuple[str, ...]
    """The columns of the decisions."""
    units: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data."""
        rows = [{str(name): plain(value) for name, value in row.items()} for row in self.table.to_dict("records")]
        return {"contexts": list(self.contexts), "decisions": list(self.decisions), "rows": rows}

    def __str__(self) -> str:
        named = {name: f"{name} ({unit})" for name, unit in self.units.items()}
        return str(self.table.rename(columns=named).to_string(index=False, float_format=lambda number: f"{number:.4g}"))

    __repr__ = __str__


def policy_contexts(box: Box, contexts: Any) -> list[Row]:
    """Return the contexts of a policy: rows as given, or the values of one variable, spread over its range.

    Args:
        box: the context variables.
        contexts: rows of some or all of them, the name of one, or None where there is only one.

    Example:
        >>> from allweather import Space
        >>> policy_contexts(Space(lot=Context(Choice("A", "B"))).contexts, None)
        [{'lot': 'A'}, {'lot': 'B'}]
    """
    where, names = "Study.policy(contexts=...)", list(box)
    if contexts is None and len(names) == 1:
        contexts = names[0]
    if isinstance(contexts, str):
        require(contexts in box, where, f"be one of {', '.join(names)}", contexts)
        return [{contexts: value} for value in _values(box[contexts], DEFAULT_VALUES)]
    rows = contexts.to_dict("records") if hasattr(contexts, "to_dict") else contexts
    listed = isinstance(rows, Sequence) and len(rows) > 0 and all(isinstance(row, Mapping) and row for row in rows)
    require(listed, where, f"be rows of context variables, or the name of one ({', '.join(names)})", contexts)
    return [dict(row) for row in rows]


def make_policy(view: Callable[[Row], Outlook], contexts: Sequence[Row]) -> Policy:
    """Return the policy for contexts.

    Args:
        view: from a context to the posterior view given it.
        contexts: at least one.
    """
    import pandas as pd

    views = [view(row) for row in contexts]
    rows = []
    for row, each in zip(contexts, views, strict=True):
        low, middle, high = each.chosen_objective
        rows.append({**row, **each.decision, "value": middle, "low": low, "high": high})
    names = tuple(dict.fromkeys(name for row in contexts for name in row))
    return Policy(pd.DataFrame(rows), names, tuple(views[0].decision), units_of(views[0].space.variables))


def near_best(outlook: Outlook, tolerance: float) -> dict[str, tuple[float, float] | list[Value]]:
    """Return how far each variable may be changed alone before the objective is worse than the best by the tolerance.

    Args:
        outlook: the posterior view, with the decision that looks best.
        tolerance: in the objective's units.

    Returns:
        The ends of the range of a number, the options of a choice.
    """
    require_number(tolerance, "Study.recommend(tolerance=...)", above=0)
    seen, found = outlook.lighter(), dict[str, tuple[float, float] | list[Value]]()
    for name, variable in outlook.space.decisions.items():
        values = sorted({*_values(variable, RANGE_STEPS + 1), outlook.decision[name]}, key=_order(variable))
        rows = [{**outlook.decision, name: value} for value in values]
        legal = np.array([all(limit.holds(row, 1e-9) for limit in outlook.constraints) for row in rows])
        legal &= outlook.acceptable(rows)
        objective = outlook.objective_sign * seen.objectives(rows).middle
        at = values.index(outlook.decision[name])
        good = legal & (objective >= objective[at] - tolerance)
        if isinstance(variable, Choice):
            found[name] = [value for value, fine in zip(values, good, strict=True) if fine]
            continue
        low = high = at
        while low > 0 and good[low - 1]:
            low -= 1
        while high < len(values) - 1 and good[high + 1]:
            high += 1
        found[name] = values[low], values[high]  # type: ignore[assignment]
    return found


def _values(variable: Variable, count: int) -> list[Value]:
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice):
        return list(inner.options)
    assert isinstance(inner, Real | Integer)
    return list(dict.fromkeys(inner.decode([position]) for position in np.linspace(0, 1, count)))


def _order(variable: Variable) -> Callable[[Any], Any]:
    return (lambda value: list(variable.options).index(value)) if isinstance(variable, Choice) else float
