"""Figure of the objective along each decision variable."""

from __future__ import annotations

import numpy as np

from allweather.engine.posterior_view import Outlook
from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.plots.axes import chosen, grid, is_log, is_numeric, place, places
from allweather.plots.labels import format_row, format_value, objective_label
from allweather.plots.marks import BLUE, VERMILLION, Dots, Line, Mark, Panel, Ribbon, Rule
from allweather.plots.picture import Picture
from allweather.space.text import heading
from allweather.space.variables import Value, Variable
from allweather.study import Study

POINTS = 41
MAX_PANELS = 6


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
        f"{format_value(float(middle))} at the recommended decision, {format_row(outlook.decision)}."
    )
    return Picture("Objective profile", says, tuple(panels))


def _panel(outlook: Outlook, name: str, variable: Variable, label: str) -> Panel:
    values = _allowed(outlook, name, grid(variable, POINTS))
    rows = [{**outlook.decision, name: value} for value in values]
    low, middle, high = outlook.objectives(rows)
    mean = np.array([outlook.at_contexts(row) @ outlook.reference.weights.numpy() for row in rows])
    low, middle, high = (np.where(np.isfinite(each), each, np.nan) for each in (low, middle, high))
    x = places(variable, values)
    at = Rule(place(variable, outlook.decision[name]), "recommended", VERMILLION, "dash")
    marks: tuple[Mark, ...]
    if is_numeric(variable):
        marks = (
            Ribbon(x, low, high, "90% credible interval", BLUE),
            Line(x, middle, "objective", BLUE),
            Line(x, mean, "mean outcome", VERMILLION, "dot"),
            at,
        )
    else:
        marks = (
            Dots(x, low, "90% credible interval", BLUE, "tick"),
            Dots(x, high, "90% credible interval", BLUE, "tick"),
            Dots(x, middle, "objective", BLUE),
            Dots(x, mean, "mean outcome", VERMILLION, "diamond"),
        )
    return Panel(f"Objective versus {name}", heading(name, variable), label, marks, log_x=is_log(variable))


def _allowed(outlook: Outlook, name: str, values: list[Value]) -> list[Value]:
    """Return the values that meet the constraints while the other variables are as recommended."""
    limits = [limit for limit in outlook.constraints if name in limit.coefficients]
    rows = [{**outlook.decision, name: value} for value in values]
    kept = [v for v, row in zip(values, rows, strict=True) if all(limit.holds(row, 1e-9) for limit in limits)]
    if not kept:
        raise InvalidInput("has no feasible value but the recommended one", where=f"plots.profile(variable={name!r})")
    return kept
