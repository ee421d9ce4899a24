"""Storage: the database that studies are kept in, and how a study is opened there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allweather.errors import Conflict, InvalidInput, require, require_number
from allweather.serialization.checks import NoPlainForm
from allweather.serialization.fields import stored_fields
from allweather.serialization.legacy import space_of
from allweather.serialization.spaces import decode_space, encode_space
from allweather.space import Space
from allweather.storage.memory import MemoryJournal
from allweather.storage.session import Session
from allweather.trials.history import History

if TYPE_CHECKING:
    from allweather.methods.composition import Composition
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
    recipe: Mapping[str, Any] | None = None
    """What the study was described with, where it was not made by a program."""

    def __post_init__(self) -> None:
        require(isinstance(self.url, str), "Storage(url=...)", "be an address such as sqlite:///study.db", self.url)
        require_number(self.expire, "Storage(expire=...)", above=0)

    @classmethod
    def for_spec(cls, url: str, spec: Spec) -> Storage:
        """Return the storage of a study that a spec describes."""
        expire = {"expire": spec.fields["expire"]} if "expire" in spec.fields else {}
        return cls(url, recipe=spec.to_dict(), **expire)

    def journal(
        self,
        name: str,
        description: Mapping[str, str],
        recipe: Mapping[str, Any] | None = None,
        space: Space | None = None,
    ) -> Journal:
        """The journal of the study called `name`: a new one, or that of a study with this very description.

        Args:
            name: of the study.
            description: what must be the same when it is opened again.
            recipe: what the study is made of, as plain data, where it can be said so and was not described with one.
            space: its variables, which are stored by themselves where there is no recipe.
        """
        from allweather.storage.database import Database  # here, since SQLAlchemy takes time to import
        from allweather.storage.journal import Journal, names

        database = Database(self.url)
        kept_recipe = self.recipe
        if kept_recipe is None and recipe is not None:
            kept_recipe = {**recipe, "expire": self.expire}
        written = _document(description, kept_recipe, space)
        if name not in names(database):
            try:
                return Journal.create(database, name, written)
            except Conflict:  # made by another worker just now
                pass
        journal = Journal.open(database, name)
        require_same_study(journal, description, space)
        return journal


CONTROLLED = ("costs", "budget")


def require_same_study(journal: Journal, description: Mapping[str, str], space: Space | None = None) -> None:
    """Raise `InvalidInput` unless the journal is of a study with this description.

    A part that the journal does not mention, because an earlier version wrote it, is not compared.

    Args:
        journal: of an existing study.
        description: of the study that is being opened.
        space: its variables, which are compared as such: `Real(0, 1)` is `Real(0.0, 1.0)`.
    """
    document = journal.recipe
    kept = document.get("study", {})
    for part, now in description.items():
        before = kept.get(part, "" if part == "outcomes" else now)
        if before == now or (part == "space" and space is not None and stored_space(document, journal.name) == space):
            continue
        where = f"Study(control=...) {part}" if part in CONTROLLED else f"Study({part}=...)"
        made = f"what the study {journal.name!r} in {journal.address} was made with, {before or 'nothing'}"
        remedy = "use another name for another study"
        raise InvalidInput(f"must be {made}, got {now or 'nothing'}", where=where, remedy=remedy)


def stored_space(document: Mapping[str, Any], name: str) -> Space | None:
    """Return the variables that a study was made with; None where they cannot be read.

    Args:
        document: what the journal says the study was made with.
        name: of the study.
    """
    spec = document.get("recipe")
    try:
        if spec is not None:
            return decode_space(stored_fields(spec, name)["variables"], name)
        if "variables" in document:
            return decode_space(document["variables"], name)
        return space_of(str(document.get("study", {}).get("space", "")))
    except InvalidInput:
        return None


def stored_outcomes(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the outcomes that a study was made with; empty where there is one.

    Args:
        document: what the journal says the study was made with.

    Example:
        >>> stored_outcomes({"study": {"outcomes": '{"yield": "Maximize", "purity": "AtLeast"}'}})
        ('yield', 'purity')
    """
    try:
        found = json.loads(document.get("study", {}).get("outcomes") or "{}")
    except (TypeError, ValueError, RecursionError):
        found = None
    require(isinstance(found, dict), "study: outcomes", "be an object of kinds by name", found)
    return tuple(map(str, found))


def resume_composition(
    storage: str | Storage | None, name: str, composition: Composition, names: Sequence[str]
) -> Composition:
    """Return the composition to resume a study with: what the code gives now, or meant when version 1 stored it.

    Args:
        storage: the database or its address.
        name: of the study, which need not exist.
        composition: as the code gives it.
        names: the variables that laws given by order are about.
    """
    if storage is None:
        return composition
    from allweather.serialization.compositions import as_stored
    from allweather.storage.database import Database
    from allweather.storage.journal import Journal
    from allweather.storage.journal import names as study_names

    database = Database(_checked(storage).url)
    if name not in study_names(database):
        return composition
    document = Journal.open(database, name).recipe
    spec = document.get("recipe")
    earlier = "variables" not in document if spec is None else spec.get("version", 1) == 1
    return as_stored(composition, spec, names) if earlier else composition


def open_session(
    storage: str | Storage | None,
    name: str,
    empty: History,
    description: Mapping[str, str],
    spec: Mapping[str, Any] | None,
) -> Session:
    """Open a session on the journal of a study: in a database, or in memory.

    Args:
        storage: the database or its address; None for a journal in memory.
        name: of the study.
        empty: its history before the first event.
        description: what must be the same when the study is opened again.
        spec: what the study is made of, as plain data, where it has such a form.
    """
    if storage is None:
        return Session(MemoryJournal(name, _document(description, spec, empty.space)), empty)
    place = _checked(storage)
    return Session(place.journal(name, description, spec, empty.space), empty, place.expire)


def _checked(storage: str | Storage) -> Storage:
    place = Storage(storage) if isinstance(storage, str) else storage
    require(isinstance(place, Storage), "Study(storage=...)", "be an address such as sqlite:///study.db", storage)
    return place


def _document(description: Mapping[str, str], spec: Mapping[str, Any] | None, space: Space | None) -> dict[str, Any]:
    """What a journal says a study was made with."""
    document: dict[str, Any] = {"study": dict(description), "recipe": None if spec is None else dict(spec)}
    if spec is None and space is not None:
        with suppress(NoPlainForm):
            document["variables"] = encode_space(space)
    return document
