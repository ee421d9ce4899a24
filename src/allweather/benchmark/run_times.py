"""Run times of methods, beside those that a paper reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allweather.benchmark.summaries import standard_error

Published = Mapping[str, Mapping[str, tuple[float, float]]]
"""By problem and method: seconds of a run in the paper, and their standard error."""


def run_times(results: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the CPU seconds of whole runs, the sum over their steps.

    Args:
        results: of a campaign without control sets; only problems of `published` are used.
        published: what the paper reports.

    Returns:
        One row per problem and method: mean and standard_error over seeds, steps, seeds, published, published_error and
        rank within the problem.

    Example:
        >>> runs = pd.DataFrame({"problem": "p", "method": "m", "seed": [0, 0, 1, 1], "step": [1, 2] * 2})
        >>> table = run_times(runs.assign(measure="expected", seconds=[1.0, 2.0, 2.0, 2.0]), {"p": {"m": (60.0, 1.0)}})
        >>> table[["mean", "steps", "published"]].values.tolist()
        [[3.5, 2.0, 60.0]]
    """
    known = results[results["problem"].isin(list(published)) & (results["measure"] == results["measure"].iloc[0])]
    runs = known.groupby(["problem", "method", "seed"], sort=False).agg(
        seconds=("seconds", "sum"), steps=("step", "max")
    )
    table: pd.DataFrame = runs.groupby(["problem", "method"], sort=False).agg(
        mean=("seconds", "mean"),
        standard_error=("seconds", standard_error),
        steps=("steps", "max"),
        seeds=("seconds", "count"),
    )
    table = table.reset_index()
    missing = (np.nan, np.nan)
    there = [published[str(name)].get(str(method), missing) for name, method in table[["problem", "method"]].to_numpy()]
    table["published"], table["published_error"] = (list(column) for column in zip(*there, strict=True))
    table["rank"] = table.groupby("problem")["mean"].rank()
    return table.sort_values(["problem", "rank"], ignore_index=True)


def draw_run_times(table: pd.DataFrame, path: Path) -> Path:
    """Draw run times beside the published ones, on a logarithmic axis.

    Args:
        table: of `run_times`.
        path: of the file; its folder is created.
    """
    import matplotlib.figure

    blocks = list(table.groupby("problem", sort=False))
    drawing = matplotlib.figure.Figure(figsize=(5.5 * len(blocks), 3.6), layout="constrained")
    axes: Any = drawing.subplots(1, len(blocks), squeeze=False)
    for axis, (problem, block) in zip(axes.flat, blocks, strict=True):
        places = np.arange(len(block))
        steps = int(block["steps"].max())
        axis.barh(places - 0.2, block["mean"], 0.4, xerr=block["standard_error"].fillna(0), label=f"{steps} steps here")
        axis.barh(places + 0.2, block["published"], 0.4, xerr=block["published_error"].fillna(0), label="published")
        axis.set(title=problem, xlabel="seconds per run", xscale="log", yticks=places, yticklabels=block["method"])
        axis.invert_yaxis()
    axes.flat[0].legend(frameon=False, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=130)
    return path
