"""One run of a method on a problem, with a journal that a killed run goes on from."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from allweather.benchmark.journal import Entry, Journal
from allweather.benchmark.plays import played
from allweather.benchmark.regret import Judge
from allweather.benchmark.run import Run
from allweather.benchmark.subset_regret import SubsetJudge
from allweather.errors import require
from allweather.problems import Problem, SubsetProblem
from allweather.study import Study

__all__ = ["Run", "execute", "prepare"]


def execute(run: Run, folder: Path | None = None) -> pd.DataFrame:
    """Carry out a run, from where its journal in `folder` ends; one row per step and measure.

    Steps are counted from 1 after the problem's free initial trials. A problem with control sets is played until its
    budget is spent.
    """
    chosen = run.chosen()
    journal = Journal.read(None if folder is None else folder / "journals" / f"{run.key}.jsonl")
    if isinstance(chosen, SubsetProblem):
        return played(run, chosen, SubsetJudge.of(chosen, run.optima(folder)), journal)
    require(run.iterations is not None, f"Run({run.problem!r}, iterations=...)", "be a number", run.iterations)
    judges = [Judge.of(chosen, measure, run.optima(folder)) for measure in run.measures]
    study = run.study(chosen)
    study.restore(journal.trials)
    while len(journal.entries) < chosen.initial + (run.iterations or 0):
        journal.write(_step(study, chosen, judges, run, len(journal.entries)))
    return _table(run, chosen, journal.entries)


def prepare(run: Run, folder: Path) -> None:
    """Find the optimum of a run's problem and keep it in `folder`, before workers would each look for it."""
    chosen = run.chosen()
    if isinstance(chosen, SubsetProblem):
        SubsetJudge.of(chosen, run.optima(folder))
        return
    for measure in run.measures:
        Judge.of(chosen, measure, run.optima(folder))


def _step(study: Study, chosen: Problem, judges: list[Judge], run: Run, number: int) -> Entry:
    rng = np.random.default_rng([run.seed, number])  # nature's, whatever the method does
    context = chosen.draw(rng)
    started = time.perf_counter()
    trial = study.ask()
    seconds = time.perf_counter() - started
    value = chosen.observe(trial.decision, context, rng)
    told = study.tell(trial, value, context=context)
    decision = chosen.space.decisions.encode(trial.decision)[0]
    entry: Entry = {
        "trial": asdict(told),
        "seconds": seconds,
        "regret": [judge.regret(decision) for judge in judges],
    }
    step = number + 1 - chosen.initial
    if run.simple_every and step > 0 and (step % run.simple_every == 0 or step == run.iterations):
        best = chosen.space.decisions.encode(study.recommend().decision)[0]
        entry["simple"] = [judge.regret(best) for judge in judges]
    return entry


def _table(run: Run, chosen: Problem, entries: list[Entry]) -> pd.DataFrame:
    rows = []
    for place, measure in enumerate(run.measures):
        total = 0.0
        for step, entry in enumerate(entries[chosen.initial :], start=1):
            total += entry["regret"][place]
            rows.append(
                {
                    "problem": run.group or run.problem,
                    "method": run.label or run.method,
                    "seed": run.seed,
                    "measure": measure.name,
                    "step": step,
                    "regret": entry["regret"][place],
                    "cumulative": total,
                    "simple": entry["simple"][place] if "simple" in entry else np.nan,
                    "seconds": entry["seconds"],
                }
            )
    return pd.DataFrame(rows)
