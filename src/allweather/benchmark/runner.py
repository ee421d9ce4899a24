"""Execution of runs: ask, observe, tell until iterations or budget are spent; with a journal to resume from."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from allweather.benchmark.regret import Judge, Measure, ScheduledJudge, SubsetJudge
from allweather.benchmark.run import Run
from allweather.errors import BudgetSpent, require
from allweather.methods.control.sets import exact
from allweather.problems import Problem, SubsetProblem
from allweather.study import Study
from allweather.trials import Trial


def execute(run: Run, folder: Path | None = None) -> pd.DataFrame:
    """Carry out a run, resumed from its journal if there is one.

    Steps are counted from 1 after the problem's free initial trials. A problem with control sets runs until its budget
    is spent.

    Args:
        run: what to run.
        folder: of journals and optima; None to keep neither.

    Returns:
        One row per step and measure.

    Raises:
        InvalidInput: if a run without control sets has no number of iterations.
    """
    problem = run.build_problem()
    journal = RunJournal.read(None if folder is None else folder / "journals" / f"{run.key}.jsonl")
    if isinstance(problem, SubsetProblem):
        return execute_with_budget(run, problem, SubsetJudge.of(problem, run.optima(folder)), journal)
    require(run.iterations is not None, f"Run({run.problem!r}, iterations=...)", "be a number", run.iterations)
    judges = [_judge(problem, measure, run.optima(folder)) for measure in run.measures]
    study = run.build_study(problem)
    study.restore(journal.trials)
    while len(journal.entries) < problem.initial + (run.iterations or 0):
        journal.write(_step(study, problem, judges, run, len(journal.entries)))
    return _table(run, problem, journal.entries)


def prepare(run: Run, folder: Path) -> None:
    """Find the optimum of a run's problem once, before parallel workers would each search for it.

    Args:
        run: its problem and measures are used.
        folder: where the optimum is kept.
    """
    problem = run.build_problem()
    if isinstance(problem, SubsetProblem):
        SubsetJudge.of(problem, run.optima(folder))
        return
    for measure in run.measures:
        judge = _judge(problem, measure, run.optima(folder))
        if isinstance(judge, ScheduledJudge):
            for number in range(problem.initial, problem.initial + (run.iterations or 0)):
                judge.at(number)


def _judge(problem: Problem, measure: Measure, folder: Path | None) -> Judge | ScheduledJudge:
    measure = measure.on(problem)
    kind = ScheduledJudge if measure.scheduled else Judge
    return kind.of(problem, measure, folder)


def _regret(judge: Judge | ScheduledJudge, decision: Tensor, number: int) -> float:
    """Return the regret of a decision (d_x,) at the trial with this number, from 0."""
    return judge.regret(decision, number) if isinstance(judge, ScheduledJudge) else judge.regret(decision)


def _step(study: Study, problem: Problem, judges: list[Judge | ScheduledJudge], run: Run, number: int) -> Entry:
    trial, seconds = play_step(study, problem, run.seed, number)
    decision = problem.space.decisions.encode(trial.decision)[0]
    regret = [_regret(judge, decision, number) for judge in judges]
    entry: Entry = {"trial": trial.to_dict(), "seconds": seconds, "regret": regret}
    step = number + 1 - problem.initial
    if run.simple_every and step > 0 and (step % run.simple_every == 0 or step == run.iterations):
        best = problem.space.decisions.encode(study.recommend().decision)[0]
        entry["simple"] = [_regret(judge, best, number) for judge in judges]
    return entry


def _table(run: Run, problem: Problem, entries: list[Entry]) -> pd.DataFrame:
    rows = []
    last = problem.initial + (run.iterations or 0)  # an earlier run with the same journal may have gone further
    for place, measure in enumerate(run.measures):
        total = reward = 0.0
        for step, entry in enumerate(entries[problem.initial : last], start=1):
            total += entry["regret"][place]
            reward += entry["trial"]["values"][0]
            rows.append(
                {
                    **run.labels,
                    "measure": measure.name,
                    "step": step,
                    "regret": entry["regret"][place],
                    "cumulative": total,
                    "reward": reward,
                    "simple": entry["simple"][place] if "simple" in entry else np.nan,
                    "seconds": entry["seconds"],
                    "decision": json.dumps(entry["trial"]["decision"]),
                }
            )
    return pd.DataFrame(rows)


def execute_with_budget(run: Run, problem: SubsetProblem, judge: SubsetJudge, journal: RunJournal) -> pd.DataFrame:
    """Carry out a run, resumed from its journal.

    Args:
        run: what to run.
        problem: of the run.
        judge: of the regret.
        journal: where trials are written.

    Returns:
        One row per trial, counted from 1 after the initial data.
    """
    study = run.build_study(problem)
    if len(journal.entries) < problem.initial:  # incomplete initial data are drawn again: they cost nothing
        journal.clear()
        _add_initial_data(study, problem, run, journal)
    else:
        study.restore(journal.trials)
    most = np.inf if run.iterations is None else problem.initial + run.iterations
    while len(journal.entries) < most:
        try:
            trial, seconds = play_step(study, problem, run.seed, len(journal.entries))
        except BudgetSpent:
            break
        regret = judge.regret(trial.decision)
        journal.write({"trial": trial.to_dict(), "seconds": seconds, "regret": regret, "cost": trial.cost})
    return _table_by_cost(run, problem, judge, journal.entries)


def _add_initial_data(study: Study, problem: SubsetProblem, run: Run, journal: RunJournal) -> None:
    rng = np.random.default_rng([run.seed, 0])
    for row in problem.initial_data(rng):
        (trial,) = study.add([row])  # one by one, as a restored study takes them
        journal.write({"trial": trial.to_dict()})


def _table_by_cost(run: Run, problem: SubsetProblem, judge: SubsetJudge, entries: list[Entry]) -> pd.DataFrame:
    """Return the cost and regret of each trial, and the cost spent, simple and cumulative regret after it."""
    rows = []
    dearest = max(each.exact_cost for each in problem.control.on(problem.space))
    spent, simple, cumulative = exact(0.0), np.inf, 0.0
    for step, entry in enumerate(entries[problem.initial :], start=1):
        cost, regret = entry["cost"], entry["regret"]
        spent += exact(cost)
        simple = min(simple, regret)
        cumulative += cost * regret
        names = frozenset(entry["trial"]["decision"])
        rows.append(
            {
                **run.labels,
                "step": step,
                "control": ", ".join(name for name in problem.space.variables if name in names),
                "optimal": names == judge.optimal,
                "cheap": exact(cost) < dearest,
                "cost": cost,
                "spent": float(spent),
                "regret": regret,
                "simple": simple,
                "cumulative": cumulative,
                "seconds": entry["seconds"],
            }
        )
    return pd.DataFrame(rows)


class Step(NamedTuple):
    """A trial after it was told, and the CPU seconds of its `ask`."""

    trial: Trial
    seconds: float


def play_step(study: Study, problem: Problem, seed: int, number: int) -> Step:
    """Carry out one trial.

    The random numbers of the context and the noise depend on seed and number only, not on the method.

    Args:
        study: asked and told.
        problem: draws the context and the outcome.
        seed: of the run.
        number: of the trial.
    """
    rng = np.random.default_rng([seed, number])
    context = problem.draw(rng)
    started = time.process_time()
    trial = study.ask()
    seconds = time.process_time() - started
    if isinstance(problem, SubsetProblem):
        context = {name: context[name] for name in trial.left}
    value = problem.observe(trial.decision, context, rng)
    return Step(study.tell(trial, value, context=context), seconds)


Entry = dict[str, Any]
"""A trial as plain data, under `trial`, and what was measured of it."""


@dataclass
class RunJournal:
    """The entries of a run, kept in a file if there is one."""

    path: Path | None = None
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path | None) -> RunJournal:
        """The entries so far; a last line that was cut off by a crash is taken back."""
        if path is None or not path.is_file():
            return cls(path)
        whole, _, torn = path.read_text().rpartition("\n")
        if torn:
            path.write_text(whole + "\n" if whole else "")
        return cls(path, [json.loads(line) for line in whole.splitlines()])

    def write(self, entry: Entry) -> None:
        """One more entry."""
        self.entries.append(entry)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def clear(self) -> None:
        """Start over."""
        self.entries.clear()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    @property
    def trials(self) -> list[Trial]:
        """The trials, as `Study.restore` takes them."""
        return [Trial.from_dict(entry["trial"]) for entry in self.entries]
