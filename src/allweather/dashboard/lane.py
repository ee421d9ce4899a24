"""One kind of computation on a study: a study object of its own, so that other kinds never wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from allweather.dashboard.aside import Aside
from allweather.study import Study

Found = TypeVar("Found")
AT_ONCE = 2
"""Computations of one kind that all studies make together: a third would only slow down the others."""


class Rooms:
    """How many computations of each kind the server makes at once."""

    def __init__(self) -> None:
        self.asking, self.advising, self.drawing = (asyncio.Semaphore(AT_ONCE) for _ in range(3))


class Lane:
    """A study that is opened when it is first needed, and the line of those who wait for it."""

    def __init__(self, make: Callable[[], Study], room: asyncio.Semaphore) -> None:
        self._make, self._aside, self._lock = make, Aside(room), threading.Lock()
        self._study: Study | None = None

    async def run(self, work: Callable[[Study], Found], reader: Request) -> Found:
        """What `work` makes of the study, in a thread, one after the other."""

        def compute() -> Found:
            with self._lock:  # what a cancelled request has begun goes on beside the line
                if self._study is None:
                    self._study = self._make()
                return work(self._study)

        return await self._aside.run(compute, reader)

    def end(self) -> None:
        """Let go of all who wait."""
        self._aside.end()
