"""A memory for solvers that start from the answers to similar questions, for as long as one search goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_MEMORY: ContextVar[dict[Any, Any] | None] = ContextVar("memory", default=None)


@contextmanager
def warm_starts() -> Iterator[None]:
    """Let solvers remember answers from one call to the next, until the end of the outermost block.

    Without it nothing is remembered between calls, so that answers do not depend, in their last digits, on what was
    computed before.

    Example:
        >>> with warm_starts():
        ...     memory()
        {}
        >>> memory() is None
        True
    """
    if memory() is not None:
        yield
        return
    token = _MEMORY.set({})
    try:
        yield
    finally:
        _MEMORY.reset(token)


def memory() -> dict[Any, Any] | None:
    """What is remembered, by what it belongs to; None outside of `warm_starts`."""
    return _MEMORY.get()
