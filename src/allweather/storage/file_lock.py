"""A lock on a file that the operating system releases when its holder dies, on POSIX and on Windows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from allweather.errors import StorageError

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: IO[str]) -> None:
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                return
            except OSError:  # held by another worker
                time.sleep(0.02)

    def _release(file: IO[str]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _acquire(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _release(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile must not keep it


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, once no other process or thread does.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "study.turn"):
        ...     pass
    """
    try:
        file = path.open("w")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error}); make the folder of the database writable") from error
    with file:
        _acquire(file)
        try:
            yield
        finally:
            _release(file)
