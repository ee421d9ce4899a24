"""Figure of the posterior over one decision variable and one context."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from allweather.engine.outlook import Outlook
from allweather.objectives import Objective
from allweather.plots.axes import chosen, complete_trials, grid, is_log, is_numeric, place, places
from allweather.plots.labels import format_row, format_value, noted
from allweather.plots.marks import BLACK, BLUE, VERMILLION, Dots, Heat, Line, Panel, Ribbon, Rule, segments, spread
from allweather.plots.picture import Picture
from allweather.space.text import heading
from allweather.space.variables import Value
from allweather.study import Study

POINTS = 41
MAX_SHOWN_OUTCOMES = 1000
"""Observations that are drawn, the latest ones."""


def slices(
    study: Study, objective: Objective | None = None, decision: str | None = None, context: str | None = None
) -> Picture:
    """Plot the posterior mean and standard deviation of the outcome over a decision variable and a context.

    The other decision variables are as recommended, the other contexts at their median or most likely option. Without
    contexts: the posterior along the decision variable. Observations are rings.

    Args:
        study: with at least one complete trial.
        objective: instead of that of the study.
        decision: the decision variable; by default the first.
        context: the context; by default the first.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> [panel.title for panel in slices(study).panels]
        ['Expected outcome', 'Standard deviation']
    """
    outlook = study.outlook(objective=objective)
    across = chosen(outlook.space.decisions, decision, "plots.slices(decision=...)")[0]
    table = complete_trials(study).tail(MAX_SHOWN_OUTCOMES)
    if not outlook.reference.points.shape[1]:
        return _along(outlook, across, table)
    up = chosen(outlook.space.contexts, context, "plots.slices(context=...)")[0]
    return _over(outlook, across, up, table)


def _texts(table: pd.DataFrame) -> list[str]:
    return [f"trial {number}: {format_value(float(value))}" for number, value in table["value"].items()]


def _over(outlook: Outlook, across: str, up: str, table: pd.DataFrame) -> Picture:
    x, y = outlook.space.decisions[across], outlook.space.contexts[up]
    typical = _typical_context(outlook)
    xs, ys = grid(x, POINTS), grid(y, POINTS)
    mean, sd = outlook.outcomes(
        [{**outlook.decision, across: value} for value in xs], [{**typical, up: value} for value in ys]
    )
    seen = Dots(
        places(x, table[across]),
        places(y, table[up]),
        "observed",
        BLACK,
        "ring",
        _texts(table),
    )
    at = Rule(place(x, outlook.decision[across]), "recommended", VERMILLION, "dash")
    logs: dict[str, Any] = {"log_x": is_log(x), "log_y": is_log(y)}

    def panel(title: str, values: np.ndarray, name: str) -> Panel:
        return Panel(
            title,
            heading(across, x),
            heading(up, y),
            (Heat(places(x, xs), places(y, ys), values.T, name), seen, at),
            **logs,
        )

    rest = {name: value for name, value in {**outlook.decision, **typical}.items() if name not in (across, up)}
    held = f", at {format_row(rest, outlook.space)}" if rest else ""
    says = f"Posterior mean and standard deviation of the outcome over {across} and {up}{held}; rings are observations."
    panels = (panel("Expected outcome", mean, "outcome"), panel("Standard deviation", sd, "deviation"))
    return Picture("Posterior of the outcome", noted(says, outlook), panels)


def _typical_context(outlook: Outlook) -> dict[str, Value]:
    """Return a typical context: medians of numbers, and the most likely options."""
    table = outlook.contexts()
    found: dict[str, Value] = {}
    for name, variable in outlook.space.contexts.items():
        totals = table.groupby(name)["believed"].sum()
        if is_numeric(variable):
            place = int(np.searchsorted(totals.cumsum().to_numpy(), 0.5))
            found[name] = totals.index.tolist()[min(place, len(totals) - 1)]
        else:
            found[name] = totals.index.tolist()[int(totals.argmax())]
    return found


def _along(outlook: Outlook, across: str, table: pd.DataFrame) -> Picture:
    """Plot the posterior along one variable, without contexts."""
    variable = outlook.space.decisions[across]
    values = grid(variable, 2 * POINTS)
    mean, sd = outlook.outcomes([{**outlook.decision, across: value} for value in values], [{}])
    middle, half = mean[:, 0], 1.645 * sd[:, 0]
    x: Any = places(variable, values)
    seen = Dots(places(variable, table[across]), table["value"].to_numpy(), "observed", BLACK, "ring", _texts(table))
    names: tuple[str, ...] = ()
    if not is_numeric(variable):
        names, x, middle, half = tuple(x), segments(len(x)), spread(middle), spread(half)
    texts = [each for option in names for each in (option, option, "")]
    posterior = (
        Ribbon(x, middle - half, middle + half, "90% credible interval"),
        Line(x, middle, "posterior mean", BLUE, texts=texts),
    )
    at = Rule(place(variable, outlook.decision[across]), "recommended", VERMILLION, "dash")
    marks, log = (*posterior, seen, at), is_log(variable)
    panel = Panel("Expected outcome", heading(across, variable), "outcome", marks, log_x=log, ticks=names)
    others = format_row(outlook.decision, outlook.space)
    says = f"Posterior mean of the outcome along {across}, the others as recommended: {others}."
    return Picture("Posterior of the outcome", noted(says, outlook), (panel,))
