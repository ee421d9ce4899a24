"""Ratios between methods of a league: geometric means over problems, with errors from resampled seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.league_runs import CHECKPOINTS, LAST, Record, is_stuck, last_regret

RIVALS = Path(__file__).parent / "results" / "league_rivals.json"
"""What others published: means and standard errors by problem, method and number of trials."""
STORED = "{}, as published"
"""Name of a method whose results were published and not run here."""
RESAMPLES = 2000
"""Bootstrap samples of seeds."""
SAME_OPTIMUM = 0.01
"""A published optimum is right if it differs from ours by at most this share of what a random decision loses."""
FLOOR = 1e-3
"""Of a recommendation's regret, in units of what a random decision loses: ratios of next to nothing say nothing."""


class Ratio(NamedTuple):
    """A geometric mean over problems of ratios of mean regrets."""

    value: float
    error: float
    """Standard error of its logarithm."""
    low: float
    """Lower end of the 95% interval."""
    high: float
    """Upper end of the 95% interval."""
    problems: int
    seeds: int
    """The least number of seeds on a problem."""

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.error:.2f}; {self.low:.2f} to {self.high:.2f})" if self.problems else "-"

    @property
    def brief(self) -> str:
        """Without the interval."""
        return f"{self.value:.2f} ({self.error:.2f})" if self.problems else "-"


class Published(NamedTuple):
    """A mean over seeds that are not known one by one."""

    mean: float
    error: float


Sample = Mapping[int, float] | Published
"""The regret of a method on a problem: by seed, or its mean and standard error."""


