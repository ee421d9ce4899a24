"""The study's journal in SQLite or PostgreSQL."""

import importlib
from typing import TYPE_CHECKING, Any

from allweather.errors import Conflict, StorageError
from allweather.storage.export import export_lines, import_lines
from allweather.storage.memory import MemoryJournal
from allweather.storage.storage import Storage
from allweather.trials.events import Event

if TYPE_CHECKING:
    from allweather.storage.database import Database
    from allweather.storage.journal import Journal, names

_LAZY = {"Database": "database", "Journal": "journal", "names": "journal"}
"""What needs SQLAlchemy, which a study that is kept nowhere does not wait for."""


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"allweather.storage.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Conflict",
    "Database",
    "Event",
    "Journal",
    "MemoryJournal",
    "Storage",
    "StorageError",
    "export_lines",
    "import_lines",
    "names",
]
