"""The panels of phi, Fig. 1 and 7: the function, the decisions over the iterations, and the regret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from allweather.benchmark.regret_figure import PALETTE
from allweather.benchmark.summaries import standard_error
from allweather.problems import problem

RESOLUTION = 101


def draw_panels(results: pd.DataFrame, path: Path) -> Path:
    """Draw one row per problem: f(x, c), the decisions of the first seed by iteration, and regret with bands.

    Args:
        results: of a campaign on problems with one decision and one context, with the column `decision`.
        path: of the file; its folder is created.

    Returns:
        The path.
    """
    import matplotlib.figure

    names = list(dict.fromkeys(results["problem"]))
    drawing = matplotlib.figure.Figure(figsize=(14, 3.8 * len(names)), layout="constrained")
    grid: Any = drawing.subplots(len(names), 3, squeeze=False)
    methods = list(dict.fromkeys(results["method"]))
    colours = dict(zip(methods, PALETTE * 3, strict=False))
    for row, name in zip(grid, names, strict=True):
        block = results[results["problem"] == name]
        _draw_function(row[0], name)
        for method, runs in block.groupby("method", sort=False):
            _draw_decisions(row[1], runs, colours[str(method)])
            _draw_regret(row[2], runs, str(method), colours[str(method)])
        row[1].set(title="decisions, first seed", xlabel="iteration", ylabel="x")
        row[2].set(title=str(block["measure"].iloc[0]), xlabel="iteration", ylabel="cumulative robust regret")
    grid[0, 2].legend(frameon=False, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=130)
    return path


def _draw_function(axis: Any, name: str) -> None:
    chosen = problem(name)
    line = torch.linspace(0, 1, RESOLUTION, dtype=torch.float64)[:, None]
    heights = chosen.values(line, line).numpy()  # decisions by contexts
    x, c = (box.decode(line) for box in (chosen.space.decisions, chosen.space.contexts))
    ends = [float(next(iter(each.values()))) for each in (x[0], x[-1], c[0], c[-1])]
    axis.imshow(heights.T, origin="lower", aspect="auto", extent=ends, cmap="viridis")
    axis.set(title=f"{name}: f(x, c)", xlabel="x", ylabel="c")


def _draw_decisions(axis: Any, runs: pd.DataFrame, colour: str) -> None:
    first = runs[runs["seed"] == runs["seed"].min()].sort_values("step")
    values = [float(next(iter(json.loads(each).values()))) for each in first["decision"]]
    axis.plot(first["step"], values, ".", color=colour, markersize=4)


def _draw_regret(axis: Any, runs: pd.DataFrame, method: str, colour: str) -> None:
    by_step = runs.groupby("step")["cumulative"]
    mean, error = by_step.mean(), np.nan_to_num(by_step.agg(standard_error))
    axis.plot(mean.index, mean, color=colour, label=method)
    axis.fill_between(mean.index, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
