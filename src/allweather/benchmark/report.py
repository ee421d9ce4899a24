"""What a campaign showed: means with standard errors, ranks, paired comparisons, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

KEYS = ["problem", "measure", "method"]
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#7F7F7F", "#6A3D9A"]


class Report(NamedTuple):
    """What is told of a campaign's results."""

    table: pd.DataFrame
    verdict: str
    figure: Path | None


def report_by_iteration(results: pd.DataFrame, path: Path | None, first: str, second: str) -> Report:
    """The final regrets, in how many settings one method lost less than another, and the figure in `path`."""
    verdict = ""
    if {first, second} <= set(results["method"]):
        compared = paired(results, first, second)
        won = int((compared["gain"] > 0).sum())
        verdict = f"{first} lost less than {second} in {won} of {len(compared)} settings"
    return Report(summary(results), verdict, None if path is None else figure(results, path))


def summary(results: pd.DataFrame, column: str = "cumulative", step: int | None = None) -> pd.DataFrame:
    """Mean and standard error over seeds at one step (the last), with the rank within each problem and measure."""
    at = results["step"].max() if step is None else step
    final = results[results["step"] == at].dropna(subset=[column])
    table = final.groupby(KEYS)[column].agg(mean="mean", standard_error=standard_error, seeds="count").reset_index()
    seconds = results.groupby(KEYS)["seconds"].mean().rename("seconds_per_step").reset_index()
    table = table.merge(seconds, on=KEYS)
    table["rank"] = table.groupby(["problem", "measure"])["mean"].rank()
    return table.sort_values(["problem", "measure", "rank"], ignore_index=True)


def paired(results: pd.DataFrame, first: str, second: str, column: str = "cumulative") -> pd.DataFrame:
    """How much less `first` loses than `second`, seed by seed at the last step, with a paired t-test."""
    final = results[results["step"] == results["step"].max()]
    wide = final.pivot_table(index=["problem", "measure", "seed"], columns="method", values=column)
    rows = []
    for (name, measure), block in wide.groupby(level=["problem", "measure"]):
        gain = (block[second] - block[first]).dropna()
        p = scipy.stats.ttest_1samp(gain, 0).pvalue if len(gain) > 1 and gain.std() > 0 else np.nan
        rows.append(
            {
                "problem": name,
                "measure": measure,
                "gain": gain.mean(),
                "standard_error": standard_error(gain),
                "wins": int((gain > 0).sum()),
                "seeds": len(gain),
                "p_value": p,
            }
        )
    return pd.DataFrame(rows)


def figure(results: pd.DataFrame, path: Path, column: str = "cumulative", log: bool = False) -> Path:
    """Mean and a band of one standard error against the step: one panel per problem and measure."""
    import matplotlib.figure

    panels = list(results.groupby(["problem", "measure"], sort=False))
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    drawing = matplotlib.figure.Figure(figsize=(5 * columns, 3.6 * rows), layout="constrained")
    axes: Any = drawing.subplots(rows, columns, squeeze=False)
    colours = dict(zip(sorted(results["method"].unique()), PALETTE * 3, strict=False))
    for axis, ((name, measure), block) in zip(axes.flat, panels, strict=False):
        for method, lines in block.dropna(subset=[column]).groupby("method"):
            by_step = lines.groupby("step")[column]
            mean, error = by_step.mean(), by_step.agg(standard_error).fillna(0.0)
            axis.plot(mean.index, mean, color=colours[method], label=method)
            axis.fill_between(mean.index, mean - error, mean + error, color=colours[method], alpha=0.2, linewidth=0)
        axis.set(
            title=f"{name} ({measure})",
            xlabel="iteration",
            ylabel=f"{column} regret",
            yscale="log" if log else "linear",
        )
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_axis_off()
    axes.flat[0].legend(frameon=False, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=130)
    return path


def standard_error(values: pd.Series) -> float:
    """Of the mean; NaN of a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
