"""The journal of a study in a database: an append-only sequence of events."""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from allweather._utils.registry import unknown
from allweather.errors import Conflict, StorageError
from allweather.storage.database import Database
from allweather.storage.memory import require_name
from allweather.storage.schema import events, studies
from allweather.trials.events import Event, concerns

MAX_EVENT_CHARACTERS = 1_000_000
"""Characters of one event, at most."""


class Journal:
    """The events of one study in a database.

    Writes are optimistic: the writer says how many events it has seen, and fails with `Conflict` if others that
    matter came in between.
    """

    def __init__(self, database: Database, study: int, name: str) -> None:
        self._database, self._study, self.name = database, study, name

    @classmethod
    def create(cls, database: Database, name: str, spec: dict[str, Any], past: Sequence[Event] = ()) -> Journal:
        """Create the journal of a new study, with imported events; a name that is taken raises `Conflict`."""
        require_name(name)
        row = {"name": name, "created": time.time(), "spec": _written(spec)}
        with database.writing() as connection:
            study = connection.execute(studies.insert().values(row).returning(studies.c.id)).scalar_one()
            if past:
                rows = [{**_row(event, _written(event.payload)), "study": study} for event in past]
                connection.execute(events.insert(), rows)
        return cls(database, study, name)

    @classmethod
    def open(cls, database: Database, name: str) -> Journal:
        """Open the journal of an existing study."""
        require_name(name)
        with database.reading() as connection:
            found = connection.execute(sa.select(studies.c.id).where(studies.c.name == name)).scalar()
            if found is None:
                known = connection.execute(sa.select(studies.c.name)).scalars().all()
                raise unknown(f"{database.address}", name, known)
        return cls(database, found, name)

    @property
    def address(self) -> str:
        """The database's address, without password."""
        return self._database.address

    @cached_property
    def key(self) -> str:
        """Identifies the study, in every process and under every address of the database."""
        with self._database.reading() as connection:
            made = connection.execute(sa.select(studies.c.created).where(studies.c.id == self._study)).scalar_one()
        return f"{self.name} {made!r}"

    @property
    def spec(self) -> dict[str, Any]:
        """What the study is made of, as it was created."""
        with self._database.reading() as connection:
            text = connection.execute(sa.select(studies.c.spec).where(studies.c.id == self._study)).scalar_one()
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError, RecursionError):
            said = "what it is made of must be a JSON object, and is not: restore a copy"
            raise StorageError(f"{self.name}: {said}") from None

    def read(self, after: int = 0, trial: int | None = None, kind: str | None = None) -> list[Event]:
        """The events since number `after`, in order; only those about a trial or of a kind, if one is given."""
        chosen = sa.select(events).where(events.c.study == self._study, events.c.number > after)
        if trial is not None:
            chosen = chosen.where(events.c.trial == trial)
        if kind is not None:
            chosen = chosen.where(events.c.kind == kind)
        with self._database.reading() as connection:
            rows = connection.execute(chosen.order_by(events.c.number)).all()
        return [_event(row, self.name) for row in rows]

    def read_readable(self) -> tuple[list[Event], list[int]]:
        """The events that can be read, in order, and the numbers of those that cannot."""
        chosen = sa.select(events).where(events.c.study == self._study).order_by(events.c.number)
        with self._database.reading() as connection:
            rows = connection.execute(chosen).all()
        found, lost = [], []
        for row in rows:
            try:
                found.append(_event(row, self.name))
            except StorageError:
                lost.append(int(row.number))
        return found, lost

    def append(self, seen: int, written: Sequence[Event]) -> list[Event]:
        """Write events, all or none, by a writer that has seen the first `seen` ones; return them numbered.

        Raises:
            Conflict: an event came in between that concerns them: another trial asked for or added, or a change of the
                study, where there is one among them, or anything about a trial that they are about.
        """
        texts = [_written(event.payload) for event in written]
        with self._database.writing() as connection:
            here = connection.execute(sa.select(studies.c.id).where(studies.c.id == self._study).with_for_update())
            if here.scalar() is None:
                raise StorageError(f"{self.name} is no longer in {self._database.address}; nothing was written")
            newer = sa.select(events.c.kind, events.c.trial).where(
                events.c.study == self._study, events.c.number > seen
            )
            if any(concerns(kind, trial, written) for kind, trial in connection.execute(newer)):
                raise Conflict(f"{self.name}: another worker wrote first")
            first = self._last(connection) + 1
            worker = f"{socket.gethostname()}:{os.getpid()}"[:200]
            now = self._database.now(connection)
            numbered = [
                replace(event, number=first + place, at=now, worker=worker) for place, event in enumerate(written)
            ]
            rows = [{**_row(event, text), "study": self._study} for event, text in zip(numbered, texts, strict=True)]
            connection.execute(events.insert(), rows)
        return numbered

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn to decide: workers take turns, so that none computes in vain; a dead worker loses its turn."""
        with self._database.turn(self._study):
            yield

    def now(self) -> float:
        """The time by the database's clock, in seconds since 1970."""
        with self._database.reading() as connection:
            return self._database.now(connection)

    def _last(self, connection: Connection) -> int:
        newest = sa.select(sa.func.max(events.c.number)).where(events.c.study == self._study)
        return connection.execute(newest).scalar() or 0

    @property
    def last(self) -> int:
        """The number of the newest event."""
        with self._database.reading() as connection:
            return self._last(connection)


def names(database: Database) -> list[str]:
    """The studies in a database."""
    with database.reading() as connection:
        return list(connection.execute(sa.select(studies.c.name).order_by(studies.c.name)).scalars())


def _row(event: Event, payload: str) -> dict[str, Any]:
    columns = {"number": event.number, "kind": event.kind, "trial": event.trial, "at": event.at}
    return {**columns, "worker": event.worker, "payload": payload}


def _written(payload: dict[str, Any]) -> str:
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    if len(text) > MAX_EVENT_CHARACTERS:
        raise StorageError(
            f"an event of {len(text)} characters is too long for a journal, which takes {MAX_EVENT_CHARACTERS}"
        )
    return text


def _event(row: Any, name: str) -> Event:
    try:
        payload = json.loads(row.payload)
        if not isinstance(payload, dict):
            raise ValueError("no object")
    except (ValueError, TypeError, RecursionError):
        raise damaged(name, row.number) from None
    return Event(row.kind, payload, row.trial, row.number, row.at, row.worker)


def damaged(name: str, number: int) -> StorageError:
    """Return the error for an event that cannot be read."""
    return StorageError(
        f"the study {name!r} is damaged: its event {number} cannot be read; restore a backup, or save what can be read "
        f"with `allweather export --salvage --study {shlex.quote(name)}`"
    )
