"""Summaries of the results of a campaign: means with standard errors, ranks, paired comparisons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats

KEYS = ["problem", "measure", "method"]


def summary(results: pd.DataFrame, column: str = "cumulative", step: int | None = None) -> pd.DataFrame:
    """Return mean and standard error over seeds, with the rank within each problem and measure.

    Args:
        results: of a campaign without control sets.
        column: `cumulative`, `regret` or `simple`.
        step: where it is read; by default the last.

    Returns:
        One row per problem, measure and method: mean, standard_error, seeds, seconds_per_step, rank.
    """
    at = results["step"].max() if step is None else step
    final = results[results["step"] == at].dropna(subset=[column])
    table = final.groupby(KEYS)[column].agg(mean="mean", standard_error=standard_error, seeds="count").reset_index()
    seconds = results.groupby(KEYS)["seconds"].mean().rename("seconds_per_step").reset_index()
    table = table.merge(seconds, on=KEYS)
    table["rank"] = table.groupby(["problem", "measure"])["mean"].rank()
    return table.sort_values(["problem", "measure", "rank"], ignore_index=True)


def paired(results: pd.DataFrame, first: str, second: str, column: str = "cumulative") -> pd.DataFrame:
    """Compare two methods seed by seed at the last step, with a paired t-test.

    Args:
        results: of a campaign without control sets.
        first: a method.
        second: another method.
        column: `cumulative`, `regret` or `simple`.

    Returns:
        One row per problem and measure: gain (mean of second minus first), standard_error, wins (seeds with a gain),
        seeds, p_value.
    """
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


def standard_error(values: pd.Series) -> float:
    """Return the standard error of the mean; NaN for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
