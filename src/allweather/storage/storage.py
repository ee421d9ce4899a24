"""Storage: the database that studies are kept in, and how a study is opened there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allweather.errors import Conflict, require, require_number
from allweather.serialization.checks import NoPlainForm
from allweather.serialization.spaces import encode_space
from allweather.space import Space

if TYPE_CHECKING:
    from allweather.serialization import Spec
    from allweather.storage.journal import Journal


@dataclass(frozen=True, eq=False)
class Storage:
    """A database for studies: `sqlite:///file.db`, or `postgresql+psycopg://user@host/database` for many workers.

    Example:
        >>> Storage("sqlite:///kiosk.db", expire=3600).expire
        3600
    """

    url: str
    expire: float = 7 * 24 * 3600.0
    """Seconds after which a trial that was asked for and never told is given up: its worker is presumed dead."""
    spec: Mapping[str, Any] | None = None
    """What the study was described with, where it was not made by a program."""

    def __post_init__(self) -> None:
        require(isinstance(self.url, str), "Storage(url=...)", "be an address such as sqlite:///study.db", self.url)
        require_number(self.expire, "Storage(expire=...)", above=0)

    @classmethod
    def for_spec(cls, url: str, spec: Spec) -> Storage:
        """Return the storage of a study that a spec describes."""
        expire = {"expire": spec.fields["expire"]} if "expire" in spec.fields else {}
        return cls(url, spec=spec.to_dict(), **expire)

    def find(self, name: str) -> Journal | None:
        """Return the journal of the study called `name`, or None if there is none."""
        from allweather.storage.database import Database  # here and below, since SQLAlchemy takes time to import
        from allweather.storage.journal import Journal, names

        database = Database(self.url)
        return Journal.open(database, name) if name in names(database) else None

    def create(self, name: str, document: Mapping[str, Any]) -> Journal | None:
        """Create the journal of a study; None if another worker just created one of this name.

        Args:
            name: of the study.
            document: what it is made with.
        """
        from allweather.storage.database import Database
        from allweather.storage.journal import Journal

        spec = document.get("spec")
        if self.spec is not None:
            spec = dict(self.spec)
        elif spec is not None:
            spec = {**spec, "expire": self.expire}
        with suppress(Conflict):
            return Journal.create(Database(self.url), name, {**document, "spec": spec})
        return None


def find_journal(storage: str | Storage, name: str, document: Mapping[str, Any]) -> tuple[Journal, float, bool]:
    """Return the journal of a study, its expiry in seconds, and whether it was created just now.

    Args:
        storage: the database or its address.
        name: of the study.
        document: what it is made with, if it is new.
    """
    place = Storage(storage) if isinstance(storage, str) else storage
    require(isinstance(place, Storage), "Study(storage=...)", "be an address such as sqlite:///study.db", storage)
    while True:
        found = place.find(name)
        if found is not None:
            return found, place.expire, False
        created = place.create(name, document)
        if created is not None:
            return created, place.expire, True


def study_document(
    description: Mapping[str, str], spec: Mapping[str, Any] | None, space: Space | None
) -> dict[str, Any]:
    """Return what a journal says a study was made with.

    Args:
        description: what must be the same when the study is opened again.
        spec: what the study is made of, as plain data, where it has such a form.
        space: its variables, which are stored by themselves where there is no spec.
    """
    document: dict[str, Any] = {"study": dict(description), "spec": None if spec is None else dict(spec)}
    if spec is None and space is not None:
        with suppress(NoPlainForm):
            document["variables"] = encode_space(space)
    return document
