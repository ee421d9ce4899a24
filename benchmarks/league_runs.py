"""Runs of the leagues: one method on one problem with one seed, kept as a JSON line with the regret of every trial."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

import allweather as aw
from allweather._utils.timing import threads
from allweather.acquisition.optimize import Search
from allweather.benchmark.regret import Judge, Measure
from allweather.objectives import Expectation
from allweather.problems import Problem
from benchmarks.paired import OPTIMA, Builder, read
from benchmarks.stored_runs import origin

CHECKPOINTS = (10, 30, 60)
"""Trials after the initial design at which a recommendation is judged; also after the last one."""
TOTALS = (10, 30, 60, 100, 195)
"""Trials after the initial design at which the cumulative regret is kept; also after the last one."""
RANDOM_DECISIONS = 256
"""Decisions that the mean regret of a random one is computed from."""
LAST = 50
"""Trials at the end of a run that say whether it is stuck."""
STUCK_TIMES, STUCK_SHARE = 3.0, 0.01
"""A run is stuck if its mean regret over the last trials is more than so many times the median run's on the problem,
and more than this share of what a random decision loses."""
Record = dict[str, Any]
"""One run as it is stored."""


class Recommended(NamedTuple):
    """A decision, and the ends of the 90% interval of its mean outcome where the method has one."""

    decision: Mapping[str, Any]
    interval: tuple[float, float] | None = None


class Player(Protocol):
    """A method at work: it is asked for a decision and told what came of it."""

    def ask(self) -> Mapping[str, Any]:
        """Return the next decision."""

    def tell(self, context: Mapping[str, Any], value: float) -> None:
        """Report the context and the outcome of the last decision."""

    def recommend(self) -> Recommended:
        """Return the decision that looks best."""


Entrant = Callable[[Problem, int], Player]
"""A problem and a seed to a method that has seen nothing."""


@dataclass
class StudyPlayer:
    """A study of this library."""

    study: aw.Study
    trial: Any = None

    def ask(self) -> Mapping[str, Any]:
        """Return the next decision."""
        self.trial = self.study.ask()
        decision: Mapping[str, Any] = self.trial.decision
        return decision

    def tell(self, context: Mapping[str, Any], value: float) -> None:
        """Report the context and the outcome of the last decision."""
        self.study.tell(self.trial, value, context=context)

    def recommend(self) -> Recommended:
        """Return the study's recommendation, with an interval if it is one of the mean outcome."""
        outlook = self.study.outlook()
        if not isinstance(outlook.belief.objective, Expectation):
            return Recommended(outlook.decision)
        low, _, high = outlook.chosen_objective
        return Recommended(outlook.decision, (low, high))


def entrant(build: Builder) -> Entrant:
    """The studies of a builder as entrants.

    Args:
        build: makes a study without trials.
    """
    return lambda problem, seed: StudyPlayer(build(problem, seed))


