"""Limits on threads, and a stopwatch for the stages of a computation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import torch
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")
_ASKED = ContextVar("asked", default=False)
"""Whether a number of threads was asked for by whoever called."""


@contextmanager
def threads(count: int) -> Iterator[None]:
    """At most `count` threads, for torch and for the linear algebra under NumPy and SciPy.

    Example:
        >>> with threads(1):
        ...     torch.get_num_threads()
        1
    """
    before, outer = torch.get_num_threads(), _ASKED.set(True)
    with _pools().limit(limits=count):
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)
            _ASKED.reset(outer)


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function on one thread, unless it is called within `threads(...)`: what is small is slower on several.

    Example:
        >>> counted = one_thread(torch.get_num_threads)
        >>> with threads(2):
        ...     within = counted()
        >>> counted(), within
        (1, 2)
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with nullcontext() if _ASKED.get() else threads(1):
            return function(*args, **kwargs)

    return limited


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
