"""What happens in a study, as it is written down, wherever that is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from allweather.errors import AllweatherError, require

VERSION = "0001"
"""The schema this library writes; older ones are brought up to it when they are opened."""


class StorageError(AllweatherError):
    """The database could not do what was asked; what had been acknowledged is still there."""


class Conflict(AllweatherError):
    """Somebody else wrote first: look again, and decide again."""


@dataclass(frozen=True)
class Event:
    """Something that happened in a study."""

    kind: str
    payload: dict[str, Any]
    trial: int | None = None
    """The trial it is about, where it is about one."""
    number: int = 0
    """Its place in the journal, from 1; 0 before it is written."""
    at: float = 0.0
    """When, in seconds since 1970."""
    worker: str = ""


class MemoryJournal:
    """The same for a study that is kept nowhere."""

    def __init__(self, name: str = "study", recipe: dict[str, Any] | None = None) -> None:
        self.name, self.recipe = name, recipe or {}
        self._events: list[Event] = []

    def read(self, after: int = 0, trial: int | None = None) -> list[Event]:
        """The events since number `after`."""
        return [event for event in self._events[after:] if trial is None or event.trial == trial]

    def append(self, seen: int, written: Sequence[Event]) -> None:
        """Write events."""
        now, first = time.time(), len(self._events) + 1
        self._events += [replace(event, number=first + place, at=now) for place, event in enumerate(written)]

    @contextmanager
    def turn(self) -> Iterator[None]:
        """There is nobody to wait for."""
        yield

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return len(self._events)


def concerns(kind: str, trial: int | None, written: Sequence[Event]) -> bool:
    """Whether an event that came in between matters for those about to be written."""
    new = {"asked", "added"}
    return any((kind in new and event.kind in new) or (trial is not None and trial == event.trial) for event in written)


def require_name(name: object) -> None:
    """Refuse what is no name for a study."""
    fits = isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() and name == name.strip()
    require(fits, "Study(name=...)", "be up to 200 printable characters, without spaces around", name)
