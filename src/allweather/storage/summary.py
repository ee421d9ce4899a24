"""What a database holds at a glance: its studies and how far each is, without reading their journals."""

from __future__ import annotations

import json
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from allweather.storage.database import Database
from allweather.storage.schema import events, studies


@dataclass(frozen=True)
class Glance:
    """One study of a database, from the outside."""

    name: str
    created: float
    """When it was made, in seconds since 1970."""
    trials: int
    last: int
    """The number of its newest event; 0 where nothing happened yet."""
    changed: float
    """When that was."""


def glances(database: Database, limit: int, offset: int = 0) -> list[Glance]:
    """Some studies of a database by name: each costs a few looks into an index, however long its journal is."""
    chosen = sa.select(studies.c.id, studies.c.name, studies.c.created).order_by(studies.c.name)
    with database.reading() as connection:
        rows = connection.execute(chosen.limit(limit).offset(offset)).all()
        return [_glance(connection, row.id, row.name, row.created) for row in rows]


def how_many(database: Database) -> int:
    """How many studies a database holds."""
    with database.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(studies)).scalar_one())


def _glance(connection: Connection, study: int, name: str, created: float) -> Glance:
    newest = sa.select(events.c.number, events.c.at).where(events.c.study == study)
    found = connection.execute(newest.order_by(events.c.number.desc()).limit(1)).first()
    last, changed = (0, created) if found is None else (found.number, found.at)
    return Glance(name, created, _trials(connection, study), last, changed)


def _trials(connection: Connection, study: int) -> int:
    """How many there are: those asked for carry their numbers, tables that were added say theirs inside."""
    asked = connection.execute(sa.select(sa.func.max(events.c.trial)).where(events.c.study == study)).scalar()
    added = sa.select(events.c.payload).where(events.c.study == study, events.c.trial.is_(None))
    table = connection.execute(added.order_by(events.c.number.desc()).limit(1)).scalar()
    rows = [] if table is None else json.loads(table).get("trials", [])
    return max([-1 if asked is None else int(asked), *(int(row["number"]) for row in rows)]) + 1
