"""Whether the model can be relied on: what it predicted for each outcome, and what it says matters."""

from __future__ import annotations

import numpy as np
import pandas as pd

from allweather.engine.check import MIN_CHECKED_OUTCOMES
from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.plots.labels import format_value
from allweather.plots.marks import BLUE, GREY, Bars, Dots, Line, Panel
from allweather.plots.picture import Picture
from allweather.study import Study

MAX_SHOWN_OUTCOMES = 2000
"""Outcomes that are drawn, at most."""


def check(study: Study, objective: Objective | None = None, outcome: str | None = None) -> Picture:
    """Plot each observation of an outcome against its prediction from all others, residuals, and importance.

    Args:
        study: with a `GP` surrogate and at least five outcomes.
        objective: not used, since outcomes are checked; other figures have it at this place.
        outcome: one of several outcomes; by default the first that is maximized or minimized.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 6, "demand": 0.5, "value": -abs(o - 2)} for o in range(7)])
        >>> [panel.title for panel in check(study).panels]
        ['Predicted from all other outcomes', 'Standardised residuals', 'Importance']
    """
    names = list(study.spec.outcome_names)
    name = outcome or next(iter(study.outlook().wanted), "") if names else ""
    found = study.check(name or None)
    if found.table.empty:
        raise InvalidInput(f"needs at least {MIN_CHECKED_OUTCOMES} outcomes", where="plots.check(study=...)")
    shares = _importance(found.ranked)
    of = f" of {name}" if name else ""
    return Picture(f"Check of the model{of}", str(found), (_against(found.table), _residuals(found.table), shares))


def _against(table: pd.DataFrame) -> Panel:
    shown = table.iloc[_places(len(table))]
    observed, predicted = shown["observed"].to_numpy(), shown["predicted"].to_numpy()
    ends = np.array([observed.min(), observed.max()])
    texts = [
        f"observed {format_value(float(a))}, predicted {format_value(float(b))}"
        for a, b in zip(observed, predicted, strict=True)
    ]
    return Panel(
        "Predicted from all other outcomes",
        "observed outcome",
        "predicted outcome",
        (
            Line(ends, ends, "perfect prediction", GREY, "dash"),
            Dots(observed, predicted, "outcome", BLUE, texts=texts),
        ),
    )


def _residuals(table: pd.DataFrame) -> Panel:
    places = _places(len(table))
    order = np.sort(table["residual"].to_numpy())[places]
    quantiles = _normal_quantiles(len(table))[places]
    return Panel(
        "Standardised residuals",
        "standard normal quantile",
        "residual in standard deviations",
        (
            Line(quantiles, quantiles, "as uncertain as it says", GREY, "dash"),
            Dots(quantiles, order, "residual", BLUE, texts=[format_value(float(each)) for each in order]),
        ),
    )


def _importance(ranked: list[tuple[str, float]]) -> Panel:
    names, shares = [name for name, _ in ranked], [share for _, share in ranked]
    return Panel(
        "Importance",
        "variable",
        "share of variation lost without it",
        (Bars(names, shares, "importance", BLUE),),
    )


def _places(count: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(MAX_SHOWN_OUTCOMES, count)).round().astype(int))


def _normal_quantiles(count: int) -> np.ndarray:
    import torch

    places = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return np.asarray(torch.special.ndtri(places).numpy())
