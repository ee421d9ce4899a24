"""Comparison of methods: mean regret over seeds, from the results of a campaign."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from allweather.benchmark.summaries import at_costs
from allweather.errors import require
from allweather.plots.marks import DASHES, PALETTE, Line, Mark, Panel, Ribbon
from allweather.plots.picture import Picture

POINTS = 201
FLOOR = 1e-9
"""Smallest value on a logarithmic axis."""
Column = Literal["simple", "cumulative"]


def comparison(results: pd.DataFrame, column: Column | None = None) -> Picture:
    """Plot the mean regret of each method with a band of one standard error over its seeds.

    There is one panel per problem and measure; with control sets the horizontal axis is the cost spent.

    Args:
        results: of a campaign, one row per step of every run.
        column: `simple` (regret of the recommended decision) or `cumulative`; by default cumulative, or simple with
            control sets.

    Returns:
        The figure.

    Raises:
        InvalidInput: if a column is missing, or has no number in it.

    Example:
        >>> speeds = {"wdrbo": 0.5, "random": 1.0}
        >>> rows = [("a", name, seed, t, t ** speeds[name]) for name in speeds for seed in (0, 1) for t in (1, 4, 9)]
        >>> table = pd.DataFrame(rows, columns=["problem", "method", "seed", "step", "cumulative"])
        >>> comparison(table).says
        'On a, wdrbo has the lowest mean cumulative regret at step 9, 3.'
    """
    require(isinstance(results, pd.DataFrame), "plots.comparison(results=...)", "be a table of results", results)
    by_cost = "spent" in results
    shown: str = column or ("simple" if by_cost else "cumulative")
    needed = {"problem", "method", "seed", "spent" if by_cost else "step", shown}
    missing = sorted(needed - set(results.columns))
    require(
        not missing, "plots.comparison(results=...)", f"have columns {sorted(needed)}", f"a table without {missing}"
    )
    keys = ["problem", *(["measure"] if "measure" in results else [])]
    methods = sorted(results["method"].unique())
    panels, sentences = [], []
    for key, block in results.groupby(keys, sort=False):
        name = ", ".join(map(str, key))
        curves = {method: _curve(block[block["method"] == method], shown, by_cost) for method in methods}
        curves = {method: curve for method, curve in curves.items() if len(curve)}
        if not curves:
            continue
        marks = [mark for method, curve in curves.items() for mark in _marks(method, curve, methods.index(method))]
        log = shown == "simple" and all((curve["mean"] > 0).all() for curve in curves.values())
        axis = "cost spent" if by_cost else "step"
        panels.append(Panel(name, axis, f"{shown} regret (band: one standard error)", tuple(marks), log_y=log))
        end = min(curve.index[-1] for curve in curves.values())  # the last point that all methods reached
        reached = {method: float(curve["mean"].loc[:end].iloc[-1]) for method, curve in curves.items()}
        best = min(reached, key=lambda method: reached[method])
        sentences.append(
            f"On {name}, {best} has the lowest mean {shown} regret at {axis} {end:g}, {reached[best]:.4g}."
        )
    if not panels:
        require(False, "plots.comparison(results=...)", f"have a number in column {shown!r}", "none")
    return Picture("Regret by method", " ".join(sentences), tuple(panels), columns=3)


def _curve(runs: pd.DataFrame, column: str, by_cost: bool) -> pd.DataFrame:
    """Return mean and standard error over seeds, where every seed has a value."""
    if by_cost:
        runs = at_costs(runs, np.linspace(0, runs["spent"].max(), POINTS), column)
    wide = runs.dropna(subset=[column]).pivot_table(index="spent" if by_cost else "step", columns="seed", values=column)
    wide = wide.dropna()
    error = (
        wide.std(axis=1, ddof=1).fillna(0.0) / np.sqrt(wide.shape[1]) if wide.shape[1] > 1 else 0.0 * wide.sum(axis=1)
    )
    return pd.DataFrame({"mean": wide.mean(axis=1), "error": error})


def _marks(method: str, curve: pd.DataFrame, place: int) -> list[Mark]:
    colour, dash = PALETTE[place % len(PALETTE)], DASHES[place // 3 % len(DASHES)]
    x, mean, error = curve.index.to_numpy(), curve["mean"].to_numpy(), curve["error"].to_numpy()
    low = np.maximum(mean - error, np.minimum(mean, FLOOR)) if (mean > 0).all() else mean - error
    return [Line(x, mean, method, colour, dash), Ribbon(x, low, mean + error, method, colour)]
