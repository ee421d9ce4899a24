"""Limits on threads, and a stopwatch for the stages of a computation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController


@contextmanager
def threads(count: int) -> Iterator[None]:
    """At most `count` threads, for torch and for the linear algebra under NumPy and SciPy.

    Example:
        >>> with threads(1):
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    with _pools().limit(limits=count):
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


class Stopwatch:
    """Seconds by stage.

    Example:
        >>> watch = Stopwatch()
        >>> with watch("fit"):
        ...     pass
        >>> list(watch.seconds)
        ['fit']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def reset(self) -> None:
        """Forget what was measured."""
        self.seconds.clear()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the time of the block to its stage."""
        started = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started
