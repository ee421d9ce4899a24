"""Turns: workers decide one after the other, and none waits for ever for one that is suspended.

A turn saves computations; it does not protect the journal. Whoever decides without one, because the holder has not
moved for as long as its lease, writes optimistically like everybody, and the later of two writers decides again.
"""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from allweather.errors import StorageError

log = logging.getLogger("allweather")
LEASE_SECONDS = 300.0
"""Seconds after which the others stop waiting for one worker that holds the turn."""
MAX_WAIT_SECONDS = 3600.0
"""Seconds that a worker waits for a turn, whoever holds it."""
NOTICE_SECONDS = 10.0
"""Seconds of waiting after which a message says so."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.002, 0.05
"""Seconds between two attempts."""
FIRST_NAME_BYTE = 1
"""Where the holder's name begins in a locked file: on Windows nobody else can read the first byte, which is locked."""
_turns = itertools.count()


@contextmanager
def take_turn(attempt: Callable[[], bool], holder: Callable[[], str], release: Callable[[], None]) -> Iterator[bool]:
    """Hold a turn, or go on without it once its holder's lease is over; gives whether it is held.

    Args:
        attempt: takes the turn if nobody holds it, and returns whether it did.
        holder: identifies who holds the turn, and since when.
        release: ends the turn.

    Example:
        >>> with take_turn(lambda: True, lambda: "worker 1", lambda: None) as held:
        ...     held
        True
    """
    held = _wait(attempt, holder)
    try:
        yield held
    finally:
        if held:
            release()


def _wait(attempt: Callable[[], bool], holder: Callable[[], str]) -> bool:
    started = time.monotonic()
    pause, since, known, noticed = FIRST_PAUSE_SECONDS, started, "", False
    while not attempt():
        now, current = time.monotonic(), holder()
        if current != known:
            known, since = current, now
        if now - since > LEASE_SECONDS:
            log.warning("deciding without a turn: its holder (%s) has not released it for %.0f s", known, LEASE_SECONDS)
            return False
        if now - started > MAX_WAIT_SECONDS:
            raise StorageError(f"no turn to decide within {MAX_WAIT_SECONDS:.0f} s: other workers hold it; try again")
        if not noticed and now - started > NOTICE_SECONDS:
            log.info("waiting for the turn to decide, which another worker holds (%s)", known)
            noticed = True
        time.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_SECONDS)
    return True


@contextmanager
def locked(path: Path, rights: int = 0o600) -> Iterator[bool]:
    """Hold the lock of a file, once no other process or thread does; gives whether it is held.

    The holder writes its process number and the number of its turn into the file, by which the others see that the
    lock has changed hands; they stop waiting for one that keeps it longer than its lease.

    Args:
        path: the file, which is created if there is none.
        rights: of the new file: who may take part.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "study.turn") as held:
        ...     held
        True
    """
    lock = FileLock(path, mode=rights, blocking=False, on_acquired=_write_holder)

    def attempt() -> bool:
        try:
            lock.acquire()
        except Timeout:
            return False
        except OSError as error:
            message = f"{path}: cannot be locked ({error}); make the folder of the database writable"
            raise StorageError(message) from error
        return True

    def holder() -> str:
        with path.open("rb", buffering=0) as file:
            file.seek(FIRST_NAME_BYTE)
            return file.read(200).decode(errors="replace")

    with take_turn(attempt, holder, lock.release) as held:
        yield held


def claimed(path: Path) -> Callable[[], None] | None:
    """Hold the lock of a file until it is released or this process ends, unless another process or thread does.

    Args:
        path: the file, which is created if there is none and deleted by its release.

    Returns:
        What releases the lock; None where it is held.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release = claimed(Path(folder) / "study.run")
        ...     again = claimed(Path(folder) / "study.run")
        ...     release()
        >>> again is None
        True
    """
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    except OSError as error:
        message = f"{path}: cannot be locked ({error}); make the folder of the database writable"
        raise StorageError(message) from error

    def release() -> None:
        path.unlink(missing_ok=True)
        lock.release()

    return release


def _write_holder(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f" process {os.getpid()}, turn {next(_turns)}".encode())