@dataclass(frozen=True)
class Standings:
    """The runs of a league by method and problem, next to what was published on the same problems."""

    runs: Mapping[tuple[str, str], Mapping[int, Record]]
    """By method and problem, then by seed."""
    optima: Mapping[str, float]
    """Ours, by problem; only of problems whose published results are shown."""

    @classmethod
    def of(cls, records: Sequence[Record], beside: bool = True) -> Standings:
        """Sort stored runs.

        Args:
            records: of the runs.
            beside: whether published results stand beside them.
        """
        found: dict[tuple[str, str], dict[int, Record]] = {}
        for record in records:
            found.setdefault((record["method"], record["problem"]), {})[record["seed"]] = record
        optima = {record["problem"]: float(record["optimum"]) for record in records if beside}
        return cls(found, {problem: best for problem, best in optima.items() if problem in published()})

    @property
    def methods(self) -> list[str]:
        """Those that were run, in the order of their first runs."""
        return list(dict.fromkeys(method for method, _ in self.runs))

    @property
    def problems(self) -> list[str]:
        """In the order of their first runs."""
        return list(dict.fromkeys(problem for _, problem in self.runs))

    @property
    def published(self) -> list[str]:
        """Names of the methods with published results."""
        names = (name for problem in self.optima for name in published()[problem]["methods"])
        return [STORED.format(name) for name in dict.fromkeys(names)]

    def random(self, problem: str) -> float:
        """What a random decision loses.

        Args:
            problem: by label.
        """
        return next(
            float(each["random"]) for (_, name), runs in self.runs.items() if name == problem for each in runs.values()
        )

    def corrected(self, problem: str) -> float | None:
        """What published regrets lack per trial because their optimum is wrong; None where it is right.

        Args:
            problem: by label.
        """
        lacking = self.optima[problem] - float(published()[problem]["optimum"])
        return None if abs(lacking) <= SAME_OPTIMUM * self.random(problem) else lacking

    def sample(self, method: str, problem: str, take: Callable[[Record], float | None], trials: int = 0) -> Sample:
        """The regret of a method on a problem.

        Args:
            method: that was run, or the name of one with published results.
            problem: by label.
            take: the regret of a run; None where it has none.
            trials: at which published results are read.
        """
        if method in self.published:
            found = published().get(problem, {}).get("methods", {}).get(method.removesuffix(STORED.format("")), {})
            if problem not in self.optima or str(trials) not in found:
                return {}
            mean, error = found[str(trials)]
            return Published(mean + trials * (self.corrected(problem) or 0.0), error)
        values = {seed: take(record) for seed, record in self.runs.get((method, problem), {}).items()}
        return {seed: value for seed, value in values.items() if value is not None}

    def cumulative(self, method: str, against: str, trials: int, problem: str | None = None) -> Ratio:
        """The cumulative regret of a method as a multiple of another's.

        Args:
            method: the numerator.
            against: the denominator.
            trials: after the initial design.
            problem: only this one; all on which both have results if not given.
        """

        def take(record: Record) -> float | None:
            found: float | None = record["cumulative"].get(str(trials))
            return found

        return self._ratio(method, against, take, trials, problem)

    def recommended(self, method: str, against: str, trials: int, problem: str | None = None) -> Ratio:
        """The regret of recommendations as a multiple of another method's.

        Args:
            method: the numerator.
            against: the denominator.
            trials: after the initial design.
            problem: only this one; all on which both have results if not given.
        """

        def take(record: Record) -> float | None:
            found = record["recommended"].get(str(trials))
            return None if found is None else float(found["regret"]) + FLOOR * float(record["random"])

        return self._ratio(method, against, take, trials, problem)

    def _ratio(
        self,
        method: str,
        against: str,
        take: Callable[[Record], float | None],
        trials: int,
        problem: str | None,
    ) -> Ratio:
        pairs = []
        for name in self.problems if problem is None else [problem]:
            top, bottom = (self.sample(each, name, take, trials) for each in (method, against))
            if isinstance(top, Mapping) and isinstance(bottom, Mapping):  # paired: the seeds that both have
                common = top.keys() & bottom.keys()
                top, bottom = ({seed: each[seed] for seed in sorted(common)} for each in (top, bottom))
            if top and bottom:
                pairs.append((top, bottom))
        return ratio(pairs)

    def stuck(self, method: str, problem: str | None = None, trials: int = 195) -> tuple[int, int]:
        """How many runs are stuck, and how many there are.

        Args:
            method: that was run.
            problem: only this one.
            trials: that a run must have.
        """
        count = total = 0
        for name in self.problems if problem is None else [problem]:
            runs = [each for each in self.runs.get((method, name), {}).values() if each["trials"] >= max(trials, LAST)]
            if runs:
                median = float(np.median([last_regret(each) for each in runs]))
                count += sum(is_stuck(each, median) for each in runs)
                total += len(runs)
        return count, total

    def last(self, method: str, problem: str) -> float:
        """The mean regret of a trial over the last trials of the runs.

        Args:
            method: that was run.
            problem: by label.
        """
        return float(np.mean([last_regret(each) for each in self.runs.get((method, problem), {}).values()]))

    def held(self, method: str, trials: int, problem: str | None = None) -> tuple[int, int]:
        """How many 90% intervals of recommendations held the truth, and how many there are.

        Args:
            method: that was run.
            trials: after the initial design.
            problem: only this one.
        """
        found = [
            run["recommended"][str(trials)]["held"]
            for (name, where), runs in self.runs.items()
            if name == method and problem in (None, where)
            for run in runs.values()
            if "held" in run["recommended"].get(str(trials), {})
        ]
        return sum(found), len(found)


