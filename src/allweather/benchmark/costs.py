"""What runs with control sets showed, against what they spent (subsets, Fig. 2 and 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from allweather.benchmark.report import PALETTE, Report, standard_error

KEYS = ["problem", "method"]
POINTS = 201
"""Of the common grid of costs."""
FLOOR = 1e-5
"""Regrets below are drawn here: optima are no more accurate."""


class Claim(NamedTuple):
    """That one method ends with less simple regret than another."""

    first: str
    second: str
    where: str = ""
    """In the settings whose name matches this expression."""
    words: str = ""
    """How such settings are called."""


def at_costs(results: pd.DataFrame, costs: Sequence[float] | np.ndarray, column: str = "simple") -> pd.DataFrame:
    """Each run's value of `column` when it had spent so much: that of its last play by then, NaN before the first.

    Args:
        results: of a campaign with control sets.
        costs: where the values are wanted.
        column: `simple` or `cumulative`.

    Example:
        >>> run = {"problem": "p", "method": "m", "seed": 0, "spent": [0.5, 1.5], "simple": [2.0, 1.0]}
        >>> at_costs(pd.DataFrame(run), [0.2, 1.0, 9.0])["simple"].tolist()
        [nan, 2.0, 1.0]
    """
    wanted = np.asarray(costs, dtype=float)
    parts = []
    for (problem, method, seed), run in results.groupby([*KEYS, "seed"], sort=False):
        plays = run.sort_values("spent")
        place = np.searchsorted(plays["spent"].to_numpy(), wanted + 1e-9, side="right") - 1
        values = np.where(place < 0, np.nan, plays[column].to_numpy()[np.maximum(place, 0)])
        keys = {"problem": problem, "method": method, "seed": seed}
        parts.append(pd.DataFrame({**keys, "spent": wanted, column: values}))
    return pd.concat(parts, ignore_index=True)


def settled(results: pd.DataFrame) -> pd.DataFrame:
    """What each run had spent when it began to choose the optimal control set only; NaN where it never did."""
    rows = []
    for (problem, method, seed), run in results.groupby([*KEYS, "seed"], sort=False):
        plays = run.sort_values("step")
        astray = plays.loc[~plays["optimal"].astype(bool), "spent"]
        never = not bool(plays["optimal"].iloc[-1])
        cost = np.nan if never else float(astray.iloc[-1]) if len(astray) else 0.0
        rows.append({"problem": problem, "method": method, "seed": seed, "settled": cost})
    return pd.DataFrame(rows)


def summary_by_cost(results: pd.DataFrame, cost: float | None = None) -> pd.DataFrame:
    """One row per problem and method: simple regret when `cost` was spent (all, if not given), and what led there.

    `mean` and `standard_error` are of the simple regret over seeds, `cumulative` weights each play's regret with its
    cost, `settled_at` is the mean cost after which only the optimal set was chosen, by the `settled_seeds` that did.
    """
    far = np.inf if cost is None else cost
    ends = at_costs(results, [far]).merge(at_costs(results, [far], "cumulative")).merge(settled(results))
    table = ends.groupby(KEYS, sort=False).agg(
        mean=("simple", "mean"),
        standard_error=("simple", standard_error),
        cumulative=("cumulative", "mean"),
        settled_at=("settled", "mean"),
        settled_seeds=("settled", "count"),
        seeds=("seed", "count"),
    )
    runs = results[results["spent"] <= far + 1e-9].groupby(KEYS, sort=False)
    table["plays"] = runs.size() / table["seeds"]
    table["seconds_per_play"] = runs["seconds"].mean()
    table["rank"] = table.groupby("problem")["mean"].rank()
    return table.reset_index().sort_values(["problem", "rank"], ignore_index=True)


def checked(results: pd.DataFrame, claims: Sequence[Claim]) -> str:
    """In how many settings each claim came out, at the largest cost that every run of both methods had spent."""
    told = []
    for claim in claims:
        settings = [block for name, block in results.groupby("problem") if re.search(claim.where, str(name))]
        won = [_is_below(block, claim) for block in settings]
        known = [each for each in won if each is not None]
        if known:
            count = f"{sum(known)} of {len(known)} settings"
            told.append(f"{claim.first} ended below {claim.second} in {count} {claim.words}".rstrip())
    return "; ".join(told)


def _is_below(block: pd.DataFrame, claim: Claim) -> bool | None:
    """Whether it is so in one setting; None where one of the methods has not played by then."""
    both = block[block["method"].isin([claim.first, claim.second])]
    reached = both.groupby(["method", "seed"])["spent"].max()
    if len(reached.index.unique("method")) < 2:
        return None
    means = at_costs(both, [reached.min()]).groupby("method")["simple"].agg(lambda values: values.mean(skipna=False))
    return None if means.isna().any() else bool(means[claim.first] < means[claim.second])


def report_by_cost(results: pd.DataFrame, path: Path | None, claims: Sequence[Claim]) -> Report:
    """The table, what became of the claims, and the figure in `path` if one is wanted."""
    drawn = None if path is None else figure_by_cost(results, path)
    return Report(summary_by_cost(results), checked(results, claims), drawn)


def figure_by_cost(results: pd.DataFrame, path: Path) -> Path:
    """Mean simple regret and a band of one standard error against cost spent: one panel per problem.

    A diamond is at the average cost after which a method chose the optimal control set only.
    """
    import matplotlib.figure

    names = list(results["problem"].unique())
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    drawing = matplotlib.figure.Figure(figsize=(5 * columns, 3.6 * rows), layout="constrained")
    axes: Any = drawing.subplots(rows, columns, squeeze=False)
    colours = dict(zip(sorted(results["method"].unique()), PALETTE * 3, strict=False))
    for axis, name in zip(axes.flat, names, strict=False):
        block = results[results["problem"] == name]
        for method, runs in block.groupby("method"):
            _curve(axis, runs, np.linspace(0, block["spent"].max(), POINTS), str(method), colours[method])
        axis.set(title=name, xlabel="cost spent", ylabel="simple regret", yscale="log")
    for axis in list(axes.flat)[len(names) :]:
        axis.set_axis_off()
    axes.flat[0].legend(frameon=False, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=130)
    return path


def _curve(axis: Any, runs: pd.DataFrame, costs: np.ndarray, method: str, colour: str) -> None:
    """One method's line, band and diamond; it begins where every seed has played."""
    wide = at_costs(runs, costs).pivot(index="spent", columns="seed", values="simple").dropna()
    mean = wide.mean(axis=1).clip(lower=FLOOR)
    error = wide.apply(standard_error, axis=1).fillna(0.0)
    low, high = (mean - error).clip(lower=FLOOR), mean + error
    axis.plot(mean.index, mean, color=colour, label=method)
    axis.fill_between(mean.index, low, high, color=colour, alpha=0.2, linewidth=0)
    start = settled(runs)["settled"].mean()
    if len(mean) and np.isfinite(start):
        there = float(np.interp(start, mean.index, mean))
        axis.plot([start], [there], marker="D", color=colour, markersize=6, linestyle="none")
