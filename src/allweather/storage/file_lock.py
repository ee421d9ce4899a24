"""A lock on a file that the operating system releases when its holder dies, on POSIX and on Windows."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from allweather.errors import StorageError
from allweather.storage.turns import take_turn

if sys.platform == "win32":
    import msvcrt

    FIRST = 1024
    """The byte that is locked: Windows lets nobody read a locked one, and the first ones name the holder."""

    def _acquire(file: IO[str]) -> bool:
        try:
            file.seek(FIRST)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:  # held by another worker
            return False
        return True

    def _release(file: IO[str]) -> None:
        file.seek(FIRST)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _acquire(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _release(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile must not keep it


_turns = itertools.count()


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file, once no other process or thread does; gives whether it is held.

    The holder writes its process number and the number of its turn into the file, by which the others see that the
    lock has changed hands; they stop waiting for one that keeps it longer than its lease (see `turns`).

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "study.turn") as held:
        ...     held
        True
    """
    try:
        file = path.open("a+")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error}); make the folder of the database writable") from error

    def attempt() -> bool:
        if not _acquire(file):
            return False
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()}, turn {next(_turns)}")
        file.flush()
        return True

    def holder() -> str:
        file.seek(0)
        return file.read(200)

    with file, take_turn(attempt, holder, lambda: _release(file)) as held:
        yield held
