"""What is believed about the contexts, and what would be worst for the recommended decision."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from allweather.objectives import Objective
from allweather.plots.axes import inner, is_log, is_numeric, measured, place, require_contexts, short, told
from allweather.plots.marks import GREY, SKY, VERMILLION, Bars, Dots, Line, Mark, Panel
from allweather.plots.picture import Picture
from allweather.space.variables import Choice, Integer, Variable
from allweather.study import Study

BINS = 32
FEW = 24
"""So many whole numbers have a bar each."""


def contexts(study: Study, objective: Objective | None = None) -> Picture:
    """The contexts seen, their believed distribution, and the worst one within the radius for the recommended decision.

    One panel for each context variable.

    Args:
        study: with at least one complete trial.
        objective: recommended for, instead of the study's.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> contexts(study).panels[0].x
        'demand'
    """
    outlook = study.outlook(objective=objective)
    require_contexts(outlook, "plots.contexts(study=...)")
    best = outlook.recommendation()
    table, seen = best.worst, study.trials()
    panels = []
    for name, variable in outlook.space.contexts.items():
        marks = _numbers(variable, name, table, seen) if _binned(variable) else _bars(variable, name, table, seen)
        panels.append(Panel(f"What is believed about {name}", name, "probability (%)", marks, log_x=is_log(variable)))
    says = (
        f"Contexts as seen and as believed, and the distribution within {short(best.radius)} in "
        f"{measured(outlook.distance)} that is worst for the recommended decision, {told(best.decision)}."
    )
    return Picture("Contexts", says, tuple(panels))


def _binned(variable: Variable) -> bool:
    kind = inner(variable)
    return is_numeric(variable) and not (isinstance(kind, Integer) and kind.upper - kind.lower < FEW)


def _numbers(variable: Variable, name: str, table: pd.DataFrame, seen: pd.DataFrame) -> tuple[Mark, ...]:
    """A histogram of what is believed, and the outline of that of the worst."""
    values, happened = table[name].to_numpy(float), seen[name].dropna().to_numpy(float)
    possible = values[(table["believed"] > 0) | (table["worst"] > 0)]
    low, high = min(possible.min(), *happened, math.inf), max(possible.max(), *happened, -math.inf)
    pad = 0 if is_log(variable) else 0.02 * (high - low) or 0.5
    edges = (
        np.geomspace(low, max(high, low * 1.01), BINS + 1)
        if is_log(variable)
        else np.linspace(low - pad, high + pad, BINS + 1)
    )
    believed, worst = (100 * np.histogram(values, edges, weights=table[each])[0] for each in ("believed", "worst"))
    middles = np.sqrt(edges[1:] * edges[:-1]) if is_log(variable) else (edges[1:] + edges[:-1]) / 2
    outline = Line(edges, [*worst, worst[-1]], "worst for the recommended decision", VERMILLION, steps=True)
    if is_log(variable):
        bars: Mark = Line(edges, [*believed, believed[-1]], "believed", SKY, steps=True)
    else:
        bars = Bars(middles, believed, "believed", SKY, float(edges[1] - edges[0]))
    floor = np.full(len(happened), -0.03 * max(believed.max(), worst.max()))
    return bars, outline, Dots(happened, floor, "seen", GREY, "tick")


def _bars(variable: Variable, name: str, table: pd.DataFrame, seen: pd.DataFrame) -> tuple[Mark, ...]:
    """Bars side by side: as seen, as believed, and the worst."""
    totals = table.groupby(name, sort=False)[["believed", "worst"]].sum() * 100
    totals["seen"] = 100 * seen[name].dropna().value_counts(normalize=True)
    kind = inner(variable)
    totals = totals.reindex(kind.options, fill_value=0.0) if isinstance(kind, Choice) else totals.sort_index()
    names = [str(place(variable, each)) for each in totals.index]
    return (
        Bars(names, totals["seen"].fillna(0.0).to_numpy(), "seen", GREY),
        Bars(names, totals["believed"].to_numpy(), "believed", SKY),
        Bars(names, totals["worst"].to_numpy(), "worst for the recommended decision", VERMILLION),
    )
