"""A run with control sets: plays until the budget is spent, each with its cost and its regret (subsets, Sec. 4)."""

from __future__ import annotations

import time
from dataclasses import asdict

import numpy as np
import pandas as pd

from allweather.benchmark.journal import Entry, Journal
from allweather.benchmark.run import Run
from allweather.benchmark.subset_regret import SubsetJudge
from allweather.errors import BudgetSpent
from allweather.methods.control.sets import exact
from allweather.problems import SubsetProblem
from allweather.study import Study


def played(run: Run, chosen: SubsetProblem, judge: SubsetJudge, journal: Journal) -> pd.DataFrame:
    """Carry out a run, from where its journal ends; one row per play, counted from 1 after the initial data."""
    study = run.study(chosen)
    if len(journal.entries) < chosen.initial:  # not even the initial data were complete: they cost nothing
        journal.clear()
        _begin(study, chosen, run, journal)
    else:
        study.restore(journal.trials)
    most = np.inf if run.iterations is None else chosen.initial + run.iterations
    while len(journal.entries) < most:
        try:
            journal.write(_play(study, chosen, judge, run, len(journal.entries)))
        except BudgetSpent:
            break
    return _table(run, chosen, judge, journal.entries)


def _begin(study: Study, chosen: SubsetProblem, run: Run, journal: Journal) -> None:
    rng = np.random.default_rng([run.seed, 0])
    for row in chosen.initial_data(rng):
        (trial,) = study.add([row])  # one by one, as a study that is restored takes them
        journal.write({"trial": asdict(trial)})


def _play(study: Study, chosen: SubsetProblem, judge: SubsetJudge, run: Run, number: int) -> Entry:
    rng = np.random.default_rng([run.seed, number])  # nature's, whatever the method does
    natural = chosen.draw(rng)
    started = time.perf_counter()
    trial = study.ask()
    seconds = time.perf_counter() - started
    happened = {name: natural[name] for name in trial.left}
    value = chosen.observe(trial.decision, happened, rng)
    told = study.tell(trial, value, context=happened)
    return {"trial": asdict(told), "seconds": seconds, "regret": judge.regret(trial.decision), "cost": trial.cost}


def _table(run: Run, chosen: SubsetProblem, judge: SubsetJudge, entries: list[Entry]) -> pd.DataFrame:
    """One row per play: its cost and regret, and after it what was spent, the least regret, and their weighted sum."""
    rows = []
    spent, simple, cumulative = exact(0.0), np.inf, 0.0
    for step, entry in enumerate(entries[chosen.initial :], start=1):
        cost, regret = entry["cost"], entry["regret"]
        spent += exact(cost)
        simple = min(simple, regret)
        cumulative += cost * regret
        names = frozenset(entry["trial"]["decision"])
        rows.append(
            {
                "problem": run.group or run.problem,
                "method": run.label or run.method,
                "seed": run.seed,
                "step": step,
                "control": ", ".join(name for name in chosen.space.variables if name in names),
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
