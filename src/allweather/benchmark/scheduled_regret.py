"""Regret by an objective that changes with the step, such as a worst case whose radius shrinks (phi, Eq. 6)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.benchmark.regret import Judge, Measure, find_optimum
from allweather.contexts import Reference
from allweather.problems import Problem
from allweather.schedules import Progress


@dataclass(eq=False)
class ScheduledJudge:
    """The true objective of decisions at every step, and its optimum at that step.

    The first optimum that is asked for is searched with more effort than the others, which are searched near the last
    one and among fewer new points. Optima are kept in a file if a folder is given.

    Example:
        >>> from allweather import DRO, DivergenceRadius, TotalVariation
        >>> from allweather.problems import problem
        >>> measure = Measure("Eq. 6", DRO(TotalVariation(DivergenceRadius("total-variation"))))
        >>> judge = ScheduledJudge.of(problem("hartmann3"), measure)
        >>> middle = torch.tensor([0.5, 0.5], dtype=torch.float64)
        >>> judge.regret(middle, 1) > judge.regret(middle, 50) > 0
        True
    """

    problem: Problem
    measure: Measure
    reference: Reference
    path: Path | None = None
    best: dict[int, float] = field(default_factory=dict)
    """The optimum by step."""
    near: Tensor | None = None
    """(1, d_x) the best decision found last."""

    @classmethod
    def of(cls, problem: Problem, measure: Measure, folder: Path | None = None) -> ScheduledJudge:
        """Return a judge of a problem by a measure whose objective has a schedule, with the optima kept in a folder."""
        path = None if folder is None else folder / f"optima-{problem.name}-{measure.name}.json"
        known = json.loads(path.read_text()) if path is not None and path.is_file() else {}
        return cls(
            problem, measure, measure.reference(problem), path, {int(step): best for step, best in known.items()}
        )

    def at(self, step: int) -> Judge:
        """Return the judge of one step: observations so far, at least 1."""
        progress = Progress(step, self.problem.space.decisions.columns, self.problem.space.contexts.columns)
        now = Measure(self.measure.name, self.measure.objective.at(progress), self.measure.under)
        judge = Judge(self.problem, now, self.reference, 0.0)
        if step not in self.best:
            self.best[step] = self._optimum(judge)
            self._write()
        return Judge(self.problem, now, self.reference, self.best[step])

    def regret(self, decision: Tensor, step: int) -> float:
        """Return the regret of one decision (d_x,) in the unit cube at a step."""
        return self.at(max(step, 1)).regret(decision)

    def _optimum(self, judge: Judge) -> float:
        chosen = self.problem
        if chosen.ridge is not None:
            return find_optimum(chosen, judge.measure, self.reference).value
        raw, starts, steps = (512, 16, 60) if self.near is None else (128, 4, 40)
        search = Search(
            chosen.space.decisions, chosen.constraints, chosen.candidates, raw=raw, starts=starts, steps=steps
        )
        best = search.best(judge.value, torch.Generator().manual_seed(0), self.near)
        self.near = best.decision[None]
        return best.value

    def _write(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            written = self.path.with_suffix(".tmp")
            written.write_text(json.dumps(self.best))
            written.replace(self.path)
