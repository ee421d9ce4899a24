"""Summaries of the results of a campaign: means with standard errors, ranks, paired comparisons, and values by cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.stats

KEYS = ["problem", "measure", "method"]


def summary(results: pd.DataFrame, column: str = "cumulative", step: int | None = None) -> pd.DataFrame:
    """Return mean and standard error over seeds, with the rank within each problem and measure.

    Args:
        results: of a campaign without control sets.
        column: `cumulative`, `regret` or `simple`.
        step: where it is read; by default the last that all runs of a problem and measure have reached.

    Returns:
        One row per problem, measure and method: mean, standard_error, seeds, step, seconds_per_step, rank.
    """
    known = results.dropna(subset=[column])
    last = known.groupby([*KEYS, "seed"])["step"].max().groupby(["problem", "measure"]).min().rename("last")
    known = known.merge(last.reset_index(), on=["problem", "measure"])
    final = known[known["step"] == (known["last"] if step is None else step)]
    groups = final.groupby(KEYS)
    table = groups[column].agg(mean="mean", standard_error=standard_error, seeds="count").reset_index()
    table["step"] = groups["step"].max().to_numpy()
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


KEYS_BY_COST = ["problem", "method"]


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
    for (problem, method, seed), run in results.groupby([*KEYS_BY_COST, "seed"], sort=False):
        trials = run.sort_values("spent")
        place = np.searchsorted(trials["spent"].to_numpy(), wanted + 1e-9, side="right") - 1
        values = np.where(place < 0, np.nan, trials[column].to_numpy()[np.maximum(place, 0)])
        keys = {"problem": problem, "method": method, "seed": seed}
        parts.append(pd.DataFrame({**keys, "spent": wanted, column: values}))
    return pd.concat(parts, ignore_index=True)


def settled(results: pd.DataFrame) -> pd.DataFrame:
    """Return the cost after which each run chose the optimal control set only.

    A run whose last set is another counts with all that it spent, as in the published code of subsets (errata E52).

    Args:
        results: of a campaign with control sets; stored runs have `settled` and `converged` already.

    Returns:
        One row per run: problem, method, seed, `settled`, and `converged`, whether the last set is the optimal one.
    """
    keys = [*KEYS_BY_COST, "seed"]
    if "settled" in results:
        return results.groupby(keys, sort=False)[["settled", "converged"]].last().reset_index()
    rows = []
    for key, run in results.groupby(keys, sort=False):
        trials = run.sort_values("step")
        suboptimal = trials.loc[~trials["optimal"].astype(bool), "spent"]
        cost = float(suboptimal.iloc[-1]) if len(suboptimal) else 0.0
        converged = bool(trials["optimal"].iloc[-1])
        rows.append({**dict(zip(keys, key, strict=True)), "settled": cost, "converged": converged})
    return pd.DataFrame(rows)


def run_ends(results: pd.DataFrame) -> pd.DataFrame:
    """Return what each run of a campaign with control sets ended with.

    Args:
        results: of the campaign, or of stored runs, which have some of the columns already.

    Returns:
        One row per run: problem, method, seed, `spent`, `spent_on_cheap` (what it spent on sets cheaper than the
        dearest), `plays`, `simple`, `cumulative`, `settled` and `converged`.
    """
    keys = [*KEYS_BY_COST, "seed"]
    if "cheap" in results:
        cheap = (results["cost"] * results["cheap"]).groupby([results[key] for key in keys]).sum()
        counts = results.groupby(keys).size()
        whole = pd.DataFrame({"spent_on_cheap": cheap, "plays": counts}).reset_index()
        results = results.drop(columns=["spent_on_cheap", "plays"], errors="ignore").merge(whole, on=keys)
    last = results.sort_values("spent").groupby(keys, sort=False).last().reset_index()
    wanted = ["spent", "spent_on_cheap", "plays", "simple", "cumulative"]
    return last[[*keys, *(name for name in wanted if name in last)]].merge(settled(results), on=keys)


def summary_by_cost(results: pd.DataFrame, cost: float | None = None) -> pd.DataFrame:
    """Return the simple regret at a cost, with its rank within each problem.

    Args:
        results: of a campaign with control sets.
        cost: where the regret is read; by default at the end.

    Returns:
        One row per problem and method. `mean` and `standard_error` are of the simple regret over seeds; `cumulative`
        is the sum of the regrets weighted with their costs; `settled_at` is the mean cost after which only the optimal
        control set was chosen, with all that was spent for the seeds that did not come to it; `settled_seeds` did;
        then seeds, plays, seconds_per_play and rank.
    """
    limit = np.inf if cost is None else cost
    ends = at_costs(results, [limit]).merge(at_costs(results, [limit], "cumulative")).merge(settled(results))
    table = ends.groupby(KEYS_BY_COST, sort=False).agg(
        mean=("simple", "mean"),
        standard_error=("simple", standard_error),
        cumulative=("cumulative", "mean"),
        settled_at=("settled", "mean"),
        settled_seeds=("converged", "sum"),
        seeds=("seed", "count"),
    )
    runs = results[results["spent"] <= limit + 1e-9].groupby(KEYS_BY_COST, sort=False)
    if "plays" in results:  # stored runs have some of the plays only
        table["plays"] = run_ends(results).groupby(KEYS_BY_COST, sort=False)["plays"].mean()
    else:
        table["plays"] = runs.size() / table["seeds"]
    table["seconds_per_play"] = runs["seconds"].mean()
    table["rank"] = table.groupby("problem")["mean"].rank()
    return table.reset_index().sort_values(["problem", "rank"], ignore_index=True)
