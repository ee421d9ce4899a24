"""A database that studies are kept in: opened safely, brought up to date, and clear about what went wrong."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from allweather.errors import Conflict, InvalidInput, StorageError, require
from allweather.storage.migrations import VERSION

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 727_407
"""Of all advisory locks in a PostgreSQL database, ours have this first number."""
PATIENCE = 30
"""Seconds to wait for another worker that is writing."""


class Database:
    """Studies in SQLite (`sqlite:///file.db`) or PostgreSQL (`postgresql+psycopg://...`)."""

    def __init__(self, url: str) -> None:
        try:
            parsed = sa.make_url(url)
            kept = parsed.database not in (None, "") and ":memory:" not in str(parsed.database)
            require(kept, "storage", "name a file or a database", parsed.render_as_string(hide_password=True))
            self.engine: Engine = sa.create_engine(parsed, **_options(parsed))
        except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as trouble:
            if isinstance(trouble, InvalidInput):
                raise
            shown = f"{str(url).partition('://')[0]}://..." if "@" in str(url) else repr(url)  # it may hold a password
            raise InvalidInput(
                f"`storage` must be a database's address such as sqlite:///study.db, got {shown}"
            ) from trouble
        self.address = parsed.render_as_string(hide_password=True)
        self._file = Path(parsed.database or "").absolute().resolve()
        if parsed.get_backend_name() == "sqlite":
            _make_safe(self.engine)
        self._update()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept whole or not at all."""
        with self._explained(), self.engine.connect() as connection:
            connection = connection.execution_options(writing=True)
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A view of what is there."""
        with self._explained(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def turn(self, study: int) -> Iterator[None]:
        """Wait until no other worker decides about this study; a worker that dies lets go by itself."""
        if self.engine.dialect.name == "postgresql":
            with self._explained():
                connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                connection.execute(sa.select(sa.func.pg_advisory_lock(LOCK, study)))
            try:
                yield
            finally:
                with suppress(SQLAlchemyError):  # a turn that was lost on the way costs others time, nobody an outcome
                    connection.close()
        else:
            with _locked(Path(f"{self._file}.{study}.turn")):
                yield

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def _update(self) -> None:
        """Bring an older schema up to ours; a newer one is refused."""
        from alembic import command  # here, since it takes a quarter of a second that most programs need not spend
        from alembic.config import Config
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

        with self.writing() as connection:
            if MigrationContext.configure(connection).get_current_revision() == VERSION:
                return
            if self.engine.dialect.name == "postgresql":  # many workers may begin at once; in SQLite writers take turns
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK, 0)))
            current = MigrationContext.configure(connection).get_current_revision()
            if current == VERSION:
                return
            script = ScriptDirectory(str(MIGRATIONS))
            known = {each.revision for each in script.walk_revisions()}
            if current is not None and current not in known:
                raise StorageError(
                    f"{self.address} was written by a newer allweather (schema {current}, this one knows "
                    f"{', '.join(sorted(known))}): update allweather to open it"
                )
            config = Config()
            config.set_main_option("script_location", str(MIGRATIONS))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The database's errors in words."""
        try:
            yield
        except IntegrityError as trouble:
            said = str(trouble.orig)
            if "UNIQUE" in said or "unique" in said:
                raise Conflict(f"{self.address}: another worker was faster") from trouble
            raise StorageError(f"{self.address}: {_in_words(said)}") from trouble
        except DatabaseError as trouble:
            raise StorageError(f"{self.address}: {_in_words(str(trouble.orig))}") from trouble
        except SQLAlchemyError as trouble:
            raise StorageError(f"{self.address}: {trouble}") from trouble


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """A lock that the operating system releases when its holder dies."""
    try:
        file = path.open("w")
    except OSError as trouble:
        raise StorageError(f"{path}: it cannot be written; may you write in its folder? ({trouble})") from trouble
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile must not keep it


def _options(url: sa.URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": PATIENCE}}
    return {"poolclass": NullPool}  # a connection that waits for the next ask may be dead by then


def _make_safe(engine: Engine) -> None:
    """Write-ahead log, every commit on the disk before it is acknowledged, writers in turn."""

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where SQLAlchemy says
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


MEANINGS = {
    "readonly database": "it can only be read; make the file and its folder writable",
    "read-only": "it can only be read; make the file and its folder writable",
    "unable to open": "it cannot be opened; does its folder exist, and may you write there?",
    "is full": "the disk is full; nothing of this call was written, all before it is safe",
    "not a database": "it is no SQLite database, or it is damaged; restore a copy, or export what can be read",
    "malformed": "it is damaged; restore a copy, or export what can be read",
    "disk I/O": "the disk failed; nothing of this call was acknowledged",
    "locked": f"another worker has been writing for more than {PATIENCE} seconds",
    "connection": "the connection was lost; nothing of this call was acknowledged, so it can be repeated",
    "terminat": "the connection was lost; nothing of this call was acknowledged, so it can be repeated",
}


def _in_words(said: str) -> str:
    meaning = next((words for sign, words in MEANINGS.items() if sign in said), None)
    said = " ".join(said.split())
    return said if meaning is None else f"{meaning} ({said})"
