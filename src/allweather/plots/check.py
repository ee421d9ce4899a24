"""Whether the model can be relied on: what it predicted for each outcome, and what it says matters."""

from __future__ import annotations

import numpy as np

from allweather.plots.labels import format_value
from allweather.plots.marks import BLUE, GREY, Bars, Dots, Line, Panel
from allweather.plots.picture import Picture
from allweather.study import Study


def check(study: Study) -> Picture:
    """Each outcome against what was predicted from all the others, standardised residuals, and importance.

    Args:
        study: with a `GP` surrogate and at least one complete trial.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 6, "demand": 0.5, "value": -abs(o - 2)} for o in range(7)])
        >>> [panel.title for panel in check(study).panels]
        ['Predicted from all other outcomes', 'Standardised residuals', 'Importance']
    """
    found = study.check()
    table = found.table
    observed, predicted = table["observed"].to_numpy(), table["predicted"].to_numpy()
    ends = np.array([observed.min(), observed.max()]) if len(table) else np.zeros(2)
    texts = [
        f"observed {format_value(float(a))}, predicted {format_value(float(b))}"
        for a, b in zip(observed, predicted, strict=True)
    ]
    against = Panel(
        "Predicted from all other outcomes",
        "observed outcome",
        "predicted outcome",
        (
            Line(ends, ends, "perfect prediction", GREY, "dash"),
            Dots(observed, predicted, "outcome", BLUE, texts=texts),
        ),
    )
    order = np.sort(table["residual"].to_numpy())
    quantiles = _normal_quantiles(len(order))
    residuals = Panel(
        "Standardised residuals",
        "standard normal quantile",
        "residual in standard deviations",
        (
            Line(quantiles, quantiles, "as uncertain as it says", GREY, "dash"),
            Dots(quantiles, order, "residual", BLUE, texts=[format_value(float(each)) for each in order]),
        ),
    )
    return Picture("Check", str(found), (against, residuals, _importance(dict(found.importance))))


def _importance(shares: dict[str, float]) -> Panel:
    names = sorted(shares, key=lambda name: -shares[name])
    return Panel(
        "Importance",
        "variable",
        "share of variation lost without it",
        (Bars(names, [shares[name] for name in names], "importance", BLUE),),
    )


def _normal_quantiles(count: int) -> np.ndarray:
    import torch

    places = (torch.arange(count, dtype=torch.float64) + 0.5) / max(count, 1)
    return np.asarray(torch.special.ndtri(places).numpy())
