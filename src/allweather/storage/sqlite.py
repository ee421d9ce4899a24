"""SQLite: how its files are opened, for writing or for reading only."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.pool import NullPool

from allweather.errors import StorageError

BUSY_TIMEOUT = 30
"""Seconds to wait for another worker that is writing."""
MAX_OPEN_ATTEMPTS = 20
"""Attempts to open a file for reading while writers come and go."""
PRIVATE = 0o600
"""The rights of new databases: their owner reads and writes them."""
LOST_LOG = (
    "its -wal file, which holds the newest events, was deleted or replaced while the database was open; nothing of "
    "this call was acknowledged. End all programs that use the database, start them again, and check which trials are "
    "missing; never delete the -wal file of a database in use"
)


class DamagedText(str):
    """Text of a database that is not UTF-8, with an escape sequence for each byte that is not."""

    __slots__ = ()


def decode(text: bytes) -> str:
    r"""Return text as SQLite stores it, in UTF-8 unless it is damaged.

    Example:
        >>> decode(b"kiosk"), isinstance(decode(b"ki\xffsk"), DamagedText)
        ('kiosk', True)
    """
    try:
        return text.decode()
    except UnicodeDecodeError:
        return DamagedText(text.decode(errors="backslashreplace"))


class LoggedConnection(sqlite3.Connection):
    """A connection that knows whether its write-ahead log is still the one beside the database.

    SQLite goes on to write to a log that was deleted. What is in it reaches the database when the last connection is
    closed in order, and is gone if the process is killed. Where another process has made a new log since, moving the
    old one would overwrite what is in the new one.
    """

    _file: Path | None = None
    _identity: tuple[int, int] | None = None
    _log: tuple[int, int] | None = None

    def follow(self, file: Path) -> None:
        """Remember the log that this connection has opened beside a file."""
        self.execute("SELECT 1 FROM sqlite_master").close()  # opens the log
        self._file, self._identity, self._log = file, identity(file), identity(log_of(file))
        _open_connections.add(self)

    @property
    def log_lost(self) -> bool:
        """Whether the log was deleted or replaced since this connection opened it."""
        return self._file is not None and self._log is not None and identity(log_of(self._file)) != self._log

    def follows(self, file: Path) -> bool:
        """Return whether this is a connection to what is now in this place."""
        return self._file == file and self._identity == identity(file)

    def close(self) -> None:
        """Close the connection, which moves the log into the database, unless another log is in its place."""
        if not self._abandon():
            self._log = None
            super().close()

    def __del__(self) -> None:
        self._abandon()

    def _abandon(self) -> bool:
        """Never close the connection, if the log of another process would be lost by it."""
        file = self._file
        replaced = self.log_lost and file is not None and identity(log_of(file)) is not None and self.follows(file)
        if replaced:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        return replaced


_open_connections: weakref.WeakSet[LoggedConnection] = weakref.WeakSet()


def writing_engine(url: sa.URL, file: Path) -> Engine:
    """Return an engine with a write-ahead log, full synchronization before a commit is acknowledged, and one writer.

    Args:
        url: the database's address.
        file: the database.
    """
    arguments = {"timeout": BUSY_TIMEOUT, "factory": LoggedConnection}
    engine = sa.create_engine(url, connect_args=arguments, max_overflow=-1)

    @sa.event.listens_for(engine, "do_connect")
    def connect(*_: Any) -> None:
        # All connections of a process share the index of the log: one to a new log would read it by the old index.
        if any(each.log_lost and each.follows(file) for each in list(_open_connections)):
            raise StorageError(f"{file.name}: {LOST_LOG}")

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where SQLAlchemy says
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
        connection.follow(file)
        connection.text_factory = decode

    @sa.event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def reading_engine(file: Path) -> Engine:
    """Return an engine that reads a file which this process may not write, and follows those who write it.

    Each connection is new and decides how to open the file. While a write-ahead log is beside the file, it is read
    with its log, as the writers do. SQLite cannot open a database without its log where it cannot create one; there
    the file is opened as one that does not change, and `require_unchanged` refuses what was read if it did.

    Args:
        file: the database.
    """
    engine = sa.create_engine("sqlite://", poolclass=NullPool)

    @sa.event.listens_for(engine, "do_connect")
    def connect(_: Any, record: Any, *__: Any) -> sqlite3.Connection:
        connection, record.info["unchanged"] = _open(file)
        return connection

    @sa.event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def create_private(file: Path) -> None:
    """Create an empty database that only its owner may read and write, unless there is one.

    SQLite gives its log and the index of it the rights of the database.

    Args:
        file: the database.
    """
    with suppress(OSError):  # it exists, or SQLite says why it cannot be created
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))


def rights_of(file: Path) -> int:
    """Return who may read and write a database, for the files beside it.

    Args:
        file: the database.
    """
    try:
        return file.stat().st_mode & 0o666
    except OSError:
        return PRIVATE


def is_writable(file: Path) -> bool:
    """Return whether this process may write a database: its file, and the log beside it."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(each, os.W_OK, effective_ids=effective) for each in (file, file.parent))


def require_unchanged(connection: Connection, file: Path) -> None:
    """Refuse what was read of a file as one that does not change, if it did.

    Args:
        connection: of a `reading_engine`.
        file: the database.
    """
    unchanged = connection.info["unchanged"]
    if unchanged is not None and unchanged != _version(file):
        raise StorageError(f"{file.name} was written while it was read: try again")


def log_lost(connection: Connection) -> bool:
    """Return whether the log of a connection of a `writing_engine` was deleted or replaced."""
    driver = connection.connection.dbapi_connection
    return isinstance(driver, LoggedConnection) and driver.log_lost


def identity(file: Path) -> tuple[int, int] | None:
    """Return device and number of a file; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def log_of(file: Path) -> Path:
    """Return the write-ahead log beside a database."""
    return Path(f"{file}-wal")


def _open(file: Path) -> tuple[sqlite3.Connection, tuple[int, ...] | None]:
    """Open a file for reading; returns the connection, and the file's version where it must not change meanwhile."""
    for attempt in range(MAX_OPEN_ATTEMPTS):
        version = _version(file)
        logged = _has_log(file)
        mode = "mode=ro" if logged else "mode=ro&immutable=1"
        found = sqlite3.connect(
            f"file:{quote(str(file))}?{mode}",
            uri=True,
            timeout=BUSY_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
        )
        found.text_factory = decode
        try:
            found.execute("PRAGMA schema_version").close()
        except sqlite3.OperationalError as trouble:
            found.close()
            last = attempt == MAX_OPEN_ATTEMPTS - 1
            if last or "unable to open" not in str(trouble):
                raise
        else:
            return found, None if logged else version
    raise AssertionError("unreachable")


def _has_log(file: Path) -> bool:
    """Return whether there is a log to read; one that is empty and has no index beside it is not in use."""
    try:
        return log_of(file).stat().st_size > 0 or Path(f"{file}-shm").exists()
    except OSError:
        return False


def _version(file: Path) -> tuple[int, ...] | None:
    """Size and time of change of a file: a writer that moves its log into it changes them."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
