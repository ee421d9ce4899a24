"""A journal that is read from the database once, for all that follow the same study in a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from allweather.storage.database import Database
from allweather.storage.journal import Journal, damaged
from allweather.trials.events import Event

SIGNATURE: ContextVar[str] = ContextVar("SIGNATURE", default="")
"""Who makes happen what this thread writes, where people have names; the journal keeps it with each event."""


class SharedJournal(Journal):
    """Keeps the events that were read, and reads only newer ones; safe to use from several threads.

    Args:
        database: holds the study.
        study: its id there.
        name: of the study.
    """

    def __init__(self, database: Database, study: int, name: str) -> None:
        super().__init__(database, study, name)
        self._events: list[Event] = []
        self._by_trial: dict[int, list[Event]] = {}
        self._reading = threading.Lock()

    def read(self, after: int = 0, trial: int | None = None, kind: str | None = None) -> list[Event]:
        """Return the events since number `after`, in order; only those about a trial or of a kind, if one is given."""
        with self._reading:
            self._keep(super().read(len(self._events)))
            found = self._events[after:] if trial is None else self._by_trial.get(trial, [])
            return [event for event in found if event.number > after and kind in (None, event.kind)]

    def append(self, seen: int, written: Sequence[Event]) -> list[Event]:
        """Write events, all or none, and keep those that follow the events read so far."""
        numbered = super().append(seen, [event.signed(SIGNATURE.get()) for event in written])
        with self._reading:
            self._keep(numbered)
        return numbered

    def _keep(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.number != len(self._events) + 1:
                return  # others came in between: the next read brings them in order
            if event.kind in ("asked", "added"):
                try:
                    event = replace(event, trials=event.parsed())  # parsed once, for all that follow
                except (AttributeError, LookupError, TypeError, ValueError):
                    raise damaged(self.name, event.number) from None
            self._events.append(event)
            if event.trial is not None:
                self._by_trial.setdefault(event.trial, []).append(event)


class GatedJournal(Journal):
    """A shared journal whose turn includes a gate, which limits computations.

    Args:
        shared: the journal.
        gate: entered by whoever holds the turn, before it computes.
    """

    def __init__(self, shared: SharedJournal, gate: AbstractContextManager[Any]) -> None:
        super().__init__(shared._database, shared._study, shared.name)
        self._shared, self._gate = shared, gate

    def read(self, after: int = 0, trial: int | None = None, kind: str | None = None) -> list[Event]:
        """Read as the shared journal does."""
        return self._shared.read(after, trial, kind)

    def append(self, seen: int, written: Sequence[Event]) -> list[Event]:
        """Write as the shared journal does."""
        return self._shared.append(seen, written)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn, then enter the gate."""
        with self._shared.turn(), self._gate:
            yield
