"""A journal in memory, for studies without a database."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from allweather.errors import require
from allweather.trials.events import Event


class MemoryJournal:
    """The events of a study that ends with the program."""

    def __init__(self, name: str = "study", spec: dict[str, Any] | None = None) -> None:
        self.name, self.spec, self.key = name, spec or {}, uuid.uuid4().hex
        self._events: list[Event] = []
        self._claims: set[str] = set()

    def read(self, after: int = 0, trial: int | None = None, kind: str | None = None) -> list[Event]:
        """The events since number `after`; only those about a trial or of a kind, if one is given."""
        found = [event for event in self._events[after:] if trial is None or event.trial == trial]
        return found if kind is None else [event for event in found if event.kind == kind]

    def append(self, seen: int, events: Sequence[Event]) -> list[Event]:
        """Write events; return them numbered."""
        now, first = time.time(), len(self._events) + 1
        written = [replace(event, number=first + place, at=now) for place, event in enumerate(events)]
        self._events += written
        return written

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A context without waiting: there is only one worker."""
        yield

    def claim(self, run: str) -> Callable[[], None] | None:
        """Claim the trials of a run; return what releases them, or None if another call has them."""
        if run in self._claims:
            return None
        self._claims.add(run)
        return lambda: self._claims.discard(run)

    def now(self) -> float:
        """The time, in seconds since 1970."""
        return time.time()

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return len(self._events)


def require_name(name: object) -> None:
    """Refuse an invalid name of a study."""
    fits = isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() and name == name.strip()
    require(fits, "Study(name=...)", "be up to 200 printable characters, without spaces around", name)
