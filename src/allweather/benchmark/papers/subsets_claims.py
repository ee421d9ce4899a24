"""Claims that only subsets has: about variances, costs, the use of cheap control sets, and convergence to the best."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.stats

from allweather.benchmark.claims import CONFIDENCE, Finding, Verdict, final_regrets, judged
from allweather.benchmark.summaries import run_ends
from allweather.problems.subsets import VARIANCES

FULL = "gp-sample|hartmann|plant"
"""Problems in which all variables can be controlled together."""
LABEL = r"^(?P<name>.*), (?P<costs>.*), (?P<variance>.*)$"
"""Parts of a problem's label."""


@dataclass(frozen=True)
class LargeVarianceHelps:
    """The largest variance ends with the lowest mean simple regret more often than chance (subsets, Sec. 5, no. 4).

    Counted over problems, levels of cost and methods, without TS-PSQ and UCB-PSQ where all variables can be controlled
    together: there they always control all, and the variance makes no difference. In the paper it is 25 of 42.
    """

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the share of settings in which the largest variance is best, with its exact interval."""
        parts = results["problem"].str.extract(LABEL)
        table = results.join(parts)
        indifferent = table["method"].isin(["ts-psq", "ucb-psq"]) & table["name"].str.contains(FULL)
        final = (
            table[~indifferent].sort_values("spent").groupby(["name", "costs", "method", "variance", "seed"]).tail(1)
        )
        means = final.pivot_table(index=["name", "costs", "method"], columns="variance", values="simple")
        if len(means.columns) < len(VARIANCES) or not len(means := means.dropna()):
            return []
        best = (means.idxmin(axis=1) == f"{max(VARIANCES):g}").to_numpy()
        text = f"variance {max(VARIANCES):g} has the lowest regret more often than by chance"
        return [_share(text, f"{len(best)} settings", best, 1 / len(VARIANCES), comparisons)]


@dataclass(frozen=True)
class GainShrinksWithCost:
    """A variant's gain on another method, in simple regret, is larger at cheap costs than at expensive ones."""

    first: str
    second: str

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the difference of the gains seed by seed, for every problem and variance with both levels."""
        samples, methods = [], (self.first, self.second)
        parts = results["problem"].str.extract(LABEL)
        chosen = parts["name"].str.contains(FULL).fillna(False)
        for (name, variance), rows in parts[chosen].groupby(["name", "variance"], sort=False):
            own = results.loc[rows.index]
            levels = [own[rows["costs"] == level] for level in ("cheap", "expensive")]
            ends = [final_regrets(block, methods) if len(block) else None for block in levels]
            if all(end is not None and len(end) for end in ends):
                cheap, expensive = (end[self.second] - end[self.first] for end in ends if end is not None)
                samples.append((f"{name}, {variance}", (cheap - expensive).dropna().to_numpy()))
        text = f"the gain of {self.first} on {self.second} is larger at cheap costs than at expensive ones"
        return judged(text, "difference of gains", [each for each in samples if len(each[1])], comparisons)


@dataclass(frozen=True)
class NeverSettles:
    """Most runs of a method end with another control set than the optimal one."""

    method: str

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the share of such runs against one half, with its exact interval, in every setting."""
        own = results[results["method"] == self.method]
        blocks = list(run_ends(own).groupby("problem", sort=False)) if len(own) else []
        text = f"{self.method} does not converge to the optimal control set"
        count = comparisons or len(blocks)
        return [_share(text, str(name), ~block["converged"].to_numpy(bool), 0.5, count) for name, block in blocks]


@dataclass(frozen=True)
class SpendsLessOnCheapSets:
    """A method spends a smaller share of its costs on sets cheaper than the dearest, or none where `than` is empty."""

    method: str
    than: str = ""
    where: str = ""
    words: str = ""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the difference of the shares seed by seed, or the largest share, in every setting."""
        samples = []
        for name, block in results.groupby("problem", sort=False):
            if not re.search(self.where, str(name)) or self.method not in set(block["method"]):
                continue
            ends = run_ends(block)
            ends["share"] = ends["spent_on_cheap"] / ends["spent"]
            wide = ends.pivot_table(index="seed", columns="method", values="share")
            if {self.method, self.than or self.method} <= set(wide):
                other = wide[self.than] if self.than else 0.0
                samples.append((str(name), (other - wide[self.method]).dropna().to_numpy()))
        if self.than:
            text = f"{self.method} spends less of its costs on cheap sets than {self.than}"
            return judged(text, "difference of shares", samples, comparisons)
        found = []
        text = f"{self.method} spends nothing on cheap sets {self.words}".rstrip()
        for name, saved in samples:  # a single play would refute it, so there is no interval
            most = -float(saved.min())
            verdict = _verdict(most == 0, most > 0)
            found.append(Finding(text, name, "largest share", most, most, most, len(saved), verdict))
        return found


def _share(text: str, setting: str, hits: np.ndarray | Sequence[bool], chance: float, count: int | None) -> Finding:
    """Test whether a share is above a chance, by its exact interval."""
    test = scipy.stats.binomtest(int(np.sum(hits)), len(hits), chance)
    low, high = test.proportion_ci(1 - (1 - CONFIDENCE) / (count or 1))
    verdict = _verdict(bool(low > chance), bool(high < chance))
    return Finding(text, setting, "share", float(np.mean(hits)), low, high, len(hits), verdict)


def _verdict(holds: bool, fails: bool) -> Verdict:
    return "holds" if holds else "fails" if fails else "undecided"
