"""Opening a study: its journal is read once; where what is stored and what is given differ, one of them is kept."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from allweather.errors import InvalidInput, require
from allweather.serialization.changes import CHANGEABLE, Difference, show_setting
from allweather.storage import MemoryJournal, Storage
from allweather.storage.expiry import EXPIRE
from allweather.storage.optimistic_writes import OptimisticWrites
from allweather.storage.storage import storage_of
from allweather.study.spec import Spec

Kept = Literal["stored", "given"] | None
"""What is kept of an existing study that has other parameters than those given."""
EXISTING = ("stored", "given")


class Opened(NamedTuple):
    """A study that was created or resumed."""

    writes: OptimisticWrites
    spec: Spec
    """What it is made of after the changes in its journal."""
    changes: int = 0
    """The number of these changes."""
    wanted: Spec | None = None
    """What it shall be changed to, where that was given."""


def read_study(journal: Any, expire: float | None = None) -> Opened:
    """Return the study that a journal is about.

    Args:
        journal: of the study.
        expire: seconds after which a pending trial is given up; the study's own if None.
    """
    first = Spec.from_dict(journal.spec, journal.name)
    writes = OptimisticWrites(journal, first.history(), expire or first.expire or EXPIRE)
    changes, spec = writes.history.changes, first
    for change in changes:
        spec = spec.changed(change.fields)
    return Opened(writes, spec, len(changes))


def open_study(given: Spec, storage: str | Storage | None, name: str, existing: Kept) -> Opened:
    """Create a study, or resume the one that is stored under this name.

    Args:
        given: what it is made of.
        storage: the database or its address; None for a journal in memory.
        name: of the study.
        existing: what to keep where an existing study is made of something else: `stored` or `given`.
    """
    require(existing in (None, *EXISTING), "Study(existing=...)", 'be "stored" or "given"', existing)
    if storage is None:
        return Opened(OptimisticWrites(MemoryJournal(name, given.to_dict()), given.history()), given)
    place = storage_of(storage)
    journal, new = place.find_or_create(name, given.to_dict())
    if new:
        return Opened(OptimisticWrites(journal, given.history(), place.expire), given)
    stored = read_study(journal, place.expire)
    differ = stored.spec.diff(given)
    found = [each for each in differ if each.place[0] != "variables" or each.place[-1] != "unit"]
    if found and existing is None:
        raise _different(found, name, journal.address)
    if not found and not stored.changes:  # in the units and the words of the program
        stored.writes.in_units_of(given.space)
        return stored._replace(spec=given)
    wanted = given if found and existing == "given" else None
    return stored._replace(spec=stored.spec.with_code_of(given), wanted=wanted)


def _different(found: list[Difference], name: str, address: str) -> InvalidInput:
    """The error that names every difference, and asks what to keep."""
    first, *others = found
    made = f"what the study {name!r} in {address} was made with, {_described(first)}"
    also = "".join(f"; also `{_where(each)}` is {_described(each)}" for each in others)
    stored = 'pass existing="stored" to go on with what is stored'
    given = ', existing="given" to change the study to what is given,'
    fixed = [each for each in found if each.place[0] not in CHANGEABLE]
    remedy = f"{stored}{'' if fixed else given} or use another name for another study"
    return InvalidInput(f"must be {made}{also}", where=_where(first), remedy=remedy)


def _where(difference: Difference) -> str:
    first, *rest = difference.place
    if first == "control" and rest:
        return f"Study(control=...) {rest[0]}"
    if first == "objective" and rest == ["distance"]:
        return "Study(distance=...)"
    return f"Study({'space' if first == 'variables' else first}=...)"


def _described(difference: Difference) -> str:
    inner = "" if _where(difference) == "Study(distance=...)" else " ".join(difference.place[1:])
    return f"{inner} {show_setting(difference.before)}, got {show_setting(difference.after)}".strip()
