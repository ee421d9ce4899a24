"""The study's journal in SQLite or PostgreSQL."""

from typing import TYPE_CHECKING

from allweather._utils.lazy import lazy_names
from allweather.errors import Conflict, StorageError
from allweather.storage.export import export_lines, import_lines
from allweather.storage.memory import MemoryJournal
from allweather.storage.storage import Storage
from allweather.trials.events import Event

if TYPE_CHECKING:
    from allweather.storage.database import Database
    from allweather.storage.journal import Journal, names

# These need SQLAlchemy, which a study that is kept nowhere does not wait for.
__getattr__, __dir__ = lazy_names(__name__, {"database": "Database", "journal": "Journal names"})

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
