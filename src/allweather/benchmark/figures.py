"""What a figure or table of a paper is: a campaign and the claims about it, or a table that is built directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Claim, Finding, check_claims
from allweather.benchmark.regret_figure import figure, figure_by_cost
from allweather.benchmark.summaries import summary, summary_by_cost

Settings = Mapping[str, tuple[str, Mapping[str, Any]]]


class Report(NamedTuple):
    """Summary of the results of a campaign, and how they compare with the paper."""

    table: pd.DataFrame
    findings: pd.DataFrame
    """The tests of the claims, see `check_claims`."""
    figure: Path | None


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper: what to run, and what the paper claims."""

    name: str
    source: str
    """Paper and number."""
    claim: str
    """In words."""
    campaigns: Callable[[], list[Campaign]]
    """With the paper's seeds and iterations."""
    claims: tuple[Claim, ...] = ()
    """What is tested on the results."""
    column: str = "cumulative"
    """The vertical axis without control sets: `cumulative`, `regret` or `simple`."""
    log: bool = False
    """Whether that axis is logarithmic."""
    tabulate: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Summary of the results; by default the final regrets."""
    draw: Callable[[pd.DataFrame, Path], Path] | None = None
    """How the figure is drawn; by default regret against the iteration or the cost."""
    ours: tuple[str, ...] = ()
    """Methods, by their label, that the paper does not have; they are marked wherever results are shown."""
    guesses: tuple[str, ...] = ()
    """Settings that the paper does not give and we chose; they are named wherever results are shown."""
    journals: str = ""
    """The entry whose folder has the journals, where several share their runs; by default its own."""

    def summarise(self, results: pd.DataFrame, path: Path | None) -> Report:
        """Return the table, the tests of the claims, and the figure written to `path`.

        Args:
            results: of the campaigns.
            path: of the figure, or None for no figure.
        """
        findings = check_claims(results, self.claims)
        return Report(self._table(results), findings, None if path is None else self._drawn(results, path))

    def _table(self, results: pd.DataFrame) -> pd.DataFrame:
        if self.tabulate is not None:
            return self.tabulate(results)
        return summary_by_cost(results) if "spent" in results else summary(results, self.column)

    def _drawn(self, results: pd.DataFrame, path: Path) -> Path:
        if self.draw is not None:
            return self.draw(results, path)
        if "spent" in results:
            return figure_by_cost(results, path, self.ours)
        return figure(results, path, self.column, self.log, ours=self.ours)


class Wanted(NamedTuple):
    """What of a table is wanted."""

    seeds: int | None = None
    """How many repetitions; as in the paper if None."""
    quick: bool = False
    """Whether a miniature is enough."""
    problems: Sequence[str] | None = None
    """Only these."""
    methods: Sequence[str] | None = None
    """Only these."""


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper that is not a campaign: how to build it, and what the paper claims."""

    name: str
    source: str
    """Paper and number."""
    claim: str
    build: Callable[[Wanted], tuple[pd.DataFrame, str | Sequence[Finding]]]
    """From what is wanted to the table and how it compares: tests of the claims, or a sentence."""
    draw: Callable[[pd.DataFrame, Path], Path] | None = None
    """Draws the table, where the paper has a figure."""
    guesses: tuple[str, ...] = ()
    """Settings that the paper does not give and we chose; they are named wherever results are shown."""


def plain(*names: str) -> Settings:
    """Return problems or methods without settings, by name."""
    return {name: (name, {}) for name in names}
