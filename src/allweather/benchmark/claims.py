"""Claims of the papers about methods, checked on the results of a campaign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from allweather.benchmark.cost_summaries import at_costs, summary_by_cost
from allweather.benchmark.regret_figure import figure, figure_by_cost
from allweather.benchmark.summaries import paired, summary


class Report(NamedTuple):
    """Summary of the results of a campaign, and how they compare with the paper."""

    table: pd.DataFrame
    verdict: str
    figure: Path | None


class Claim(NamedTuple):
    """The claim that one method ends with less simple regret than another."""

    first: str
    second: str
    where: str = ""
    """Regular expression of the names of the settings it is about."""
    words: str = ""
    """Description of these settings."""


def report_by_iteration(results: pd.DataFrame, path: Path | None, first: str, second: str) -> Report:
    """Return the final regrets, and in how many settings one method has less regret than another.

    Args:
        results: of a campaign without control sets.
        path: of the figure, or None for no figure.
        first: the method that the paper prefers.
        second: the method it is compared with.
    """
    verdict = ""
    if {first, second} <= set(results["method"]):
        compared = paired(results, first, second)
        won = int((compared["gain"] > 0).sum())
        verdict = f"{first} has less regret than {second} in {won} of {len(compared)} settings"
    return Report(summary(results), verdict, None if path is None else figure(results, path))


def report_by_cost(results: pd.DataFrame, path: Path | None, claims: Sequence[Claim]) -> Report:
    """Return the final regrets, and in how many settings each claim holds.

    Args:
        results: of a campaign with control sets.
        path: of the figure, or None for no figure.
        claims: of the paper.
    """
    drawn = None if path is None else figure_by_cost(results, path)
    return Report(summary_by_cost(results), check_claims(results, claims), drawn)


def check_claims(results: pd.DataFrame, claims: Sequence[Claim]) -> str:
    """Return in how many settings each claim holds, at the largest cost that every run of both methods had spent.

    Args:
        results: of a campaign with control sets.
        claims: of the paper.
    """
    sentences = []
    for claim in claims:
        settings = [block for name, block in results.groupby("problem") if re.search(claim.where, str(name))]
        known = [each for each in (_holds(block, claim) for block in settings) if each is not None]
        if known:
            count = f"{sum(known)} of {len(known)} settings"
            sentences.append(f"{claim.first} ended below {claim.second} in {count} {claim.words}".rstrip())
    return "; ".join(sentences)


def _holds(block: pd.DataFrame, claim: Claim) -> bool | None:
    """Return whether a claim holds in one setting; None where one of the methods has no trial by then."""
    both = block[block["method"].isin([claim.first, claim.second])]
    reached = both.groupby(["method", "seed"])["spent"].max()
    if len(reached.index.unique("method")) < 2:
        return None
    means = at_costs(both, [reached.min()]).groupby("method")["simple"].agg(lambda values: values.mean(skipna=False))
    return None if means.isna().any() else bool(means[claim.first] < means[claim.second])
