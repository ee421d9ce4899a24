"""A stored study as its journal tells it: variables, trials and validation, without surrogate or method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allweather.errors import StorageError
from allweather.serialization.checks import below
from allweather.serialization.fields import stored_fields
from allweather.serialization.legacy import space_of
from allweather.serialization.spaces import decode_space
from allweather.space import Space
from allweather.space.variables import Value
from allweather.storage.database import Database
from allweather.storage.journal import Journal
from allweather.storage.session import Session
from allweather.storage.storage import stored_outcomes
from allweather.trials.history import History
from allweather.trials.validation import Validator


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """A journal, the variables it is about, and what can be written into it."""

    journal: Journal
    spec: Mapping[str, Any] | None
    """What the study is made of, as the fields of a `Spec`, where it has a plain form."""
    direction: str
    space: Space
    session: Session
    validator: Validator

    @classmethod
    def open(cls, url: str, name: str) -> StoredStudy:
        """Open a study of the database at `url`."""
        return cls.of(Journal.open(Database(url), name))

    @classmethod
    def of(cls, journal: Journal) -> StoredStudy:
        """The study that a journal is about."""
        made = _made(journal)
        said, stored = made.get("study", {}), made.get("recipe")
        fields = None if stored is None else stored_fields(stored, journal.name)
        variables = made.get("variables") if fields is None else fields["variables"]
        if variables is not None:
            space = decode_space(variables, below(journal.name, "variables"))
        else:
            space = space_of(said.get("space", ""))
        outcomes = stored_outcomes(made)
        session = Session(journal, History(space, 1, outcome_names=outcomes))
        controlled = "control" in (fields or {}) or any(trial.cost is not None for trial in session.history.trials)
        if controlled:
            session = Session(journal, History(space, 1, whole=space.joint))
        validator = Validator(space, controlled, outcomes)
        return cls(journal, fields, said.get("direction", "maximize"), space, session, validator)

    def done(self, trial: int, said: Mapping[str, Value]) -> dict[str, Value] | None:
        """What was really done, where something was said about it; the rest is as it was planned."""
        return {**self.history.find(trial).decision, **said} if said else None

    def happened(self, trial: int, said: Mapping[str, Value]) -> dict[str, Value] | None:
        """What happened, where something was said about it; the rest is as it was told."""
        return {**(self.history.find(trial).context or {}), **said} if said else None

    @property
    def why_not(self) -> str | None:
        """Why the study cannot be made of what its journal tells; None where it can."""
        if self.spec is not None:
            return None
        return (
            f"the study {self.journal.name!r} was made by a program, and its parts are in that code: ask and recommend "
            "there; tell, correct, add, show and export work here"
        )

    @property
    def history(self) -> History:
        """All trials."""
        return self.session.history


def _made(journal: Journal) -> dict[str, Any]:
    """What a study was made with, unless somebody has written something else there."""
    try:
        made = journal.recipe
    except (ValueError, TypeError, RecursionError):
        made = {"study": None}
    if not isinstance(made.get("study", {}), dict) or not isinstance(made.get("recipe"), dict | None):
        raise StorageError(f"{journal.name}: what it was made with must be a JSON object, and is not: restore a copy")
    return made
