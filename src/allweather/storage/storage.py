"""Storage: the database that studies are kept in, and how a study is found there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allweather.errors import Conflict, require, require_number
from allweather.storage.expiry import EXPIRE

if TYPE_CHECKING:
    from allweather.storage.journal import Journal


@dataclass(frozen=True, eq=False)
class Storage:
    """A database for studies: `sqlite:///file.db`, or `postgresql+psycopg://user@host/database` for many workers.

    Example:
        >>> Storage("sqlite:///kiosk.db", expire=3600).expire
        3600
    """

    url: str
    expire: float = EXPIRE
    """Seconds after which a trial that was asked for and never told is given up: its worker is presumed dead."""

    def __post_init__(self) -> None:
        require(isinstance(self.url, str), "Storage(url=...)", "be an address such as sqlite:///study.db", self.url)
        require_number(self.expire, "Storage(expire=...)", above=0)

    def find(self, name: str) -> Journal | None:
        """Return the journal of the study called `name`, or None if there is none."""
        from allweather.storage.database import Database  # here and below, since SQLAlchemy takes time to import
        from allweather.storage.journal import Journal, names

        database = Database(self.url)
        if name in names(database):
            return Journal.open(database, name)
        database.close()
        return None

    def find_or_create(self, name: str, spec: Mapping[str, Any]) -> tuple[Journal, bool]:
        """Return the journal of a study, and whether it was created just now.

        Args:
            name: of the study.
            spec: what it is made of as plain data, if it is new.
        """
        from allweather.storage.database import Database
        from allweather.storage.journal import Journal

        document = {**spec, "expire": self.expire} if self.expire != EXPIRE else dict(spec)
        while True:
            found = self.find(name)
            if found is not None:
                return found, False
            with suppress(Conflict):  # another worker just created one of this name
                return Journal.create(Database(self.url), name, document), True


def storage_of(storage: str | Storage) -> Storage:
    """Return a storage by its address, or as it is."""
    place = Storage(storage) if isinstance(storage, str) else storage
    require(isinstance(place, Storage), "Study(storage=...)", "be an address such as sqlite:///study.db", storage)
    return place
