"""A stored study as its journal tells it: variables, trials and validation, without surrogate or method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from allweather.space import Space
from allweather.space.variables import Value
from allweather.storage.database import Database
from allweather.storage.journal import Journal
from allweather.storage.session import Session
from allweather.storage.settings import Settings
from allweather.trials.changes import space_since
from allweather.trials.history import History
from allweather.trials.validation import Validator


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """A journal, the variables it is about, and what can be written into it."""

    journal: Journal
    session: Session
    made: Settings
    """What the study was created with."""
    controlled: bool
    """Whether control sets decide which variables are decisions."""

    @classmethod
    def open(cls, url: str, name: str) -> StoredStudy:
        """Open a study of the database at `url`."""
        return cls.of(Journal.open(Database(url), name))

    @classmethod
    def of(cls, journal: Journal) -> StoredStudy:
        """The study that a journal is about."""
        made = Settings.of(journal, ())
        session = Session(journal, History(made.first, 1, outcome_names=made.outcomes))
        _ = made.fields  # what cannot be read raises here
        controlled = "control" in (made.fields or {}) or any(trial.cost is not None for trial in session.history.trials)
        if controlled:
            session = Session(journal, History(made.first, 1, whole=made.first.joint))
        return cls(journal, session, made, controlled)

    @property
    def settings(self) -> Settings:
        """What the study is made of, after the changes that were read so far."""
        changes = self.session.replayed.changes
        return replace(self.made, changes=tuple(change.fields for change in changes)) if changes else self.made

    @property
    def spec(self) -> Mapping[str, Any] | None:
        """What the study is made of, as the fields of a `Spec`, where it has a plain form."""
        return self.settings.fields

    @property
    def direction(self) -> str:
        """`maximize` or `minimize`."""
        return self.made.identity.get("direction", "maximize")

    @property
    def space(self) -> Space:
        """The variables, after the changes that were read so far."""
        return self.session.replayed.space

    @property
    def validator(self) -> Validator:
        """What checks reports, after all changes of the study."""
        return Validator.of(self.session.settings(), self.controlled)

    def space_of(self, trial: int) -> Space:
        """The variables with all bounds and options that reports about a trial may have."""
        known = self.session.replayed
        return space_since(known.changes, known.space, trial)

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
