"""Long computations beside the requests: one at a time in each line, and none for readers who have gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import Request

Found = TypeVar("Found")
THREAD = "allweather-computes"


class Gone(Exception):
    """Nobody waits for the answer any more, or the server is ending."""


class Aside:
    """A line of computations; a request that waits for its turn costs nothing."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._turn, self._room, self._ended = asyncio.Lock(), room, False
        self._current: asyncio.Future[Any] | None = None

    async def run(self, work: Callable[[], Found], reader: Request) -> Found:
        """The result of `work` in a thread of its own, or `Gone` where the reader left before its turn came.

        Args:
            work: computes; it may take long.
            reader: the request that waits for it.
        """
        async with self._turn, self._room:
            # A body that nobody has read comes before the news that the reader has left.
            if self._ended or await reader.is_disconnected() or await reader.is_disconnected():
                raise Gone
            self._current = result = _in_thread(work)
            return await asyncio.shield(result)  # what has begun ends, and the next waits for it

    def end(self) -> None:
        """Let go of all who wait: the server is ending."""
        self._ended = True
        if self._current is not None and not self._current.done():
            self._current.set_exception(Gone())


def _in_thread(work: Callable[[], Found]) -> asyncio.Future[Found]:
    """A thread that does not keep the server from ending: what it would write is written whole or not at all."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Found] = loop.create_future()

    def settle(found: Found | None, trouble: BaseException | None) -> None:
        if result.done():
            return
        if trouble is not None:
            result.set_exception(trouble)
        else:
            result.set_result(found)  # type: ignore[arg-type]

    def compute() -> None:
        found, trouble = None, None
        try:
            found = work()
        except BaseException as raised:
            trouble = raised
        try:
            loop.call_soon_threadsafe(settle, found, trouble)
        except RuntimeError:  # the server has ended meanwhile
            return

    threading.Thread(target=compute, daemon=True, name=THREAD).start()
    return result


def running() -> bool:
    """Whether a computation goes on in this process."""
    return any(thread.name == THREAD for thread in threading.enumerate())
