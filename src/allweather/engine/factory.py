"""From the arguments of a study to the engine that carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.engine.controlled import ControlledEngine
from allweather.engine.engine import Engine
from allweather.errors import require, require_count
from allweather.methods import method as named_method
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.space import LinearConstraint, Space

COLUMNS = ("value", "state", "trial", "believed", "worst", "left", "cost", "control", "frontier")
"""Columns of tables that have a column per variable too."""


def check_space(space: object) -> None:
    """Refuse what a study cannot be about."""
    require(isinstance(space, Space), "Study(space=...)", "be a Space", space)
    assert isinstance(space, Space)
    require(len(space.decisions) > 0, "Study(space=...)", "have a variable to decide", space)
    taken = [name for name in COLUMNS if name in space.variables]
    require(not taken, "Study(space=...)", "not name a variable like a column of the table of trials", taken)


def resolve_method(method: str | Composition | None, caller: str = "Study") -> Composition:
    """Return a method by name, or a composition as it is.

    Args:
        method: a name, a composition, or None for the default.
        caller: what the user called, for errors.
    """
    if method is None:
        return Composition()
    if isinstance(method, str):
        return named_method(method)
    require(isinstance(method, Composition), f"{caller}(method=...)", "be a method's name or a composition", method)
    return method


@dataclass(frozen=True, eq=False)
class EngineFactory:
    """What every decision must meet, and how a study begins."""

    space: Space
    sign: int
    """1 where larger outcomes are better, -1 where smaller ones are."""
    constraints: tuple[LinearConstraint, ...] = ()
    candidates: Tensor | None = None
    """(m, d_x) the only decisions that may be chosen, encoded."""
    initial: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_start(self.initial, self.seed)

    def engine(self, composition: Composition, control: Control | None) -> Engine | ControlledEngine:
        """Return the engine of a composition, with one engine per control set where there are any."""
        fits = control is None or isinstance(control, Control)
        require(fits, "Study(control=...)", "be a Control of sets and their costs", control)
        if control is None:
            needless = composition.rule is not None
            require(not needless, "Study(control=...)", "be given with a method that chooses among control sets", None)
            return self._engine(composition, self.constraints)
        template = self._engine(Composition(), ())
        return ControlledEngine(
            composition, self.space, control, template, self.sign, self.constraints, self.candidates
        )

    def _engine(self, composition: Composition, constraints: tuple[LinearConstraint, ...]) -> Engine:
        columns = self.space.decisions.columns + self.space.contexts.columns
        return Engine(
            parts=composition.on(self.space, self.sign),
            search=Search(self.space.decisions, constraints, self.candidates),
            initial=max(5, columns + 1) if self.initial is None else self.initial,
            seed=self.seed,
        )


def check_start(initial: Any, seed: Any, caller: str = "Study") -> None:
    """Refuse a number of initial decisions or a seed that is none.

    Args:
        initial: how many decisions are spread out first, or None.
        seed: of the random numbers.
        caller: what the user called, for errors.
    """
    require_count(seed, f"{caller}(seed=...)")
    if initial is not None:
        require_count(initial, f"{caller}(initial=...)", low=1)
