"""The settings of one run: a method on a problem, with a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from allweather.benchmark.from_problem import resolved
from allweather.benchmark.regret import Measure
from allweather.contexts import Known
from allweather.methods import method
from allweather.methods.composition import Composition
from allweather.problems import Problem, SubsetProblem, problem
from allweather.study import Study

PARTS = ("context", "objective", "acquisition", "surrogate")
"""Parts of a method that a run may replace."""


@dataclass(frozen=True)
class Run:
    """The settings of one run: a method on a problem, with a seed."""

    problem: str
    """Name of the problem."""
    method: str
    """Name of the method."""
    seed: int
    iterations: int | None
    """Steps after the free initial trials; with control sets a limit, or None for as many as the budget allows."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the problem."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the method, and parts in place of its own (`PARTS`); some may be `FromProblem`."""
    measures: tuple[Measure, ...] = (Measure(),)
    """What regret is measured by; with control sets always the expectation."""
    simple_every: int = 0
    """Interval of steps at which the regret of the recommendation is measured too; 0 for never."""
    initial: int | None = None
    """Free initial trials; by default the number of the problem."""
    budget: float | None = None
    """With control sets: the budget; by default that of the problem."""
    label: str = ""
    """Label of the method in tables; by default its name."""
    group: str = ""
    """Label of the problem in tables; by default its name."""

    @property
    def key(self) -> str:
        """File name of its journal."""
        name = "{problem}--{method}--{seed}".format(**self.labels)
        return name.replace("/", "_").replace(" ", "_")

    @property
    def labels(self) -> dict[str, Any]:
        """Columns that identify the run in tables."""
        return {"problem": self.group or self.problem, "method": self.label or self.method, "seed": self.seed}

    @property
    def optimum_key(self) -> str:
        """Folder name of the optimum of its problem, which runs with other seeds may share."""
        drawn = f"--{self.options['seed']}" if "seed" in self.options else ""
        return f"{self.group or self.problem}{drawn}"

    def optima(self, folder: Path | None) -> Path | None:
        """Return the folder of the optimum of its problem, inside `folder`."""
        return None if folder is None else folder / "optima" / self.optimum_key

    def build_problem(self) -> Problem:
        """Return the problem, with the initial trials and the budget of the run."""
        chosen = problem(self.problem, **self.options)
        if self.initial is not None:
            chosen = replace(chosen, initial=self.initial)
        if self.budget is not None and isinstance(chosen, SubsetProblem):
            chosen = replace(chosen, control=replace(chosen.control, budget=self.budget))
        return chosen

    def build_study(self, chosen: Problem) -> Study:
        """Return the study before its first trial, with what the problem tells the learner."""
        settings = {name: resolved(setting, chosen) for name, setting in self.settings.items()}
        parts = {name: settings.pop(name) for name in PARTS if name in settings}
        composition: Composition = method(self.method, **settings).with_parts(**parts)
        if isinstance(chosen, SubsetProblem):
            return Study(
                chosen.space,
                method=composition,
                control=chosen.control,
                context=Known(dict(chosen.laws)) if composition.context is None else None,
                surrogate=chosen.surrogate,
                initial=chosen.initial,
                seed=self.seed,
            )
        context = chosen.belief if composition.context is None else None
        return Study(
            chosen.space,
            method=composition,
            context=context,
            surrogate=chosen.surrogate,
            constraints=chosen.constraints,
            candidates=None if chosen.candidates is None else chosen.space.decisions.decode(chosen.candidates),
            initial=chosen.initial,
            seed=self.seed,
        )
