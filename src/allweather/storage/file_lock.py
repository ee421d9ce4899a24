"""A lock on a file that the operating system releases when its holder dies, and that names its holder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from allweather.errors import StorageError
from allweather.storage.turns import take_turn

FIRST_NAME_BYTE = 1
"""Where the holder's name begins: on Windows nobody else can read the first byte, which is the locked one."""
_turns = itertools.count()


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file, once no other process or thread does; gives whether it is held.

    The holder writes its process number and the number of its turn into the file, by which the others see that the
    lock has changed hands; they stop waiting for one that keeps it longer than its lease (see `turns`).

    Args:
        path: the file, which is created if there is none.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "study.turn") as held:
        ...     held
        True
    """
    lock = FileLock(path, blocking=False, on_acquired=_write_holder)

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


def _write_holder(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f" process {os.getpid()}, turn {next(_turns)}".encode())
