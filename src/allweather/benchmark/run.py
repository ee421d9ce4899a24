"""What one run is: a method on a problem, with a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from allweather.benchmark.regret import Measure
from allweather.contexts import Known
from allweather.methods import method
from allweather.methods.composition import Composition
from allweather.problems import Problem, SubsetProblem, problem
from allweather.study import Study


@dataclass(frozen=True)
class Run:
    """A method on a problem, with a seed."""

    problem: str
    method: str
    seed: int
    iterations: int | None
    """Steps after the free initial trials; with control sets the most there may be, none to go on for the budget."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the problem."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the method."""
    measures: tuple[Measure, ...] = (Measure(),)
    """With control sets it is always the expectation."""
    simple_every: int = 0
    """How often the recommendation's regret is measured too; 0 for never."""
    initial: int | None = None
    """Free initial trials, where not the problem's own number."""
    budget: float | None = None
    """With control sets: what may be spent, where not the problem's own budget."""
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

    @property
    def place(self) -> str:
        """A name for the folder of its problem's optimum, which other seeds may share."""
        drawn = f"--{self.options['seed']}" if "seed" in self.options else ""
        return f"{self.group or self.problem}{drawn}"

    def optima(self, folder: Path | None) -> Path | None:
        """Where the optimum of its problem is kept."""
        return None if folder is None else folder / "optima" / self.place

    def chosen(self) -> Problem:
        """The problem itself, changed where the run says so."""
        chosen = problem(self.problem, **self.options)
        if self.initial is not None:
            chosen = replace(chosen, initial=self.initial)
        if self.budget is not None and isinstance(chosen, SubsetProblem):
            chosen = replace(chosen, control=replace(chosen.control, budget=self.budget))
        return chosen

    def study(self, chosen: Problem) -> Study:
        """The study before its first trial; what the problem tells the learner is told."""
        composition: Composition = method(self.method, **self.settings)
        if isinstance(chosen, SubsetProblem):
            return Study(
                chosen.space,
                method=composition,
                control=chosen.control,
                context=Known(dict(chosen.laws)) if composition.context is None else None,
                surrogate=chosen.surrogate,
                seed=self.seed,
            )
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
