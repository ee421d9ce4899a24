"""Figure of the objective along each decision variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from allweather.engine.outlook import Outlook
from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.plots.axes import chosen, grid, inner, is_log, is_numeric, place, places
from allweather.plots.labels import format_row, format_value, noted, objective_label
from allweather.plots.marks import BLUE, VERMILLION, Line, Panel, Ribbon, Rule, segments, spread
from allweather.plots.picture import Picture
from allweather.space.text import heading
from allweather.space.variables import Integer, Value, Variable
from allweather.study import Study

POINTS = 41
MAX_PANELS = 6
SMOOTHED_VALUES = 7
"""Values that a curve is smoothed over."""


def profile(study: Study, objective: Objective | None = None, variable: str | None = None) -> Picture:
    """Plot the objective along each decision variable with 90% credible bands, the others as recommended.

    Args:
        study: with at least one complete trial.
        objective: instead of that of the study.
        variable: show only this one; by default the first six.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> profile(study).panels[0].x
        'order'
    """
    outlook = study.outlook(objective=objective)
    names = chosen(outlook.space.decisions, variable, "plots.profile(variable=...)")[:MAX_PANELS]
    label = objective_label(outlook.belief.objective)
    panels = [_panel(outlook, name, outlook.space.decisions[name], label) for name in names]
    middle = outlook.objectives([outlook.decision]).middle[0]
    says = (
        f"The objective ({label}) along each decision variable, the others as recommended; it is "
        f"{format_value(float(middle))} at the recommended decision, {format_row(outlook.decision, outlook.space)}."
    )
    return Picture("Objective profile", noted(says, outlook), tuple(panels))


def _panel(outlook: Outlook, name: str, variable: Variable, label: str) -> Panel:
    values = _allowed(outlook, name, grid(variable, POINTS))
    rows = [{**outlook.decision, name: value} for value in values]
    low, middle, high = outlook.objectives(rows)
    mean = np.array([outlook.at_contexts(row) @ outlook.reference.weights.numpy() for row in rows])
    low, middle, high = (np.where(np.isfinite(each), each, np.nan) for each in (low, middle, high))
    x: Any = places(variable, values)
    names: tuple[str, ...] = ()
    if is_numeric(variable):
        low, middle, high = (_smooth(each, variable) for each in (low, middle, high))
    else:  # a segment for each option
        names, x = tuple(x), segments(len(x))
        low, middle, high, mean = (spread(each) for each in (low, middle, high, mean))
    texts = [each for option in names for each in (option, option, "")]
    marks = (
        Ribbon(x, low, high, "90% credible interval", BLUE),
        Line(x, middle, "objective", BLUE, texts=texts),
        Line(x, mean, "mean outcome", VERMILLION, "dot", texts=texts),
        Rule(place(variable, outlook.decision[name]), "recommended", VERMILLION, "dash"),
    )
    title, log, whole = f"Objective versus {name}", is_log(variable), isinstance(inner(variable), Integer)
    return Panel(title, heading(name, variable), label, marks, log_x=log, whole_x=whole, ticks=names)


def _smooth(values: np.ndarray, variable: Variable) -> np.ndarray:
    """Smooth a curve along a real variable: quantiles of some hundred draws jump from one draw to the next."""
    if isinstance(inner(variable), Integer) or len(values) < SMOOTHED_VALUES or not np.isfinite(values).all():
        return values
    from scipy.signal import savgol_filter  # here, since it takes time to import

    return np.asarray(savgol_filter(values, SMOOTHED_VALUES, 2))


def _allowed(outlook: Outlook, name: str, values: list[Value]) -> list[Value]:
    """Return the values that meet the constraints while the other variables are as recommended."""
    limits = [limit for limit in outlook.constraints if name in limit.coefficients]
    rows = [{**outlook.decision, name: value} for value in values]
    kept = [v for v, row in zip(values, rows, strict=True) if all(limit.holds(row, 1e-9) for limit in limits)]
    if not kept:
        raise InvalidInput("has no feasible value but the recommended one", where=f"plots.profile(variable={name!r})")
    return kept
