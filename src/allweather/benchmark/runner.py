"""Execution of runs, with a journal that an interrupted run is resumed from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor

from allweather.benchmark.journal import Entry, Journal
from allweather.benchmark.regret import Judge, Measure
from allweather.benchmark.run import Run
from allweather.benchmark.scheduled_regret import ScheduledJudge
from allweather.benchmark.step import play_step
from allweather.benchmark.subset_regret import SubsetJudge
from allweather.benchmark.subset_runner import execute_with_budget
from allweather.errors import require
from allweather.problems import Problem, SubsetProblem
from allweather.study import Study

__all__ = ["Run", "execute", "prepare"]


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
    journal = Journal.read(None if folder is None else folder / "journals" / f"{run.key}.jsonl")
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
