"""The journal of a study in a database: an append-only sequence of events."""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

from allweather.errors import Conflict, InvalidInput, StorageError
from allweather.storage.checksum import checksum, event_checksum, json_text
from allweather.storage.database import Database
from allweather.storage.memory import require_name
from allweather.storage.schema import events, studies
from allweather.storage.sqlite import DamagedText
from allweather.trials.events import Event, concerns

MAX_EVENT_CHARACTERS = 1_000_000
"""Characters of one event, at most."""
MAX_PROBED_ROWS = 1_000_000
"""Rows of a damaged database that are looked for one by one."""
MIN_ROW_BYTES = 30
"""Bytes of an event in a file of SQLite, at least."""
MALFORMED = "malformed"
"""What SQLite says of damaged pages."""


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
        text = _written(spec)
        row = {"name": name, "created": time.time(), "spec": text, "checksum": checksum(text)}
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
            known = {each.name: each for each in journals(database)}
            if name not in known:
                close = get_close_matches(name, known, n=1)
                listed = f"it has: {', '.join(known)}" if known else "it has none"
                meant = f"did you mean {close[0]!r}? " if close else ""
                raise InvalidInput(f"No study {name!r} in {database.address}; {meant}{listed}")
            return known[name]  # what is shown of a name that is damaged
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
        spec, whole = self.read_spec()
        if not whole:
            said = "what it is made of cannot be read, or was changed after it was written; restore a backup"
            raise StorageError(f"the study {self.name!r} is damaged: {said}")
        return spec

    def read_spec(self) -> tuple[dict[str, Any], bool]:
        """What can be read of the spec, and whether it is what was written."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(studies).where(studies.c.id == self._study)).one()
        try:
            return dict(parse(row.spec)), spec_is_whole(row)
        except (ValueError, TypeError, RecursionError):
            return {}, False

    def read(self, after: int = 0, trial: int | None = None, kind: str | None = None) -> list[Event]:
        """The events since number `after`, in order; only those about a trial or of a kind, if one is given."""
        chosen = sa.select(events).where(events.c.study == self._study, events.c.number > after)
        if trial is not None:
            chosen = chosen.where(events.c.trial == trial)
        if kind is not None:
            chosen = chosen.where(events.c.kind == kind)
        with self._database.reading() as connection:
            rows = connection.execute(chosen.order_by(events.c.number)).all()
        all_of_them, found = trial is None and kind is None, []
        for place, row in enumerate(rows, after + 1):
            if all_of_them and row.number != place:
                raise damaged(self.name, place)  # it is gone
            found.append(read_event(row, self.name))
        return found

    def read_readable(self) -> tuple[list[Event], list[int]]:
        """The events that can be read, in order, and the numbers of those that cannot."""
        chosen = sa.select(events).where(events.c.study == self._study).order_by(events.c.number)
        with self._database.reading() as connection:
            try:
                rows: Sequence[Any] = connection.execute(chosen).all()
                known = 0
            except DatabaseError as trouble:
                if MALFORMED not in str(trouble.orig):
                    raise
                rows, known = self._read_one_by_one(connection)
        found, lost = [], set()
        for row in rows:
            try:
                found.append(read_event(row, self.name))
            except StorageError:
                lost |= {row.number} if isinstance(row.number, int) else set()
        newest = max([min(known, MAX_PROBED_ROWS), *(event.number for event in found)])
        return found, sorted((lost | set(range(1, newest + 1))) - {event.number for event in found})

    def _read_one_by_one(self, connection: Connection) -> tuple[list[Any], int]:
        """The rows of a file of SQLite whose pages are damaged, in order, and the newest number that is known."""
        try:
            last = connection.exec_driver_sql("SELECT max(rowid) FROM events NOT INDEXED").scalar() or 0
        except DatabaseError:
            size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            last = connection.exec_driver_sql(size).scalar_one() // MIN_ROW_BYTES
        query = "SELECT * FROM events NOT INDEXED WHERE rowid = ? AND study = ?"
        rows: dict[int, Any] = {}
        for place in range(1, min(last, MAX_PROBED_ROWS) + 1):
            with suppress(DatabaseError):
                row = connection.exec_driver_sql(query, (place, self._study)).first()
                if row is not None and isinstance(row.number, int) and row.number > 0:
                    rows.setdefault(row.number, row)
        newest = max(rows, default=0)
        with suppress(DatabaseError):  # the index may know of more
            newest = max(newest, self._last(connection))
        return [rows[number] for number in sorted(rows)], newest

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

    def claim(self, run: str) -> Callable[[], None] | None:
        """Claim the trials of a run until they are released or this process ends.

        Args:
            run: identifies the run.

        Returns:
            What releases them, or None if another call has them.
        """
        return self._database.claim(self._study, run)

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


def journals(database: Database) -> list[Journal]:
    """The journals of all studies in a database, by name."""
    with database.reading() as connection:
        rows = connection.execute(sa.select(studies.c.id, studies.c.name).order_by(studies.c.name)).all()
    return [Journal(database, row.id, str(row.name)) for row in rows]


def names(database: Database) -> list[str]:
    """The studies in a database."""
    return [journal.name for journal in journals(database)]


def parse(text: str) -> Any:
    """Return JSON as it is stored; raises `ValueError` for what is damaged.

    Args:
        text: of a column.
    """
    if isinstance(text, DamagedText):
        raise ValueError("not UTF-8")
    return json.loads(text)


def spec_is_whole(row: Any) -> bool:
    """Return whether the spec of a study is what was written.

    Args:
        row: of the table of studies.
    """
    return isinstance(row.spec, str) and row.checksum == checksum(row.spec)


def _row(event: Event, payload: str) -> dict[str, Any]:
    columns: dict[str, Any] = {"number": event.number, "kind": event.kind, "trial": event.trial, "at": event.at}
    columns |= {"worker": event.worker, "payload": payload}
    return {**columns, "checksum": event_checksum(**columns)}


def _written(document: dict[str, Any]) -> str:
    text = json_text(document)
    if len(text) > MAX_EVENT_CHARACTERS:
        raise StorageError(
            f"an event of {len(text)} characters is too long for a journal, which takes {MAX_EVENT_CHARACTERS}"
        )
    return text


def read_event(row: Any, name: str) -> Event:
    """Return the event of a row; raises `StorageError` where it cannot be read, or is not what was written.

    Args:
        row: of the table of events.
        name: of the study.
    """
    columns = row.number, row.kind, row.trial, row.at, row.worker, row.payload
    try:
        payload = parse(row.payload)
        if not isinstance(payload, dict) or row.checksum != event_checksum(*columns):
            raise ValueError("not what was written")
    except (ValueError, TypeError, RecursionError):
        raise damaged(name, row.number) from None
    return Event(row.kind, payload, row.trial, row.number, row.at, row.worker)


def damaged(name: str, number: int) -> StorageError:
    """Return the error for an event that cannot be read."""
    return StorageError(
        f"the study {name!r} is damaged: its event {number} cannot be read, or was changed after it was written; "
        f"restore a backup, or save what can be read with `allweather export --salvage --study {shlex.quote(name)}`"
    )