@dataclass(frozen=True, eq=False)
class League:
    """Problems by label, and where their runs and optima are kept."""

    name: str
    problems: Mapping[str, Callable[[], Problem]] = field(repr=False)
    trials: int
    """Decisions that a method chooses, after the problem's initial design."""
    seeds: range
    """Held-out seeds: those of the reports."""
    results: Path
    _judges: dict[str, tuple[Judge, float]] = field(default_factory=dict, init=False, repr=False)

    def judge(self, label: str) -> Judge:
        """The judge of a problem's decisions by their true mean outcome; optima are kept.

        Args:
            label: of the problem.
        """
        return self._judged(label)[0]

    def random_loss(self, label: str) -> float:
        """The mean regret of a random decision.

        Args:
            label: of the problem.
        """
        return self._judged(label)[1]

    def _judged(self, label: str) -> tuple[Judge, float]:
        if label not in self._judges:
            chosen = self.problems[label]()
            judge = Judge.of(chosen, Measure(), OPTIMA / self.name / label.replace(" ", "-"))
            search = Search(chosen.space.decisions, chosen.constraints, chosen.candidates)
            decisions = search.sample(RANDOM_DECISIONS, torch.Generator().manual_seed(0))
            with torch.no_grad():
                self._judges[label] = judge, judge.best - float(judge.value(decisions).mean())
        return self._judges[label]

    def execute(self, label: str, entrant: Entrant, seed: int, trials: int) -> Record:
        """Carry out a run.

        Args:
            label: of the problem.
            entrant: makes the method.
            seed: of the run; contexts and noise depend on it and on the number of the trial only.
            trials: decisions that the method chooses.

        Returns:
            The regret of every trial after the initial design, and what became of recommendations.
        """
        judge = self.judge(label)
        chosen, player, regrets = judge.problem, entrant(judge.problem, seed), list[float]()
        recommended: dict[str, Record] = {}
        seconds = recommending = 0.0
        for number in range(chosen.initial + trials):
            rng = np.random.default_rng([seed, number])  # nature's, whatever the method does
            context, started = chosen.draw(rng), time.process_time()
            decision = player.ask()
            seconds += time.process_time() - started
            player.tell(context, chosen.observe(decision, context, rng))
            step = number + 1 - chosen.initial
            if step > 0:
                regrets.append(_regret(judge, decision))
            if step in (*CHECKPOINTS, trials):
                started = time.process_time()
                recommended[str(step)] = _judged(judge, player.recommend())
                recommending += time.process_time() - started
        total = np.cumsum(regrets)
        return {
            "problem": label,
            "seed": seed,
            "trials": trials,
            "cumulative": {str(n): _short(total[n - 1], 6) for n in sorted({*TOTALS, trials}) if n <= trials},
            "regrets": [_short(each, 3) for each in regrets],
            "random": _short(self.random_loss(label), 4),
            "optimum": float(f"{judge.best:.8g}"),
            "recommended": recommended,
            "ask_cpu_s": round(seconds, 2),
            "recommend_cpu_s": round(recommending, 2),
            **origin(),
        }

    def campaign(
        self,
        problems: Iterable[str],
        entrants: Mapping[str, Entrant],
        seeds: Iterable[int],
        trials: Mapping[str, int],
        path: Path,
    ) -> list[Record]:
        """Run what a file lacks, seed by seed, and append it.

        Args:
            problems: by label.
            entrants: by the name of their method.
            seeds: of the runs.
            trials: of each method's runs.
            path: of the results. A run that is stored with fewer trials is repeated.
        """
        stored = {identity(each): each for each in stored_runs(path)}
        labels = list(problems)
        for seed in seeds:
            for method, entrant in entrants.items():
                for label in labels:
                    known = stored.get((label, method, seed))
                    if known is not None and known["trials"] >= trials[method]:
                        continue
                    with threads(1):
                        record = {"method": method, **self.execute(label, entrant, seed, trials[method])}
                    append(path, record)
                    stored[identity(record)] = record
                    last = next(reversed(record["cumulative"].values()))
                    print(label, method, seed, f"regret {last:.4g}", f"{record['ask_cpu_s']} CPU s", flush=True)
        return list(stored.values())


def stored_runs(path: Path) -> list[Record]:
    """The runs in a file; of a run that was stored twice, the longer.

    Args:
        path: of the results.
    """
    found: dict[tuple[str, str, int], Record] = {}
    for record in read(path):
        key = identity(record)
        if key not in found or record["trials"] >= found[key]["trials"]:
            found[key] = record
    return list(found.values())


def identity(record: Record) -> tuple[str, str, int]:
    """Problem, method and seed.

    Args:
        record: of a run.
    """
    return record["problem"], record["method"], record["seed"]


def append(path: Path, record: Record) -> None:
    """Write a record on a line of its own, also after a line that was cut off.

    Args:
        path: of the results.
        record: of a run.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.is_file() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a") as file:
        file.write(("\n" if torn else "") + json.dumps(record) + "\n")


def is_stuck(record: Record, median: float) -> bool:
    """Whether a run stays at a bad decision.

    Args:
        record: of the run.
        median: of `last_regret` over the runs of the same method on the same problem.
    """
    last = last_regret(record)
    return last > STUCK_TIMES * median and last > STUCK_SHARE * float(record["random"])


def last_regret(record: Record) -> float:
    """The mean regret over the last trials of a run.

    Args:
        record: of the run.
    """
    return float(np.mean(record["regrets"][-LAST:]))


def _judged(judge: Judge, recommended: Recommended) -> Record:
    """The regret of a recommendation, and whether its interval held the true mean outcome."""
    regret, found = _regret(judge, recommended.decision), dict[str, Any]()
    if recommended.interval is not None:
        (low, high), truth = recommended.interval, judge.best - regret
        slack = 1e-9 * (1 + abs(truth))
        found = {"held": bool(low - slack <= truth <= high + slack), "width": _short(high - low, 4)}
    return {"regret": _short(regret, 6), **found}


def _regret(judge: Judge, decision: Mapping[str, Any]) -> float:
    return judge.regret(judge.problem.space.decisions.encode(decision)[0])


def _short(value: float, digits: int) -> float:
    return float(f"{max(float(value), 0.0):.{digits}g}")
