"""One run of a method on a problem, with a journal that a killed run goes on from."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allweather.benchmark.regret import Judge, Measure
from allweather.composition import Composition
from allweather.methods import method
from allweather.problems import Problem, problem
from allweather.study import Study
from allweather.surrogates import Hyperparameters
from allweather.trials import Trial


@dataclass(frozen=True)
class Run:
    """A method on a problem, with a seed."""

    problem: str
    method: str
    seed: int
    iterations: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the problem."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the method."""
    measures: tuple[Measure, ...] = (Measure(),)
    simple_every: int = 0
    """How often the recommendation's regret is measured too; 0 for never."""
    initial: int | None = None
    """Free initial trials, where not the problem's own number."""
    label: str = ""
    """What the method is called in tables; its name if not given."""
    group: str = ""
    """What the problem is called in tables; its name if not given."""

    @property
    def key(self) -> str:
        """A name for its journal."""
        return f"{self.group or self.problem}--{self.label or self.method}--{self.seed}".replace("/", "_").replace(
            " ", "_"
        )

    def study(self, chosen: Problem) -> Study:
        """The study before its first trial; what the problem tells the learner is told."""
        composition: Composition = method(self.method, **self.settings)
        told = chosen.belief if composition.context is None else None
        return Study(
            chosen.space,
            method=composition,
            context=told,
            surrogate=chosen.surrogate,
            constraints=chosen.constraints,
            candidates=None if chosen.candidates is None else chosen.space.decisions.decode(chosen.candidates),
            initial=chosen.initial,
            seed=self.seed,
        )


def execute(run: Run, folder: Path | None = None) -> pd.DataFrame:
    """Carry out a run, from where its journal in `folder` ends; one row per step and measure.

    Steps are counted from 1 after the problem's free initial trials.
    """
    chosen = problem(run.problem, **run.options)
    if run.initial is not None:
        chosen = replace(chosen, initial=run.initial)
    optima = None if folder is None else folder / "optima" / (run.group or run.problem)
    judges = [Judge.of(chosen, measure, optima) for measure in run.measures]
    study = run.study(chosen)
    journal = None if folder is None else folder / "journals" / f"{run.key}.jsonl"
    entries = [] if journal is None else _read(journal)
    study.restore([_trial(entry) for entry in entries])
    while len(entries) < chosen.initial + run.iterations:
        entries.append(_step(study, chosen, judges, run, len(entries)))
        if journal is not None:
            _append(journal, entries[-1])
    return _table(run, chosen, entries)


def _step(study: Study, chosen: Problem, judges: list[Judge], run: Run, number: int) -> dict[str, Any]:
    rng = np.random.default_rng([run.seed, number])  # nature's, whatever the method does
    context = chosen.draw(rng)
    started = time.perf_counter()
    trial = study.ask()
    seconds = time.perf_counter() - started
    value = chosen.observe(trial.decision, context, rng)
    told = study.tell(trial, value, context=context)
    decision = chosen.space.decisions.encode(trial.decision)[0]
    entry: dict[str, Any] = {
        "trial": asdict(told),
        "seconds": seconds,
        "regret": [judge.regret(decision) for judge in judges],
    }
    step = number + 1 - chosen.initial
    if run.simple_every and step > 0 and (step % run.simple_every == 0 or step == run.iterations):
        best = chosen.space.decisions.encode(study.recommend().decision)[0]
        entry["simple"] = [judge.regret(best) for judge in judges]
    return entry


def _table(run: Run, chosen: Problem, entries: list[dict[str, Any]]) -> pd.DataFrame:
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


def _append(journal: Path, entry: dict[str, Any]) -> None:
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _read(journal: Path) -> list[dict[str, Any]]:
    """The entries so far; a last line that was cut off by a crash is taken back."""
    if not journal.is_file():
        return []
    text = journal.read_text()
    whole, _, torn = text.rpartition("\n")
    if torn:
        journal.write_text(whole + "\n" if whole else "")
    return [json.loads(line) for line in whole.splitlines()]


def _trial(entry: dict[str, Any]) -> Trial:
    fields = dict(entry["trial"])
    fields["values"] = tuple(fields["values"])
    if fields["fitted"] is not None:
        fitted = dict(fields["fitted"])
        fields["fitted"] = Hyperparameters(**{**fitted, "lengthscales": tuple(fitted["lengthscales"])})
    return Trial(**fields)
