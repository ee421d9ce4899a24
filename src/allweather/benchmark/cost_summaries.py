"""Summaries of runs with control sets, against the cost spent (subsets, Fig. 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from allweather.benchmark.summaries import standard_error

KEYS = ["problem", "method"]


def at_costs(results: pd.DataFrame, costs: Sequence[float] | np.ndarray, column: str = "simple") -> pd.DataFrame:
    """Return each run's value of a column at given costs: that of its last trial by then, NaN before the first.

    Args:
        results: of a campaign with control sets.
        costs: cumulative costs at which the values are read.
        column: `simple` or `cumulative`.

    Returns:
        One row per run and cost: problem, method, seed, spent and the column.

    Example:
        >>> run = {"problem": "p", "method": "m", "seed": 0, "spent": [0.5, 1.5], "simple": [2.0, 1.0]}
        >>> at_costs(pd.DataFrame(run), [0.2, 1.0, 9.0])["simple"].tolist()
        [nan, 2.0, 1.0]
    """
    wanted = np.asarray(costs, dtype=float)
    parts = []
    for (problem, method, seed), run in results.groupby([*KEYS, "seed"], sort=False):
        trials = run.sort_values("spent")
        place = np.searchsorted(trials["spent"].to_numpy(), wanted + 1e-9, side="right") - 1
        values = np.where(place < 0, np.nan, trials[column].to_numpy()[np.maximum(place, 0)])
        keys = {"problem": problem, "method": method, "seed": seed}
        parts.append(pd.DataFrame({**keys, "spent": wanted, column: values}))
    return pd.concat(parts, ignore_index=True)


def settled(results: pd.DataFrame) -> pd.DataFrame:
    """Return the cost after which each run chose the optimal control set only; NaN where it never did."""
    rows = []
    for (problem, method, seed), run in results.groupby([*KEYS, "seed"], sort=False):
        trials = run.sort_values("step")
        suboptimal = trials.loc[~trials["optimal"].astype(bool), "spent"]
        never = not bool(trials["optimal"].iloc[-1])
        cost = np.nan if never else float(suboptimal.iloc[-1]) if len(suboptimal) else 0.0
        rows.append({"problem": problem, "method": method, "seed": seed, "settled": cost})
    return pd.DataFrame(rows)


def summary_by_cost(results: pd.DataFrame, cost: float | None = None) -> pd.DataFrame:
    """Return the simple regret at a cost, with its rank within each problem.

    Args:
        results: of a campaign with control sets.
        cost: where the regret is read; by default at the end.

    Returns:
        One row per problem and method. `mean` and `standard_error` are of the simple regret over seeds; `cumulative`
        is the sum of the regrets weighted with their costs; `settled_at` is the mean cost after which only the optimal
        control set was chosen, over the `settled_seeds` that did so; then seeds, plays, seconds_per_play and rank.
    """
    limit = np.inf if cost is None else cost
    ends = at_costs(results, [limit]).merge(at_costs(results, [limit], "cumulative")).merge(settled(results))
    table = ends.groupby(KEYS, sort=False).agg(
        mean=("simple", "mean"),
        standard_error=("simple", standard_error),
        cumulative=("cumulative", "mean"),
        settled_at=("settled", "mean"),
        settled_seeds=("settled", "count"),
        seeds=("seed", "count"),
    )
    runs = results[results["spent"] <= limit + 1e-9].groupby(KEYS, sort=False)
    table["plays"] = runs.size() / table["seeds"]
    table["seconds_per_play"] = runs["seconds"].mean()
    table["rank"] = table.groupby("problem")["mean"].rank()
    return table.reset_index().sort_values(["problem", "rank"], ignore_index=True)
