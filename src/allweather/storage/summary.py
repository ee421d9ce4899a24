"""Summaries of the studies in a database, computed without reading their journals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

from allweather.errors import StorageError
from allweather.storage.database import Database
from allweather.storage.journal import MALFORMED, parse, read_event, spec_is_whole
from allweather.storage.schema import events, studies


@dataclass(frozen=True)
class StudySummary:
    """Name, direction, size and times of one study."""

    name: str
    created: float
    """Seconds since 1970."""
    trials: int
    last: int
    """The number of the newest event; 0 if there is none."""
    changed: float
    """The time of the newest event, or of creation, in seconds since 1970."""
    damaged: bool = False
    """Whether something of it was found that cannot be read, or is not what was written."""
    direction: str = ""
    """`maximize` or `minimize`; empty where it cannot be read."""


class StudyKey(NamedTuple):
    """Identifies a study: a database may use an id again after a deletion, but not with the same creation time."""

    id: int
    created: float


def study_summaries(database: Database, limit: int, offset: int = 0) -> list[StudySummary]:
    """Return summaries of studies by name; each takes a few index lookups, however long the journal is.

    Args:
        database: holds the studies.
        limit: the number of studies to return, at most.
        offset: the number of studies to skip.
    """
    chosen = sa.select(studies).order_by(studies.c.name)
    with database.reading() as connection:
        rows = connection.execute(chosen.limit(limit).offset(offset)).all()
        found = [(row, _summary(connection, row)) for row in rows]
    return [replace(summary, direction=_direction(row.spec)) for row, summary in found]


def count_studies(database: Database) -> int:
    """Return the number of studies in a database."""
    with database.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(studies)).scalar_one())


def find_study(database: Database, name: str) -> StudyKey | None:
    """Return the key of the study that has this name now; None if there is none."""
    if not name.isprintable():  # no study has such a name, and PostgreSQL refuses to look for some of them
        return None
    chosen = sa.select(studies.c.id, studies.c.created).where(studies.c.name == name)
    with database.reading() as connection:
        row = connection.execute(chosen).first()
    return None if row is None else StudyKey(row.id, row.created)


def _summary(connection: Connection, study: Any) -> StudySummary:
    """Return the summary of a row of the table of studies."""
    name, created, whole = str(study.name), study.created, spec_is_whole(study)
    newest = sa.select(events).where(events.c.study == study.id).order_by(events.c.number.desc()).limit(1)
    try:
        found = connection.execute(newest).first()
    except DatabaseError as trouble:
        if MALFORMED not in str(trouble.orig):
            raise
        return StudySummary(name, created, 0, 0, created, damaged=True)
    last, changed = (0, created) if found is None else (found.number, found.at)
    try:
        trials = _count_trials(connection, study.id, name)
        if found is not None:
            read_event(found, name)
    except (AttributeError, LookupError, TypeError, ValueError, StorageError):
        trials, whole = 0, False
    except DatabaseError as trouble:
        if MALFORMED not in str(trouble.orig):
            raise
        trials, whole = 0, False
    return StudySummary(name, created, trials, last, changed, not whole)


def _direction(spec: str) -> str:
    """Return the direction of a study by its spec."""
    try:
        return str(parse(spec).get("direction", "maximize"))
    except (AttributeError, ValueError, TypeError, RecursionError):
        return ""


def _count_trials(connection: Connection, study: int, name: str) -> int:
    """Return the number of trials: the largest number of an asked trial or in the newest added table, plus one."""
    asked = connection.execute(sa.select(sa.func.max(events.c.trial)).where(events.c.study == study)).scalar()
    whole = events.c.study == study, events.c.trial.is_(None), events.c.kind == "added"
    added = sa.select(events).where(*whole)
    table = connection.execute(added.order_by(events.c.number.desc()).limit(1)).first()
    rows = [] if table is None else read_event(table, name).payload.get("trials", [])
    return max([-1 if asked is None else int(asked), *(int(row["number"]) for row in rows)]) + 1
