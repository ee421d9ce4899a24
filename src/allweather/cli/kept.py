"""A study as far as its journal tells it: no surrogate, no method, so also for studies made in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allweather.history import History
from allweather.notebook import Notebook
from allweather.recipes import Recipe, space_of
from allweather.space import Space
from allweather.splits import whole_box
from allweather.storage import Journal
from allweather.telling import Teller
from allweather.variables import Value


@dataclass(frozen=True, eq=False)
class Kept:
    """A journal, the variables it is about, and what can be written into it."""

    journal: Journal
    recipe: Mapping[str, Any] | None
    direction: str
    space: Space
    notebook: Notebook
    teller: Teller

    @classmethod
    def of(cls, journal: Journal) -> Kept:
        """The study that a journal is about."""
        made = journal.recipe
        said, recipe = made.get("study", {}), made.get("recipe")
        space = space_of(said.get("space", "")) if recipe is None else Recipe.of(recipe, journal.name).space
        notebook = Notebook(journal, History(space, 1))
        controlled = "control" in (recipe or {}) or any(trial.cost is not None for trial in notebook.history.trials)
        if controlled:
            notebook = Notebook(journal, History(space, 1, whole=whole_box(space)))
        return cls(journal, recipe, said.get("direction", "maximize"), space, notebook, Teller(space, controlled))

    def done(self, trial: int, said: Mapping[str, Value]) -> dict[str, Value] | None:
        """What was really done, where something was said about it; the rest is as it was planned."""
        return {**self.history.find(trial).decision, **said} if said else None

    def happened(self, trial: int, said: Mapping[str, Value]) -> dict[str, Value] | None:
        """What happened, where something was said about it; the rest is as it was told."""
        return {**(self.history.find(trial).context or {}), **said} if said else None

    @property
    def history(self) -> History:
        """All trials."""
        return self.notebook.history
