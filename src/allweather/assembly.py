"""From what a user says about a study to the engine that carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from allweather.composition import Composition
from allweather.constraints import LinearConstraint
from allweather.control import Control
from allweather.controlled import ControlledEngine
from allweather.engine import Engine
from allweather.errors import require, require_count
from allweather.history import History
from allweather.maximize import Search
from allweather.methods import method
from allweather.notebook import Notebook
from allweather.space import Space
from allweather.storage import MemoryJournal, Storage

COLUMNS = ("value", "state", "trial", "believed", "worst", "left", "cost", "control", "frontier")
"""Of tables that have a column per variable too."""


def require_space(space: object) -> None:
    """Refuse what a study cannot be about."""
    require(isinstance(space, Space), "Study(space=...)", "be a Space", space)
    assert isinstance(space, Space)
    require(len(space.decisions) > 0, "Study(space=...)", "have a variable to decide", space)
    taken = [name for name in COLUMNS if name in space.variables]
    require(not taken, "Study(space=...)", "not name a variable like a column of the table of trials", taken)


def composed(chosen: str | Composition | None) -> Composition:
    """A method by name, or a composition as it is."""
    if chosen is None:
        return Composition()
    if isinstance(chosen, str):
        return method(chosen)
    require(isinstance(chosen, Composition), "Study(method=...)", "be a method's name or a composition", chosen)
    return chosen


def opened(
    storage: str | Storage | None, name: str, empty: History, description: dict[str, str], recipe: dict[str, Any] | None
) -> Notebook:
    """Where the study is written down: in a database, with its recipe where it has one, or nowhere."""
    if storage is None:
        return Notebook(MemoryJournal(name, {"study": description, "recipe": recipe}), empty)
    place = Storage(storage) if isinstance(storage, str) else storage
    require(isinstance(place, Storage), "Study(storage=...)", "be an address such as sqlite:///study.db", storage)
    return Notebook(place.journal(name, description, recipe), empty, place.expire)


def described(study: Any) -> dict[str, str]:
    """What must be the same when a study is opened again: of its parts the kinds, which later releases keep."""
    engine = study._engine
    parts: list[Any] = [engine.parts.objective, engine.parts.acquisition]
    if isinstance(engine, ControlledEngine):
        _, side = next(iter(engine.sides.values()))
        sets = [", ".join(split.control.variables) for split, _ in engine.sides.values()]
        parts = [side.parts.objective, side.parts.acquisition, engine.rule, *sets]
    kinds = [part if isinstance(part, str) else type(part).__name__ for part in parts]
    return {
        "space": repr(study.space),
        "direction": study.direction,
        "seed": str(engine.seed),
        "method": "; ".join(kinds),
    }


@dataclass(frozen=True, eq=False)
class Assembly:
    """What decisions must meet, and how a study begins."""

    space: Space
    sign: int
    constraints: tuple[LinearConstraint, ...] = ()
    candidates: Tensor | None = None
    """(m, d_x) the only decisions that may be chosen, encoded."""
    initial: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        require_count(self.seed, "Study(seed=...)")
        if self.initial is not None:
            require_count(self.initial, "Study(initial=...)", low=1)

    def engine(self, composition: Composition, control: Control | None) -> Engine | ControlledEngine:
        """The engine of a composition, or those of its control sets."""
        fits = control is None or isinstance(control, Control)
        require(fits, "Study(control=...)", "be a Control of sets and their costs", control)
        space, sign = self.space, self.sign
        if control is None:
            needless = composition.rule is not None
            require(not needless, "Study(control=...)", "be given with a method that chooses among control sets", None)
            return self._engine(composition, self.constraints)
        template = self._engine(Composition(), ())
        return ControlledEngine(composition, space, control, template, sign, self.constraints, self.candidates)

    def _engine(self, composition: Composition, constraints: tuple[LinearConstraint, ...]) -> Engine:
        columns = self.space.decisions.columns + self.space.contexts.columns
        return Engine(
            parts=composition.on(self.space, self.sign),
            search=Search(self.space.decisions, constraints, self.candidates),
            initial=max(5, columns + 1) if self.initial is None else self.initial,
            seed=self.seed,
        )
