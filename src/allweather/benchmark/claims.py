"""Claims of the papers, tested on the results of a campaign, with 95% confidence intervals over seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
import scipy.stats

from allweather.benchmark.summaries import at_costs

CONFIDENCE = 0.95
Verdict = Literal["holds", "fails", "undecided"]


class Finding(NamedTuple):
    """A claim tested in one setting."""

    claim: str
    """In words, the same in all settings."""
    setting: str
    """Problem, with the measure of regret."""
    quantity: str
    """What is estimated."""
    estimate: float
    low: float
    """Lower end of its 95% confidence interval; NaN with fewer than two seeds."""
    high: float
    seeds: int
    verdict: Verdict


class Claim(Protocol):
    """Anything that can be tested on the results of a campaign."""

    def findings(self, results: pd.DataFrame) -> list[Finding]:
        """Test the claim in every setting that the results allow."""


@dataclass(frozen=True)
class Beats:
    """One method ends with less regret than another.

    The regrets of the two methods are compared seed by seed, since the seed determines contexts and noise: cumulative
    regret at the last step that all runs of both reached; with control sets, simple regret at the largest cost that
    all of them had spent.

    Example:
        >>> runs = {"problem": "p", "measure": "m", "step": 1, "method": ["a", "b"] * 3, "seed": [0, 0, 1, 1, 2, 2]}
        >>> table = pd.DataFrame({**runs, "cumulative": [1.0, 2.0, 1.1, 2.2, 0.9, 2.0]})
        >>> Beats("a", "b").findings(table)[0].verdict
        'holds'
    """

    first: str
    second: str
    where: str = ""
    """Regular expression of the settings it is about."""
    words: str = ""
    """Description of these settings."""
    column: str = "cumulative"
    """Without control sets: what is compared, `cumulative`, `regret` or `simple`; of a `reward`, more is better."""

    @property
    def text(self) -> str:
        """The claim in words."""
        what = "more reward" if self.column == "reward" else "less regret"
        return f"{self.first} has {what} than {self.second} {self.words}".rstrip()

    def findings(self, results: pd.DataFrame) -> list[Finding]:
        """Test the mean of the paired differences, positive where the first is better, in every setting with both."""
        found = []
        for setting, block in _settings(results, self.where):
            final = final_regrets(block, (self.first, self.second), self.column)
            if final is not None and len(final):
                sign, what = (-1, "reward") if self.column == "reward" else (1, "regret")
                gain = sign * (final[self.second] - final[self.first]).to_numpy()
                found.append(_finding(self.text, setting, f"difference of {what}", gain, 0.0))
        return found


@dataclass(frozen=True)
class Least:
    """Some methods have less regret than all others, each compared with each as by `Beats`."""

    methods: tuple[str, ...]
    where: str = ""
    words: str = ""
    column: str = "cumulative"
    besides: tuple[str, ...] = ()
    """Methods that are not compared: variants that the paper does not have."""

    def findings(self, results: pd.DataFrame) -> list[Finding]:
        """Test every pair of a preferred and another method."""
        others = sorted(set(results["method"]) - set(self.methods) - set(self.besides))
        pairs = ((first, second) for first in self.methods for second in others)
        tests = (Beats(first, second, self.where, self.words, self.column) for first, second in pairs)
        return [each for test in tests for each in test.findings(results)]


@dataclass(frozen=True)
class Sublinear:
    """The cumulative regret of a method grows more slowly than the number of steps.

    The growth exponent of a run is `log(R(T) / R(T/2)) / log 2`, which is 1 for a constant regret per step. A finite
    run cannot show a limit; the claim holds where the confidence interval of the mean exponent is below 1.

    Example:
        >>> steps = pd.DataFrame({"problem": "p", "measure": "m", "method": "a", "step": [1, 2, 3, 4] * 2})
        >>> table = steps.assign(seed=[0] * 4 + [1] * 4, cumulative=[1, 1.4, 1.7, 2, 2, 2.8, 3.4, 3.9])
        >>> found = Sublinear("a").findings(table)[0]
        >>> round(found.estimate, 2), found.verdict
        (0.5, 'holds')
    """

    method: str
    where: str = ""
    words: str = ""

    def findings(self, results: pd.DataFrame) -> list[Finding]:
        """Test the growth exponent in every setting with the method."""
        found = []
        for setting, block in _settings(results[results["method"] == self.method], self.where):
            exponents = growth_exponents(block)
            if len(exponents):
                text = f"the regret of {self.method} is sublinear {self.words}".rstrip()
                found.append(_finding(text, setting, "growth exponent", exponents, 1.0, below=True))
        return found


@dataclass(frozen=True)
class Faster:
    """The steps of one method take less CPU time than those of another, by a factor if one is given."""

    first: str
    second: str
    factor: float = 1.0
    where: str = ""

    def findings(self, results: pd.DataFrame) -> list[Finding]:
        """Test the ratio of the times until the last step that all runs reached, by its logarithm seed by seed."""
        times = "takes less time than" if self.factor == 1 else f"is {self.factor:g} times faster than"
        found = []
        for setting, block in _settings(results, self.where):
            both = block[block["method"].isin([self.first, self.second])]
            reached = both.groupby(["method", "seed"])["step"].max().min()
            common = both[both["step"] <= reached]
            wide = common.pivot_table(index="seed", columns="method", values="seconds", aggfunc="sum")
            if {self.first, self.second} <= set(wide):
                ratio = np.log((wide[self.second] / wide[self.first]).dropna().to_numpy())
                test = _finding(f"{self.first} {times} {self.second}", setting, "", ratio, float(np.log(self.factor)))
                low, high = float(np.exp(test.low)), float(np.exp(test.high))
                estimate = float(np.exp(test.estimate))
                found.append(test._replace(quantity="ratio of times", estimate=estimate, low=low, high=high))
        return found


def check_claims(results: pd.DataFrame, claims: Sequence[Claim]) -> pd.DataFrame:
    """Test claims on the results of a campaign.

    Args:
        results: of a campaign.
        claims: of the paper.

    Returns:
        One row per claim and setting, with the fields of `Finding`.
    """
    found = [each for claim in claims for each in claim.findings(results)]
    return pd.DataFrame(found, columns=list(Finding._fields))


def describe_findings(findings: pd.DataFrame) -> str:
    """Return for each claim in how many settings it holds, fails and is undecided, with the range of the estimates."""
    sentences = []
    for claim, block in findings.groupby("claim", sort=False):
        counts = block["verdict"].value_counts()
        verdicts = ", ".join(f"{kind} in {counts[kind]}" for kind in ("holds", "fails", "undecided") if kind in counts)
        low, high = block["estimate"].min(), block["estimate"].max()
        values = f"{low:.3g}" if len(block) == 1 else f"{low:.3g} to {high:.3g}"
        plural = "setting" if len(block) == 1 else "settings"
        sentences.append(f"{claim}: {verdicts} of {len(block)} {plural} ({block['quantity'].iloc[0]} {values})")
    return "; ".join(sentences)


def final_regrets(block: pd.DataFrame, methods: Sequence[str], column: str = "cumulative") -> pd.DataFrame | None:
    """Return regrets by seed (rows) and method (columns) where the last common step or cost is reached.

    Args:
        block: results in one setting.
        methods: that are compared.
        column: without control sets, which regret.

    Returns:
        None where a method has no runs, no trial by then, or no such column.
    """
    both = block[block["method"].isin(list(methods))]
    if both["method"].nunique() < len(set(methods)) or ("spent" not in block and column not in block):
        return None
    if "spent" in block:
        reached = both.groupby(["method", "seed"])["spent"].max().min()
        final, column = at_costs(both, [reached]), "simple"
        if final[column].isna().any():
            return None
    else:
        reached = both.dropna(subset=[column]).groupby(["method", "seed"])["step"].max().min()
        final = both[both["step"] == reached]
    return final.pivot_table(index="seed", columns="method", values=column).dropna()


def growth_exponents(block: pd.DataFrame) -> np.ndarray:
    """Return the growth exponent of the cumulative regret of each run of one method in one setting, (seeds,)."""
    wide = block.pivot_table(index="step", columns="seed", values="cumulative").dropna()
    last = int(wide.index.max()) if len(wide) else 0
    early = wide.index[wide.index <= last / 2]  # stored runs have some of the steps only
    if not len(early):
        return np.empty(0)
    half = int(early.max())
    ends = np.maximum(wide.loc[[half, last]].to_numpy(), 1e-12)
    return np.asarray(np.log(ends[1] / ends[0]) / np.log(last / half))


def confidence_interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95% interval of a mean by Student's t, from values (n,); NaN with fewer than two."""
    if len(values) < 2:
        return float("nan"), float("nan")
    spread = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    reach = float(scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) * spread
    return float(np.mean(values)) - reach, float(np.mean(values)) + reach


def _finding(claim: str, setting: str, quantity: str, values: np.ndarray, bound: float, below: bool = False) -> Finding:
    """Test whether the mean of values (n,) is above a bound, or below it."""
    low, high = confidence_interval(values)
    above, under = low > bound, high < bound
    verdict: Verdict = "undecided"
    if above or under:
        verdict = "holds" if under == below else "fails"
    return Finding(claim, setting, quantity, float(np.mean(values)), low, high, len(values), verdict)


def _settings(results: pd.DataFrame, where: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the settings that match: by problem, and by measure unless all are the expectation."""
    several = "measure" in results and set(results["measure"]) != {"expected"}
    for key, block in results.groupby(["problem", "measure"] if several else ["problem"], sort=False):
        name = ", ".join(map(str, key))
        if re.search(where, name):
            yield name, block
