"""Events: what happened in a study, in the order it happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from allweather.trials.trial import Row, Trial

BY = "by"
"""In a payload: who made it happen, where people have names."""


@dataclass(frozen=True)
class Event:
    """Something that happened in a study."""

    kind: str
    """`asked`, `added`, `told`, `corrected`, `expired`, `observed`, or `changed` where the study itself was."""
    payload: dict[str, Any]
    trial: int | None = None
    """The trial it is about, where it is about one."""
    number: int = 0
    """Its place in the journal, from 1; 0 before it is written."""
    at: float = 0.0
    """When, in seconds since 1970."""
    worker: str = ""
    trials: tuple[Trial, ...] = field(default=(), compare=False, repr=False)
    """The trials as they are after it, where they were built already: not stored, and not built again."""

    @classmethod
    def asked(cls, trial: Trial) -> Event:
        """A new trial was asked for."""
        return cls("asked", trial.to_dict(), trial.number, trials=(trial,))

    @classmethod
    def added(cls, trials: Sequence[Trial]) -> Event:
        """Data from before were added."""
        return cls("added", {"trials": [trial.to_dict() for trial in trials]}, trials=tuple(trials))

    @classmethod
    def observed(cls, contexts: Sequence[Row]) -> Event:
        """Contexts occurred without a trial."""
        return cls("observed", {"contexts": [dict(row) for row in contexts]})

    @classmethod
    def expired(cls, number: int) -> Event:
        """A pending trial was given up."""
        return cls("expired", {}, number)

    @classmethod
    def changed(cls, fields: Mapping[str, Any]) -> Event:
        """The study was changed: the fields of its spec that are different, and of each variable what is."""
        return cls("changed", dict(fields))

    def signed(self, user: str) -> Event:
        """The event with the name of who made it happen, where people have names; nobody gives a trial up.

        Example:
            >>> Event.changed({"variables": {}}).signed("ada").payload
            {'variables': {}, 'by': 'ada'}
        """
        return replace(self, payload={**self.payload, BY: user}) if user and self.kind != "expired" else self

    @property
    def by(self) -> str:
        """Who made it happen; empty where nobody is named."""
        return str(self.payload.get(BY, ""))

    @property
    def content(self) -> dict[str, Any]:
        """The payload without the name of who made it happen."""
        return {name: each for name, each in self.payload.items() if name != BY}

    def parsed(self) -> tuple[Trial, ...]:
        """The trials that were asked for or added."""
        if self.trials:
            return self.trials
        rows = self.payload["trials"] if self.kind == "added" else [self.content]
        return tuple(Trial.from_dict(row) for row in rows)


def concerns(kind: str, trial: int | None, written: Sequence[Event]) -> bool:
    """Whether an event that came in between matters for those about to be written."""
    new = {"asked", "added", "changed"}
    return any((kind in new and event.kind in new) or (trial is not None and trial == event.trial) for event in written)
