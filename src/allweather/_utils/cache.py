"""A cache of results."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Result = TypeVar("Result")


class ResultCache:
    """The most recently used results.

    Args:
        size: how many results are kept.

    Example:
        >>> cache = ResultCache(size=1)
        >>> cache.put("a", 1), cache.put("b", 2)
        (1, 2)
        >>> cache.get("a"), cache.get("b")
        (None, 2)
    """

    def __init__(self, size: int) -> None:
        self._size, self._results, self._lock = size, OrderedDict[Hashable, Any](), threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return the result stored under a key, or None."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def find(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result stored under a key, or compute and store it."""
        found: Result | None = self.get(key)
        return self.put(key, compute()) if found is None else found

    def put(self, key: Hashable, result: Result) -> Result:
        """Store a result, and drop the least recently used one."""
        with self._lock:
            self._results[key] = result
            self._results.move_to_end(key)
            while len(self._results) > self._size:
                self._results.popitem(last=False)
        return result