def ratio(pairs: Sequence[tuple[Sample, Sample]]) -> Ratio:
    """The geometric mean over problems of ratios of means; its error by resampling seeds.

    All problems are resampled with the same seeds, because contexts depend on the seed only. Means without seeds are
    drawn from a log-normal distribution with their mean and standard error.

    Args:
        pairs: numerator and denominator of every problem.
    """
    if not pairs:
        return Ratio(np.nan, np.nan, np.nan, np.nan, 0, 0)
    rng = np.random.default_rng(0)
    samples = [sample for pair in pairs for sample in pair]
    seeds = sorted({seed for sample in samples if isinstance(sample, Mapping) for seed in sample})
    counts = (
        rng.multinomial(len(seeds), [1 / len(seeds)] * len(seeds), RESAMPLES) if seeds else np.zeros((RESAMPLES, 0))
    )
    value = float(np.mean([np.log(_mean(top) / _mean(bottom)) for top, bottom in pairs]))
    drawn = np.mean(
        [_log_means(top, seeds, counts, rng) - _log_means(bottom, seeds, counts, rng) for top, bottom in pairs], 0
    )
    low, high = np.quantile(drawn, [0.025, 0.975])
    fewest = min((len(sample) for sample in samples if isinstance(sample, Mapping)), default=0)
    error = float(np.std(drawn, ddof=1))
    return Ratio(float(np.exp(value)), error, float(np.exp(low)), float(np.exp(high)), len(pairs), fewest)


def _mean(sample: Sample) -> float:
    return sample.mean if isinstance(sample, Published) else float(np.mean(list(sample.values())))


def _log_means(sample: Sample, seeds: list[int], counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logarithms (RESAMPLES,) of resampled means."""
    if isinstance(sample, Published):
        spread = np.log1p((sample.error / sample.mean) ** 2)
        return np.asarray(np.log(sample.mean) - spread / 2 + np.sqrt(spread) * rng.standard_normal(len(counts)))
    present = np.array([seed in sample for seed in seeds])
    values = np.array([sample.get(seed, 0.0) for seed in seeds])
    sums, sizes = counts @ values, counts @ present
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), _mean(sample))
    return np.asarray(np.log(np.maximum(means, 1e-12)))


def cumulative(standings: Standings, against: str, shown: Sequence[int]) -> list[list[str]]:
    """Rows of a table of cumulative regret by method, the first row the head.

    Args:
        standings: of the league.
        against: the method in the denominators.
        shown: numbers of trials.
    """
    rows = [["method", "problems", "seeds", *(f"{n} trials" for n in shown)]]
    for method in (*standings.methods, *standings.published):
        if method == against and method in standings.published:
            continue
        ratios = [standings.cumulative(method, against, n) for n in shown]
        if any(each.problems for each in ratios):
            first = next(each for each in ratios if each.problems)
            rows.append([method, str(first.problems), str(first.seeds or "-"), *map(str, ratios)])
    return rows


def recommended(standings: Standings, against: str) -> list[list[str]]:
    """Rows of a table of recommendations, intervals, stuck runs and CPU time by method, the first row the head.

    Args:
        standings: of the league.
        against: the method in the denominators.
    """
    columns = [f"regret at {n}" for n in CHECKPOINTS] + [f"held at {n}" for n in CHECKPOINTS]
    rows = [["method", *columns, "stuck", "trials", "CPU s of asks"]]
    for method in standings.methods:
        regrets = [standings.recommended(method, against, n).brief for n in CHECKPOINTS]
        held = [share(*standings.held(method, n)) for n in CHECKPOINTS]
        stuck, total = standings.stuck(method)
        runs = [each for (name, _), found in standings.runs.items() if name == method for each in found.values()]
        seconds, trials = (np.mean([each[key] for each in runs]) for key in ("ask_cpu_s", "trials"))
        often = f"{stuck} of {total}" if total else "-"
        rows.append([method, *regrets, *held, often, f"{trials:.0f}", f"{seconds:.1f}"])
    return rows


def share(count: int, total: int) -> str:
    """A share in two digits.

    Args:
        count: of those that count.
        total: of all.
    """
    return f"{count / total:.2f}" if total else "-"


@cache
def published() -> dict[str, Any]:
    """Published results by problem: the optimum that was used, and means and standard errors by method and trials."""
    found: dict[str, Any] = json.loads(RIVALS.read_text())["problems"]
    return found
