"""Figure of the contexts: observed, reference and worst-case distribution."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from allweather.objectives import Objective
from allweather.plots.axes import inner, is_log, is_numeric, place, require_contexts
from allweather.plots.labels import distance_label, format_row, format_value, noted
from allweather.plots.marks import GREY, SKY, VERMILLION, Bars, Dots, Line, Mark, Panel, segments, spread
from allweather.plots.picture import Picture
from allweather.space.text import heading
from allweather.space.variables import Choice, Integer, Variable
from allweather.study import Study

BINS = 32
OBSERVED, REFERENCE, WORST = "observed", "reference", "worst case for the recommended decision"
SHARE = "observed share"
BAR_WIDTH = 0.7
"""Of the bar of an option."""
MAX_INTEGER_BARS = 24
"""Integers with a bar each, at most."""


def contexts(study: Study, objective: Objective | None = None) -> Picture:
    """Plot the observed contexts, their reference distribution, and its worst case for the recommended decision.

    The worst case is the distribution within the objective's radius that has the lowest objective. There is one panel
    per context variable.

    Args:
        study: with at least one complete trial.
        objective: instead of that of the study.

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
        binned = _binned(variable)
        marks = _numbers(variable, name, table, seen) if binned else _bars(variable, name, table, seen)
        ticks = tuple(map(str, bars.x)) if isinstance(bars := marks[0], Bars) and not binned else ()
        axis, log = heading(name, variable), is_log(variable)
        panels.append(Panel(f"Distribution of {name}", axis, "probability (%)", marks, log_x=log, ticks=ticks))
    says = (
        f"Observed contexts, their reference distribution, and the worst case for the recommended decision, "
        f"{format_row(best.decision, outlook.space)}, within {format_value(best.radius)} in "
        f"{distance_label(outlook.distance)}."
    )
    return Picture("Contexts", noted(says, outlook), tuple(panels))


def _binned(variable: Variable) -> bool:
    kind = inner(variable)
    return is_numeric(variable) and not (isinstance(kind, Integer) and kind.upper - kind.lower < MAX_INTEGER_BARS)


def _numbers(variable: Variable, name: str, table: pd.DataFrame, seen: pd.DataFrame) -> tuple[Mark, ...]:
    """Return a histogram of the reference distribution and the outline of the worst case."""
    values, observed = table[name].to_numpy(float), seen[name].dropna().to_numpy(float)
    possible = values[(table["believed"] > 0) | (table["worst"] > 0)]
    low, high = min(possible.min(), *observed, math.inf), max(possible.max(), *observed, -math.inf)
    pad = 0 if is_log(variable) else 0.02 * (high - low) or 0.5
    edges = (
        np.geomspace(low, max(high, low * 1.01), BINS + 1)
        if is_log(variable)
        else np.linspace(low - pad, high + pad, BINS + 1)
    )
    believed, worst = (100 * np.histogram(values, edges, weights=table[each])[0] for each in ("believed", "worst"))
    middles = np.sqrt(edges[1:] * edges[:-1]) if is_log(variable) else (edges[1:] + edges[:-1]) / 2
    outline = Line(edges, [*worst, worst[-1]], WORST, VERMILLION, steps=True)
    if is_log(variable):
        bars: Mark = Line(edges, [*believed, believed[-1]], REFERENCE, SKY, steps=True)
    else:
        bars = Bars(middles, believed, REFERENCE, SKY, float(edges[1] - edges[0]))
    floor = np.full(len(observed), -0.03 * max(believed.max(), worst.max()))
    return bars, outline, Dots(observed, floor, OBSERVED, GREY, "tick")


def _bars(variable: Variable, name: str, table: pd.DataFrame, seen: pd.DataFrame) -> tuple[Mark, ...]:
    """Return a bar for each option, with the outline of the worst case and the observed share."""
    totals = table.groupby(name, sort=False)[["believed", "worst"]].sum() * 100
    totals["seen"] = 100 * seen[name].dropna().value_counts(normalize=True)
    kind = inner(variable)
    totals = totals.reindex(kind.options, fill_value=0.0) if isinstance(kind, Choice) else totals.sort_index()
    names = [str(place(variable, each)) for each in totals.index]
    texts = [each for option in names for each in (option, option, "")]
    worst = Line(
        segments(len(names), BAR_WIDTH / 2), spread(totals["worst"].to_numpy()), WORST, VERMILLION, texts=texts
    )
    shares = totals["seen"].fillna(0.0).to_numpy()
    said = [f"{option}: {share:.3g}% of the observed" for option, share in zip(names, shares, strict=True)]
    return (
        Bars(names, totals["believed"].to_numpy(), REFERENCE, SKY, BAR_WIDTH),
        worst,
        Dots(names, shares, SHARE, GREY, "diamond", said),
    )
