"""The database of studies: connections, transactions, schema upgrades, and errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from allweather.errors import Conflict, InvalidInput, StorageError, require
from allweather.storage.file_lock import locked
from allweather.storage.migrations import VERSION

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 727_407
"""Of all advisory locks in a PostgreSQL database, ours have this first number."""
BUSY_TIMEOUT = 30
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
                f"must be a database's address such as sqlite:///study.db, got {shown}", where="storage"
            ) from trouble
        self.address = parsed.render_as_string(hide_password=True)
        self._file = Path(parsed.database or "").absolute().resolve()
        if parsed.get_backend_name() == "sqlite":
            _configure_sqlite(self.engine)
        self._update()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction, committed whole or not at all."""
        with self._translated(), self.engine.connect() as connection:
            connection = connection.execution_options(writing=True)
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading."""
        with self._translated(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def turn(self, study: int) -> Iterator[None]:
        """Hold the turn of a study, once no other worker does; a worker that dies releases it."""
        if self.engine.dialect.name == "postgresql":
            with self._translated():
                connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                connection.execute(sa.select(sa.func.pg_advisory_lock(LOCK, study)))
            try:
                yield
            finally:
                with suppress(SQLAlchemyError):  # a lost turn costs others time, not outcomes
                    connection.close()
        else:
            with locked(Path(f"{self._file}.{study}.turn")):
                yield

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _update(self) -> None:
        """Upgrade an older schema; refuse a newer one."""
        with self.writing() as connection:
            if _schema_version(connection) != [VERSION]:
                self._migrate(connection)

    def _migrate(self, connection: Connection) -> None:
        from alembic import command  # here, since it takes a quarter of a second that most programs need not spend
        from alembic.config import Config
        from alembic.runtime.migration import MigrationContext
        from alembic.script import ScriptDirectory

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
    def _translated(self) -> Iterator[None]:
        """Translate errors of the database driver."""
        try:
            yield
        except IntegrityError as trouble:
            said = str(trouble.orig)
            if "UNIQUE" in said or "unique" in said:
                raise Conflict(f"{self.address}: another worker wrote first") from trouble
            raise StorageError(f"{self.address}: {_explanation(said)}") from trouble
        except DatabaseError as trouble:
            raise StorageError(f"{self.address}: {_explanation(str(trouble.orig))}") from trouble
        except SQLAlchemyError as trouble:
            raise StorageError(f"{self.address}: {trouble}") from trouble


def _schema_version(connection: Connection) -> list[str]:
    """The version of the schema, read without alembic; empty if there is none yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return []
    return list(connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars())


def _options(url: sa.URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": BUSY_TIMEOUT}}
    return {"poolclass": NullPool}  # a connection that waits for the next ask may be dead by then


def _configure_sqlite(engine: Engine) -> None:
    """Set the write-ahead log, full synchronisation before a commit is acknowledged, and exclusive writers."""

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


EXPLANATIONS = {
    "readonly database": "it is read-only; make the file and its folder writable",
    "read-only": "it is read-only; make the file and its folder writable",
    "unable to open": "it cannot be opened; check that its folder exists and is writable",
    "is full": "the disk is full; nothing of this call was written, all before it is safe",
    "not a database": "it is not a SQLite database, or it is damaged; restore a backup, or export what can be read",
    "malformed": "it is damaged; restore a backup, or export what can be read",
    "disk I/O": "the disk failed; nothing of this call was acknowledged",
    "locked": f"another worker has been writing for more than {BUSY_TIMEOUT} seconds",
    "connection": "the connection was lost; nothing of this call was acknowledged, so it can be repeated",
    "terminat": "the connection was lost; nothing of this call was acknowledged, so it can be repeated",
}


def _explanation(said: str) -> str:
    meaning = next((words for sign, words in EXPLANATIONS.items() if sign in said), None)
    said = " ".join(said.split())
    return said if meaning is None else f"{meaning} ({said})"
