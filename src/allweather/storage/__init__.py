"""The study's journal in SQLite or PostgreSQL."""

from allweather.storage.database import Conflict, Database, StorageError
from allweather.storage.exchange import export_lines, import_lines
from allweather.storage.journal import Event, Journal, MemoryJournal, names
from allweather.storage.place import Storage

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
