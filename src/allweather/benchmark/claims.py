"""Claims of the papers, tested on the results of a campaign, with 95% confidence intervals over seeds.

A claim that is tested in several settings holds in all of them at once with 95% confidence: the interval of each of k
tests has a confidence of 1 - 0.05 / k (Bonferroni).
"""

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
Verdict = Literal["holds", "fails", "undecided", "not tested"]
CLOSE = 0.2
"""What counts as close to the best: at most so much more regret, as a share of the best; the papers give no number."""
SIMILAR = 1.5
"""Times within this factor are similar; the papers give no number."""
LINEAR = (0.9, 1.1)
"""Growth exponents that count as linear; the papers give no number."""


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
    sentence: str = ""
    """The statement of the paper that is tested, with its place; empty if the claim itself is one."""


class Claim(Protocol):
    """Anything that can be tested on the results of a campaign."""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the claim in every setting that the results allow.

        Args:
            results: of a campaign.
            comparisons: how many tests the confidence is shared by; by default the claim's own.
        """


@dataclass(frozen=True)
class Sentence:
    """A statement of a paper about its results, in our words, with the tests of it and of nothing stronger.

    Example:
        >>> said = Sentence("drbo-kde is competitive", "Sec. 5", untested="no measure of it is given")
        >>> [(each.sentence, each.verdict) for each in said.findings(pd.DataFrame())]
        [('drbo-kde is competitive (Sec. 5)', 'not tested')]
    """

    words: str
    place: str
    """Section or figure."""
    tests: tuple[Claim, ...] = ()
    untested: str = ""
    """Why it is not tested, where it has no tests."""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the statement, all its tests together; a single finding says that it is not tested, and why."""
        said = f"{self.words} ({self.place})"
        count = sum(len(test.findings(results, 1)) for test in self.tests)
        found = [each for test in self.tests for each in test.findings(results, comparisons or count)]
        if not found:
            why = self.untested or "its runs are not there"
            nothing = float("nan")
            return [Finding(f"not tested: {why}", "", "", nothing, nothing, nothing, 0, "not tested", said)]
        return [each._replace(sentence=said) for each in found]


@dataclass(frozen=True)
class InMost:
    """Some tests hold in more than half of all their settings.

    The tests are those whose estimate is above 0 where they hold. All intervals hold at once with 95% confidence, so
    the share of settings is at least that of the tests that hold, and at most that of those that do not fail.

    Example:
        >>> runs = {"problem": ["p", "q"] * 4, "step": 1, "method": ["a"] * 4 + ["b"] * 4, "seed": [0, 0, 1, 1] * 2}
        >>> table = pd.DataFrame({**runs, "cumulative": [1.0, 1.0, 1.01, 1.01, 2.0, 2.0, 2.01, 2.02]})
        >>> InMost("a is better in most settings", (Beats("a", "b"),)).findings(table)[0].verdict
        'holds'
    """

    text: str
    tests: tuple[Claim, ...]

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the share of settings."""
        count = sum(len(test.findings(results, 1)) for test in self.tests)
        found = [each for test in self.tests for each in test.findings(results, count * (comparisons or 1))]
        if not found:
            return []
        verdicts = [each.verdict for each in found]
        share = float(np.mean([each.estimate > 0 for each in found]))
        low, high = verdicts.count("holds") / count, 1 - verdicts.count("fails") / count
        verdict: Verdict = "holds" if low > 0.5 else "fails" if high <= 0.5 else "undecided"
        seeds = min(each.seeds for each in found)
        return [Finding(self.text, f"{count} settings", "share of settings", share, low, high, seeds, verdict)]


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

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the mean of the paired differences, positive where the first is better, in every setting with both."""
        samples = []
        sign, what = (-1, "reward") if self.column == "reward" else (1, "regret")
        for setting, block in _settings(results, self.where):
            final = final_regrets(block, (self.first, self.second), self.column)
            if final is not None and len(final):
                samples.append((setting, sign * (final[self.second] - final[self.first]).to_numpy()))
        return judged(self.text, f"difference of {what}", samples, comparisons)


