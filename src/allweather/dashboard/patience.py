"""Wrong tokens are answered late: a second each, eight at once; further ones are turned away at once."""

from __future__ import annotations

import asyncio

WAIT = 1.0
"""Seconds."""
WAITING = 8
"""Wrong tokens that may wait at once; further ones are turned away."""


class Patience:
    """Counts those who wait. It slows guessing down to eight a second and does not end it: tokens are long for that.

    A right token never waits.
    """

    def __init__(self, seconds: float = WAIT) -> None:
        self._seconds, self._waiting = seconds, 0

    async def wait(self) -> bool:
        """Whether there was room to wait; who hears of a wrong token has waited."""
        if self._waiting >= WAITING:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._waiting -= 1
        return True
