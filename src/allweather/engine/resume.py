"""Resuming a stored study: what is stored and what is given, where they differ, and which of them is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from allweather.engine.setup import Setup
from allweather.errors import InvalidInput, require
from allweather.serialization import Spec
from allweather.serialization.changes import CHANGEABLE, Difference, differences, show_setting
from allweather.storage import MemoryJournal, Storage
from allweather.storage.session import Session
from allweather.storage.settings import Settings
from allweather.storage.storage import find_journal

EXISTING = ("stored", "given")
KINDS = {"objective": ("method", "distance"), "acquisition": ("method",), "control": ("method", "costs", "budget")}
"""Entries of a study's identity that depend on a field of its spec other than the one of the same name."""


class Opened(NamedTuple):
    """A study that was created or resumed."""

    setup: Setup
    """What it is made of, as it is stored."""
    session: Session
    changes: int
    """Number of changes of the study that the setup includes."""
    wanted: Setup | None = None
    """What it shall be changed to, where that was given."""


def open_study(given: Setup, storage: str | Storage | None, name: str, existing: str | None) -> Opened:
    """Create a study, or resume the one that is stored under this name.

    Args:
        given: what the code says that it is made of.
        storage: the database or its address; None for a journal in memory.
        name: of the study.
        existing: what to keep where an existing study is made of something else: `stored` or `given`.
    """
    require(existing in (None, *EXISTING), "Study(existing=...)", 'be "stored" or "given"', existing)
    if storage is None:
        return Opened(given, Session(MemoryJournal(name, given.document), given.history()), 0)
    journal, expire, new = find_journal(storage, name, given.document)
    if new:
        return Opened(given, Session(journal, given.history(), expire), 0)
    settings = Settings.of(journal)
    found = settings_differences(given, settings)
    if found and existing is None:
        raise different(found, name, journal.address)
    setup, wanted = (stored_setup(given, settings), given) if found else (given, None)
    first = settings.first if found or settings.changes else given.space
    session = Session(journal, setup.history(first), expire)
    if settings.changes:
        setup = setup.within(settings.space)
    return Opened(setup, session, len(settings.changes), wanted if existing == "given" else None)


def stored_setup(given: Setup, settings: Settings) -> Setup:
    """Return what a stored study is made of; parts without plain form are those given.

    Args:
        given: what the code says that it is made of.
        settings: what the journal says.
    """
    if settings.fields is not None:
        found = Setup.of_spec(Spec(settings.fields, settings.name), given.factory.device)
        return found.within(settings.space)
    for change in settings.changes:
        given = given.changed(change, settings.space)
    return given.within(settings.space)


def settings_differences(given: Setup, settings: Settings) -> list[Difference]:
    """Return where a stored study differs from what is given; units of variables are not compared.

    Args:
        given: what the code says that it is made of.
        settings: what the journal says.
    """
    if settings.fields is not None and given.spec is not None:
        found = differences(stored_setup(given, settings).spec or {}, given.spec)
        return [each for each in found if each.place[0] != "variables" or each.place[-1] != "unit"]
    return _identity_differences(given, settings)


def _identity_differences(given: Setup, settings: Settings) -> list[Difference]:
    """Return the differences of studies with parts that have no plain form: of variables, and of the parts' kinds."""
    now, found = given.identity, list[Difference]()
    altered = {key for change in settings.changes for key in change}
    compared = {part: text for part, text in {"outcomes": "", **settings.identity}.items() if part in now}
    for key in altered & set(CHANGEABLE[1:]):
        stored = next(change[key] for change in reversed(settings.changes) if key in change)
        found += differences({key: stored}, {key: given.plain(key)})
        for part in (key, *KINDS.get(key, ())):
            compared.pop(part, None)
    space = settings.space if settings.readable_space() is not None else None
    for part, before in compared.items():
        same = space == given.space if part == "space" and space is not None else before == now[part]
        if not same:
            text = repr(space) if part == "space" and space is not None else before
            found.append(Difference((part,), text or None, now[part] or None))
    return found


def different(found: list[Difference], name: str, address: str) -> InvalidInput:
    """Return the error that names every difference, and asks what to keep.

    Args:
        found: what differs.
        name: of the study.
        address: of the database.
    """
    first, *others = found
    made = f"what the study {name!r} in {address} was made with, {_described(first)}"
    also = "".join(f"; also `{_where(each)}` is {_described(each)}" for each in others)
    stored = 'pass existing="stored" to go on with what is stored'
    given = ', existing="given" to change the study to what is given,'
    fixed = [each for each in found if _field(each) not in CHANGEABLE]
    remedy = f"{stored}{'' if fixed else given} or use another name for another study"
    return InvalidInput(f"must be {made}{also}", where=_where(first), remedy=remedy)


def require_changeable(before: Setup, after: Setup) -> None:
    """Refuse changes of what a study cannot change, such as its direction.

    Args:
        before: what the study is made of.
        after: what it shall be made of.
    """
    for key in ("direction", "seed"):
        old, new = getattr(before.factory, key), getattr(after.factory, key)
        require(old == new, f"Study({key}=...)", f"stay {old}: it cannot be changed", new, "use another name")
    for key in ("outcomes", "cautious"):
        same = before.plain(key) == after.plain(key)
        require(
            same, f"Study({key}=...)", "stay: it cannot be changed", getattr(after.factory, key), "use another name"
        )
    parts = [type(each.composition.simulator).__name__ for each in (before, after)]
    require(parts[0] == parts[1], "Study(simulator=...)", "stay: it cannot be changed", parts[1], "use another name")
    sets = [_set_names(each) for each in (before, after)]
    where = "Study(control=...)"
    require(sets[0] == sets[1], where, f"keep the control sets {sets[0]}; costs and budget may change", sets[1])


def _set_names(setup: Setup) -> list[tuple[str, ...]] | None:
    sets: Any = () if setup.control is None else setup.control.sets
    return None if setup.control is None else sorted(tuple(sorted(each.variables)) for each in sets)


def _field(difference: Difference) -> str:
    """The field of the spec that a difference is about, or the entry of the identity."""
    first = difference.place[0]
    return {"space": "variables", "method": "objective", "distance": "objective", "costs": "control"}.get(first, first)


def _where(difference: Difference) -> str:
    first, *rest = difference.place
    if first in ("costs", "budget"):
        return f"Study(control=...) {first}"
    if first == "control" and rest:
        return f"Study(control=...) {rest[0]}"
    if first == "objective" and rest == ["distance"]:
        return "Study(distance=...)"
    return f"Study({'space' if first == 'variables' else first}=...)"


def _described(difference: Difference) -> str:
    inner = "" if _where(difference) == "Study(distance=...)" else " ".join(difference.place[1:])
    return f"{inner} {show_setting(difference.before)}, got {show_setting(difference.after)}".strip()