@dataclass(frozen=True)
class Relative:
    """One method ends with less regret than the median of others, or with more, seed by seed as in `Beats`."""

    first: str
    others: tuple[str, ...]
    """Those of them that have runs in a setting, at least two, are compared."""
    where: str = ""
    words: str = ""
    less: bool = True
    column: str = "cumulative"
    slack: float = 0.0
    """How much more regret than the median still counts as less, as a share of it."""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the mean difference to the median, positive where the claim holds, in every setting."""
        samples = []
        for setting, block in _settings(results, self.where):
            others = [name for name in self.others if name in set(block["method"])]
            final = final_regrets(block, (self.first, *others), self.column) if len(others) > 1 else None
            if final is not None and len(final):
                gain = ((1 + self.slack) * final[others].median(axis=1) - final[self.first]).to_numpy()
                samples.append((setting, gain if self.less else -gain))
        side = f"at most {100 * self.slack:.0f}% more" if self.slack else "less" if self.less else "more"
        text = f"{self.first} has {side} regret than the median of the others {self.words}"
        return judged(text.rstrip(), "difference of regret", samples, comparisons)


@dataclass(frozen=True)
class CloseToBest:
    """The regret of one method is close to that of the best of several, see `CLOSE`; seed by seed as in `Beats`."""

    first: str
    others: tuple[str, ...]
    where: str = ""
    words: str = ""
    column: str = "cumulative"

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test how far the regret is below what counts as close, in every setting with all methods."""
        samples = []
        for setting, block in _settings(results, self.where):
            final = final_regrets(block, (self.first, *self.others), self.column)
            if final is not None and len(final):
                best = final.mean().idxmin()
                samples.append((setting, ((1 + CLOSE) * final[best] - final[self.first]).to_numpy()))
        text = f"{self.first} has at most {100 * CLOSE:.0f}% more regret than the best {self.words}".rstrip()
        return judged(text, "regret below that", samples, comparisons)


@dataclass(frozen=True)
class Least:
    """Some methods have less regret than all others, each compared with each as by `Beats`."""

    methods: tuple[str, ...]
    where: str = ""
    words: str = ""
    column: str = "cumulative"
    besides: tuple[str, ...] = ()
    """Methods that are not compared: variants that the paper does not have."""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test every pair of a preferred and another method."""
        others = sorted(set(results["method"]) - set(self.methods) - set(self.besides))
        pairs = [(first, second) for first in self.methods for second in others]
        tests = [Beats(first, second, self.where, self.words, self.column) for first, second in pairs]
        count = comparisons or sum(len(test.findings(results, 1)) for test in tests)
        return [each for test in tests for each in test.findings(results, count)]


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

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the growth exponent in every setting with the method."""
        blocks = _settings(results[results["method"] == self.method], self.where)
        samples = [(setting, growth_exponents(block)) for setting, block in blocks]
        text = f"the regret of {self.method} is sublinear {self.words}".rstrip()
        known = [(setting, exponents) for setting, exponents in samples if len(exponents)]
        return judged(text, "growth exponent", known, comparisons, 1.0, below=True)


@dataclass(frozen=True)
class Faster:
    """The steps of one method take less CPU time than those of another, by a factor if one is given."""

    first: str
    second: str
    factor: float = 1.0
    where: str = ""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the ratio of the times until the last step that all runs reached, by its logarithm seed by seed."""
        times = "takes less time than" if self.factor == 1 else f"is {self.factor:g} times faster than"
        samples = []
        for setting, block in _settings(results, self.where):
            both = block[block["method"].isin([self.first, self.second])]
            reached = both.groupby(["method", "seed"])["step"].max().min()
            common = both[both["step"] <= reached]
            wide = common.pivot_table(index="seed", columns="method", values="seconds", aggfunc="sum")
            if {self.first, self.second} <= set(wide):
                samples.append((setting, np.log((wide[self.second] / wide[self.first]).dropna().to_numpy())))
        text, bound = f"{self.first} {times} {self.second}", float(np.log(self.factor))
        found = judged(text, "ratio of times", samples, comparisons, bound)
        return [each._replace(estimate=_exp(each.estimate), low=_exp(each.low), high=_exp(each.high)) for each in found]


@dataclass(frozen=True)
class SimilarTime:
    """Two methods take similar time: their ratio is within `SIMILAR` and its inverse."""

    first: str
    second: str
    where: str = ""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the ratio of times, second over first, in every setting with both."""
        tests = Faster(self.first, self.second, where=self.where).findings(results, comparisons)
        text = f"{self.first} and {self.second} take times within a factor of {SIMILAR:g}"
        return [each._replace(claim=text, verdict=_within(each, 1 / SIMILAR, SIMILAR)) for each in tests]


@dataclass(frozen=True)
class Linear:
    """The cumulative regret of a method grows linearly: the growth exponent of `Sublinear` is close to 1."""

    method: str
    where: str = ""

    def findings(self, results: pd.DataFrame, comparisons: int | None = None) -> list[Finding]:
        """Test the growth exponent in every setting with the method."""
        tests = Sublinear(self.method, self.where).findings(results, comparisons)
        text = f"the regret of {self.method} grows with an exponent between {LINEAR[0]:g} and {LINEAR[1]:g}"
        return [each._replace(claim=text, verdict=_within(each, *LINEAR)) for each in tests]


