"""The database of studies: connections, transactions, schema upgrades, and errors in words."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError, IntegrityError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from allweather.errors import Conflict, StorageError, require
from allweather.storage.address import malformed_address, parse_address, shown_address, sqlite_file
from allweather.storage.migrations import VERSION
from allweather.storage.sqlite import (
    BUSY_TIMEOUT,
    LOST_LOG,
    create_private,
    identity,
    is_writable,
    log_lost,
    reading_engine,
    require_unchanged,
    rights_of,
    writing_engine,
)
from allweather.storage.turns import claimed, locked, take_turn

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 727_407
"""Of all advisory locks in a PostgreSQL database, ours have this first number."""
CLAIM_LOCK = LOCK + 1
"""The first number of those that claim the trials of a run."""
QUEUED, LOCK_NOT_AVAILABLE = 1.0, "55P03"
"""Seconds in PostgreSQL's queue for a turn before looking at who holds it, and what the server says after them."""


class Database:
    """Studies in SQLite (`sqlite:///file.db`) or PostgreSQL (`postgresql+psycopg://...`)."""

    def __init__(self, url: str) -> None:
        parsed = parse_address(url)
        self.address = shown_address(parsed)
        kept = parsed.database not in (None, "") and ":memory:" not in str(parsed.database)
        require(kept, "storage", "name a file or a database", self.address)
        self._file: Path | None = None
        self.read_only = self._lost_log = False
        try:
            if parsed.get_backend_name() == "sqlite":
                self._file = sqlite_file(parsed)
                self.read_only = self._file.is_file() and not is_writable(self._file)
            self.engine: Engine = self._engine(parsed)
        except (NoSuchModuleError, ImportError, ValueError) as trouble:
            raise malformed_address(url) from trouble
        except OSError as trouble:
            raise StorageError(f"{self.address}: it cannot be opened ({trouble.strerror})") from trouble
        self._identity: tuple[int, int] | None = None
        if self._file is not None and parsed.query.get("mode", "rwc") == "rwc":
            create_private(self._file)
        self._schema: str | None = None
        self._update()
        self._identity, self._schema = self._identify(), VERSION

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction, committed whole or not at all."""
        if self.read_only:
            raise StorageError(f"{self.address}: {EXPLANATIONS['read-only']}")
        with self._connected() as connection:
            connection = connection.execution_options(writing=True)
            with connection.begin():
                self._require_same_schema(connection)
                yield connection
                if self._file is None:  # a server may upgrade between the first look and what was written since
                    self._require_same_schema(connection)
                self._require_same_file()  # once more, before it is acknowledged
                self._require_same_log(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading."""
        with self._connected() as connection:
            yield connection
            if self._file is not None and self.read_only:
                require_unchanged(connection, self._file)

    @contextmanager
    def turn(self, study: int) -> Iterator[None]:
        """Hold the turn of a study, once no other worker does; a worker that dies releases it."""
        if self._file is not None:
            self._require_same_file()
            with locked(Path(f"{self._file}.{study}.turn"), rights_of(self._file)):
                yield
            return
        with self._translated():
            connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

        def attempt() -> bool:
            with self._translated():
                if connection.execute(sa.select(sa.func.pg_try_advisory_lock(LOCK, study))).scalar():
                    return True
                connection.execute(sa.text(f"SET lock_timeout = {round(1000 * QUEUED)}"))
                try:  # the server keeps the order of those who wait, and they need not ask again and again
                    connection.execute(sa.select(sa.func.pg_advisory_lock(LOCK, study)))
                except OperationalError as trouble:
                    if getattr(trouble.orig, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                        raise
                    return False
                return True

        def holder() -> str:
            with self._translated():
                return f"connection {connection.execute(HOLDER, {'lock': LOCK, 'study': study}).scalar()}"

        def release() -> None:
            with suppress(SQLAlchemyError):  # a lost turn costs others time, not outcomes
                connection.execute(sa.select(sa.func.pg_advisory_unlock(LOCK, study)))

        try:
            with take_turn(attempt, holder, release):
                yield
        finally:
            with suppress(SQLAlchemyError):
                connection.close()

    def claim(self, study: int, run: str) -> Callable[[], None] | None:
        """Claim the trials of a run; a worker that dies, or loses its connection, releases them.

        Args:
            study: whose trials they are.
            run: identifies the run.

        Returns:
            What releases them, or None if another worker has them.
        """
        number = zlib.crc32(f"{study} {run}".encode())
        if self._file is not None:
            self._require_same_file()
            return claimed(Path(f"{self._file}.{number:08x}.run"))
        with self._translated():
            connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            signed = number - 2**32 if number >= 2**31 else number
            if connection.execute(sa.select(sa.func.pg_try_advisory_lock(CLAIM_LOCK, signed))).scalar():
                return connection.close
            connection.close()
        return None

    def now(self, connection: Connection) -> float:
        """The time by the database's clock, in seconds since 1970: SQLite's is this machine's."""
        if self._file is not None:
            return time.time()
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _engine(self, url: sa.URL) -> Engine:
        if self._file is None:
            return sa.create_engine(url, **_options(url))
        return reading_engine(self._file) if self.read_only else writing_engine(url, self._file)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection to what is still in its place, before and after it is used."""
        self._require_same_file()
        try:
            with self._translated(), self.engine.connect() as connection:
                self._require_same_log(connection)
                yield connection
                self._require_same_log(connection)
        finally:
            if self._lost_log:
                self.engine.dispose()  # the last connection that is closed saves what it can

    def _require_same_log(self, connection: Connection) -> None:
        """Refuse to go on without the write-ahead log: what is written without it would be gone."""
        if self._file is None or self.read_only:
            return
        self._lost_log = self._lost_log or log_lost(connection)
        if self._lost_log:
            raise StorageError(f"{self.address}: {LOST_LOG}")

    def _identify(self) -> tuple[int, int] | None:
        """Device and number of the database's file; None where it is a server."""
        return None if self._file is None else identity(self._file) or (0, 0)

    def _require_same_file(self) -> None:
        """Refuse to work on a file that has another's name now, or none: what is written there would be gone."""
        if self._identity is not None and self._identify() != self._identity:
            raise StorageError(
                f"{self.address}: the file was deleted or replaced while it was open; nothing of this call was "
                "written. Put the file back, or open the study (start the dashboard, the worker) again to use the "
                "present one"
            )

    def _require_same_schema(self, connection: Connection) -> None:
        """Refuse to write into tables that a newer version has upgraded since they were opened."""
        if self._schema is None:
            return
        found = connection.execute(CURRENT).scalars().all()
        if found != [self._schema]:
            raise StorageError(
                f"{self.address}: it was upgraded by a newer allweather (schema {', '.join(found)}; this program knows "
                f"{self._schema}) while it was open; nothing of this call was written. End this program, update "
                "allweather, and start it again"
            )

    def _update(self) -> None:
        """Upgrade an older schema; refuse a newer one."""
        if self._file is None or self._file.exists():
            with self.reading() as connection:
                if _schema_version(connection) == [VERSION]:
                    return
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
    return list(connection.execute(CURRENT).scalars())


CURRENT = sa.text("SELECT version_num FROM alembic_version")
HOLDER = sa.text(
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = :lock AND objid = :study"
)


def _options(url: sa.URL) -> dict[str, Any]:
    options: dict[str, Any] = {"poolclass": NullPool}  # a connection that waits for the next ask may be dead by then
    if url.get_backend_name() == "postgresql" and "options" not in url.query:
        # A worker that is suspended while it writes must not stop the others for ever.
        limits = {"lock_timeout": BUSY_TIMEOUT, "idle_in_transaction_session_timeout": 2 * BUSY_TIMEOUT}
        options["connect_args"] = {"options": " ".join(f"-c {name}={1000 * each}" for name, each in limits.items())}
    return options


EARLIER = (
    "it was made by an earlier development version, whose tables have other columns; export the outcomes with that "
    "version as CSV, and add them to a new study"
)
EXPLANATIONS = {
    "readonly database": "it is read-only; make the file and its folder writable",
    "read-only": "it is read-only; make the file and its folder writable",
    "unable to open": "it cannot be opened; check that its folder exists and is writable",
    "is full": "the disk is full; nothing of this call was written, all before it is safe",
    "not a database": "it is not a SQLite database, or it is damaged; restore a backup, or export what can be read",
    "malformed": "it is damaged; restore a backup, or export what can be read",
    **dict.fromkeys(("events.checksum", "studies.checksum", 'column "checksum"', "column named checksum"), EARLIER),
    "disk I/O": "the disk failed; nothing of this call was acknowledged",
    "lock timeout": f"another worker has been writing for more than {BUSY_TIMEOUT} seconds",
    "locked": f"another worker has been writing for more than {BUSY_TIMEOUT} seconds",
    "too many clients": "the server takes no more connections; raise its max_connections, or repeat the call later",
    "connection": "the connection was lost; nothing of this call was acknowledged, so it can be repeated",
    "terminat": "the connection was lost; nothing of this call was acknowledged, so it can be repeated",
}


def _explanation(said: str) -> str:
    meaning = next((words for sign, words in EXPLANATIONS.items() if sign in said), None)
    said = " ".join(said.split())
    return said if meaning is None else f"{meaning} ({said})"
