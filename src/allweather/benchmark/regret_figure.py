"""Figures of regret with matplotlib: one panel per problem, one line per method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allweather.benchmark.summaries import at_costs, settled, standard_error

PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#7F7F7F", "#6A3D9A"]
POINTS = 201
"""Of the common grid of costs."""
FLOOR = 1e-5
"""Lower regrets are drawn here, since the optima are not more accurate."""


def figure(
    results: pd.DataFrame,
    path: str | Path,
    column: str = "cumulative",
    log: bool = False,
    rewards: Collection[str] = (),
    ours: Collection[str] = (),
) -> Path:
    """Draw mean regret and a band of one standard error against the step, one panel per problem and measure.

    Args:
        results: of a campaign without control sets.
        path: of the file; its folder is created.
        column: `cumulative`, `regret` or `simple`.
        log: whether the vertical axis is logarithmic.
        rewards: problems whose cumulative observed reward is drawn instead.
        ours: methods that are marked as ours in the legend.

    Returns:
        The path.
    """

    def draw(axis: Any, runs: pd.DataFrame, method: str, colour: str) -> None:
        shown = "reward" if runs["problem"].iloc[0] in rewards else column
        by_step = runs.dropna(subset=[shown]).groupby("step")[shown]
        mean, error = by_step.mean(), by_step.agg(standard_error).fillna(0.0)
        _band(axis, mean, mean - error, mean + error, method, colour)

    blocks = results.groupby(["problem", "measure"], sort=False)
    panels = {f"{name} ({measure})": block for (name, measure), block in blocks}
    name = "instantaneous" if column == "regret" else column
    axes = {"xlabel": "iteration", "ylabel": f"{name} regret", "yscale": "log" if log else "linear"}
    other = {"ylabel": "cumulative reward", "yscale": "linear"}
    labels = {title: other for title, block in panels.items() if block["problem"].iloc[0] in rewards}
    return _draw_panels(panels, draw, axes, path, ours, labels)


def figure_by_cost(results: pd.DataFrame, path: str | Path, ours: Collection[str] = ()) -> Path:
    """Draw mean simple regret and a band of one standard error against the cost spent, one panel per problem.

    A diamond marks the mean cost after which a method chose the optimal control set only, see `settled`.

    Args:
        results: of a campaign with control sets.
        path: of the file; its folder is created.
        ours: methods that are marked as ours in the legend.

    Returns:
        The path.
    """
    largest = results.groupby("problem")["spent"].max()

    def draw(axis: Any, runs: pd.DataFrame, method: str, colour: str) -> None:
        costs = np.linspace(0, largest[runs["problem"].iloc[0]], POINTS)
        wide = at_costs(runs, costs).pivot(index="spent", columns="seed", values="simple").dropna()
        mean, error = wide.mean(axis=1).clip(lower=FLOOR), wide.apply(standard_error, axis=1).fillna(0.0)
        _band(axis, mean, (mean - error).clip(lower=FLOOR), mean + error, method, colour)
        start = settled(runs)["settled"].mean()
        if len(mean):
            height = float(np.interp(start, mean.index, mean))
            axis.plot([start], [height], marker="D", color=colour, markersize=6, linestyle="none")

    panels = {str(name): block for name, block in results.groupby("problem", sort=False)}
    return _draw_panels(panels, draw, {"xlabel": "cost spent", "ylabel": "simple regret", "yscale": "log"}, path, ours)


def _band(axis: Any, mean: pd.Series, low: pd.Series, high: pd.Series, method: str, colour: str) -> None:
    axis.plot(mean.index, mean, color=colour, label=method)
    axis.fill_between(mean.index, low, high, color=colour, alpha=0.2, linewidth=0)


def _draw_panels(
    panels: Mapping[str, pd.DataFrame],
    draw: Callable[[Any, pd.DataFrame, str, str], None],
    axes: Mapping[str, str],
    path: str | Path,
    ours: Collection[str],
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Draw each method of each panel, with one legend of all; `labels` are those of panels with other axes."""
    import matplotlib.figure

    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    drawing = matplotlib.figure.Figure(figsize=(5 * columns, 3.6 * rows), layout="constrained")
    grid: Any = drawing.subplots(rows, columns, squeeze=False)
    methods = sorted({method for block in panels.values() for method in block["method"].unique()})
    colours = dict(zip(methods, PALETTE * 3, strict=False))
    for axis, (title, block) in zip(grid.flat, panels.items(), strict=False):
        for method, runs in block.groupby("method"):
            draw(axis, runs, str(method), colours[str(method)])
        axis.set(title=title, **{**axes, **(labels or {}).get(title, {})})
    for axis in list(grid.flat)[len(panels) :]:
        axis.set_axis_off()
    _draw_legend(drawing, ours)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(target, dpi=130)
    return target


def marked(method: str, ours: Collection[str]) -> str:
    """Return the name of a method as it is shown.

    Args:
        method: its label.
        ours: methods that no paper has.

    Example:
        >>> marked("UCB-BOCU", ["UCB-BOCU"]), marked("TS-BOCU", ["UCB-BOCU"])
        ('UCB-BOCU (ours)', 'TS-BOCU')
    """
    return f"{method} (ours)" if method in ours else method


def _draw_legend(drawing: Any, ours: Collection[str]) -> None:
    """Draw one legend of the methods of all panels below them."""
    lines = {
        label: line for axis in drawing.axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    names = sorted(lines)
    shown = [marked(name, ours) for name in names]
    drawing.legend(
        [lines[name] for name in names], shown, loc="outside lower center", ncols=min(len(names), 4), frameon=False
    )
