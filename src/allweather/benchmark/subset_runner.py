"""Runs with control sets: trials until the budget is spent, each with its cost and regret (subsets, Sec. 4)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from allweather.benchmark.journal import Entry, Journal
from allweather.benchmark.run import Run
from allweather.benchmark.step import play_step
from allweather.benchmark.subset_regret import SubsetJudge
from allweather.errors import BudgetSpent
from allweather.methods.control.sets import exact
from allweather.problems import SubsetProblem
from allweather.study import Study


def execute_with_budget(run: Run, problem: SubsetProblem, judge: SubsetJudge, journal: Journal) -> pd.DataFrame:
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
    return _table(run, problem, judge, journal.entries)


def _add_initial_data(study: Study, problem: SubsetProblem, run: Run, journal: Journal) -> None:
    rng = np.random.default_rng([run.seed, 0])
    for row in problem.initial_data(rng):
        (trial,) = study.add([row])  # one by one, as a restored study takes them
        journal.write({"trial": trial.to_dict()})


def _table(run: Run, problem: SubsetProblem, judge: SubsetJudge, entries: list[Entry]) -> pd.DataFrame:
    """Return the cost and regret of each trial, and the cost spent, simple and cumulative regret after it."""
    rows = []
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
                "cost": cost,
                "spent": float(spent),
                "regret": regret,
                "simple": simple,
                "cumulative": cumulative,
                "seconds": entry["seconds"],
            }
        )
    return pd.DataFrame(rows)
