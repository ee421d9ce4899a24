"""A study as far as its journal tells it: no surrogate, no method, so also for studies made in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allweather.errors import InvalidInput
from allweather.history import History
from allweather.notebook import Notebook
from allweather.recipes.described import space_of
from allweather.recipes.recipe import Recipe
from allweather.space import Space
from allweather.splits import whole_box
from allweather.storage import Journal, StorageError
from allweather.study import Study
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
        made = _made(journal)
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

    def study(self, url: str) -> Study:
        """The study with all its parts, in the database at `url` that the journal is in: for deciding."""
        name = self.journal.name
        if self.recipe is None:
            raise InvalidInput(self.why_not)
        return Recipe.of(self.recipe, name).study(url, name)

    @property
    def why_not(self) -> str | None:
        """Why the study cannot be made of what its journal tells; None where it can."""
        if self.recipe is not None:
            return None
        return (
            f"the study {self.journal.name!r} was made by a program, and its parts are in that code: ask and recommend "
            "there; tell, correct, add, show and export work here"
        )

    @property
    def history(self) -> History:
        """All trials."""
        return self.notebook.history


def _made(journal: Journal) -> dict[str, Any]:
    """What a study was made with, unless somebody has written something else there."""
    try:
        made = journal.recipe
    except (ValueError, TypeError, RecursionError):
        made = {"study": None}
    if not isinstance(made.get("study", {}), dict) or not isinstance(made.get("recipe"), dict | None):
        raise StorageError(f"{journal.name}: what it was made with must be a JSON object, and is not: restore a copy")
    return made