def exactly(claim: str, setting: str, quantity: str, estimate: float, holds: bool, sentence: str = "") -> Finding:
    """Return the finding of something that is computed without random numbers.

    Args:
        claim: in words.
        setting: what it is about.
        quantity: what was computed.
        estimate: its value.
        holds: whether the claim does.
        sentence: the statement of the paper, with its place.
    """
    nothing = float("nan")
    verdict: Verdict = "holds" if holds else "fails"
    return Finding(claim, setting, quantity, estimate, nothing, nothing, 0, verdict, sentence)


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


def describe_findings(findings: pd.DataFrame) -> list[str]:
    """Return for each claim in how many settings it holds, fails and is undecided, with the range of the estimates."""
    sentences = []
    for (sentence, claim), block in findings.groupby(["sentence", "claim"], sort=False):
        said = f"{sentence}: " if str(sentence) else ""
        if (block["verdict"] == "not tested").all():
            sentences.append(f"{said}{claim}")
            continue
        counts = block["verdict"].value_counts()
        verdicts = ", ".join(f"{kind} in {counts[kind]}" for kind in ("holds", "fails", "undecided") if kind in counts)
        low, high = block["estimate"].min(), block["estimate"].max()
        values = f"{low:.3g}" if len(block) == 1 else f"{low:.3g} to {high:.3g}"
        plural = "setting" if len(block) == 1 else "settings"
        sentences.append(f"{said}{claim}: {verdicts} of {len(block)} {plural} ({block['quantity'].iloc[0]} {values})")
    return sentences


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


def verdict_of(findings: pd.DataFrame) -> Verdict:
    """Return what the findings of one sentence say together: it holds where all of them do, and fails where one does.

    Args:
        findings: some rows of `check_claims`.
    """
    verdicts = set(findings["verdict"])
    known: tuple[Verdict, ...] = ("fails", "undecided", "holds")
    return next((each for each in known if each in verdicts), "not tested")


def confidence_interval(values: np.ndarray, comparisons: int = 1) -> tuple[float, float]:
    """Return the interval of a mean by Student's t; NaN with fewer than two values.

    Args:
        values: (n,) whose mean is estimated.
        comparisons: of how many intervals it is one that hold together with 95% confidence.
    """
    if len(values) < 2:
        return float("nan"), float("nan")
    spread = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    tail = (1 - CONFIDENCE) / 2 / comparisons
    reach = -float(scipy.stats.t.ppf(tail, len(values) - 1)) * spread
    return float(np.mean(values)) - reach, float(np.mean(values)) + reach


def judged(
    claim: str,
    quantity: str,
    samples: Sequence[tuple[str, np.ndarray]],
    comparisons: int | None = None,
    bound: float = 0.0,
    below: bool = False,
) -> list[Finding]:
    """Test whether the mean of a sample is above a bound, or below it, in each of several settings at once.

    Args:
        claim: in words.
        quantity: what is estimated.
        samples: a setting, and its values (n,) over seeds.
        comparisons: how many tests the confidence is shared by; by default these.
        bound: of the mean.
        below: whether the claim is that the mean is below it.
    """
    count = comparisons or len(samples)
    return [_finding(claim, setting, quantity, values, bound, below, count) for setting, values in samples]


def _finding(
    claim: str, setting: str, quantity: str, values: np.ndarray, bound: float, below: bool, comparisons: int
) -> Finding:
    """Test whether the mean of values (n,) is above a bound, or below it."""
    low, high = confidence_interval(values, comparisons)
    above, under = low > bound, high < bound
    verdict: Verdict = "undecided"
    if above or under:
        verdict = "holds" if under == below else "fails"
    return Finding(claim, setting, quantity, float(np.mean(values)), low, high, len(values), verdict)


def _within(found: Finding, low: float, high: float) -> Verdict:
    """Return whether an interval is inside of a range."""
    if low <= found.low and found.high <= high:
        return "holds"
    return "fails" if found.high < low or found.low > high else "undecided"


def _exp(value: float) -> float:
    return float(np.exp(value))


def _settings(results: pd.DataFrame, where: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the settings that match: by problem, and by measure unless all are the expectation."""
    several = "measure" in results and set(results["measure"]) != {"expected"}
    for key, block in results.groupby(["problem", "measure"] if several else ["problem"], sort=False):
        name = ", ".join(map(str, key))
        if re.search(where, name):
            yield name, block
