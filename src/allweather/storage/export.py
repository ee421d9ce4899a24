"""A whole study as JSON lines: a header, then its events in order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from allweather.errors import Conflict, InvalidInput, is_number, require
from allweather.serialization.checks import below
from allweather.serialization.fields import check_fields
from allweather.serialization.spaces import decode_space
from allweather.space import Space
from allweather.storage.checksum import checksum, event_checksum, json_text
from allweather.storage.memory import MemoryJournal, require_name
from allweather.storage.migrations import VERSION
from allweather.trials.events import Event
from allweather.trials.imported import check_events
from allweather.trials.validation import Validator

if TYPE_CHECKING:
    from allweather.storage.database import Database
    from allweather.storage.journal import Journal

FORMAT = "allweather-journal"


def export_lines(journal: Journal | MemoryJournal) -> Iterator[str]:
    """The study as lines of JSON, the first of which says what they are."""
    yield header_line(journal.name, journal.spec)
    for event in journal.read():
        yield event_line(event)


def header_line(name: str, spec: dict[str, Any]) -> str:
    """Return the first line of an exported study."""
    head = {"format": FORMAT, "version": VERSION, "name": name, "spec": spec}
    return json.dumps({**head, "checksum": checksum(json_text(spec))})


def event_line(event: Event) -> str:
    """Return an event as a line of an exported study."""
    fields: dict[str, Any] = {"number": event.number, "kind": event.kind, "trial": event.trial}
    fields |= {"at": event.at, "worker": event.worker, "payload": event.payload}
    return json.dumps({**fields, "checksum": _checksum(event)})


def import_lines(database: Database, lines: Iterable[str], name: str | None = None) -> str:
    """A study from lines of JSON, under its own name or another; all of it or nothing.

    Returns:
        The study's name.
    """
    from allweather.storage.journal import Journal

    rows = [_parsed(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
    head = rows[0] if rows else {}
    fits = head.get("format") == FORMAT
    require(fits, "import_lines(lines=...)", f"begin with a header of format {FORMAT!r}", head or "nothing")
    readable = isinstance(head.get("version"), str) and head["version"] <= VERSION
    require(readable, "import_lines(lines=...)", f"be of version {VERSION} or older", head.get("version"))
    chosen = head.get("name") if name is None else name
    require_name(chosen)
    written = [_event(row, number) for number, row in enumerate(rows[1:], start=1)]
    spec = head.get("spec") or {}
    _check_study(spec, written)
    _require_same(head, "" if not isinstance(spec, dict) else checksum(json_text(spec)), 1)
    for row, event in zip(rows[1:], written, strict=True):
        _require_same(row, _checksum(event), event.number + 1)
    try:
        Journal.create(database, str(chosen), spec, written)
    except Conflict:
        requirement = f"be new in {database.address}"
        raise InvalidInput(where="import_lines(name=...)", requirement=requirement, received=chosen) from None
    return str(chosen)


def readable_space(spec: dict[str, Any]) -> Space | None:
    """Return the variables of a spec as it is stored; None where they cannot be read."""
    try:
        return decode_space(spec["variables"], "variables")
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _check_study(spec: Any, written: Sequence[Event]) -> None:
    """Refuse a spec that is none, or events that its variables do not allow; what was salvaged may have no spec."""
    where = "import_lines(lines=...) line 1"
    require(isinstance(spec, dict), where, "say what the study is made of as an object", spec)
    if not spec:
        return
    fields = check_fields(spec, where)
    space = decode_space(fields["variables"], below(where, "variables"))
    place = "import_lines(lines=...) line {}".format
    validator = Validator(space, "control" in fields, tuple(fields.get("outcomes", ())))
    check_events(written, validator, lambda event: place(event.number + 1))


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as trouble:
        raise InvalidInput(f"line {number} is not JSON: {trouble}", where="import_lines(lines=...)") from None
    require(isinstance(row, dict), f"import_lines(lines=...) line {number}", "be an object", row)
    return dict(row)


def _checksum(event: Event) -> str:
    text = json_text(event.payload)
    return event_checksum(event.number, event.kind, event.trial, event.at, event.worker, text)


def _require_same(row: dict[str, Any], found: str, number: int) -> None:
    """Refuse a line that was changed since it was exported; a line without checksum is taken as it is."""
    remedy = "export it again; where you changed the line on purpose, remove its checksum"
    where = f"import_lines(lines=...) line {number}"
    require(row.get("checksum", found) == found, where, "be as it was exported, by its checksum", found, remedy)


def _event(row: dict[str, Any], number: int) -> Event:
    where = f"import_lines(lines=...) event {number}"
    known = {"number", "kind", "trial", "at", "worker", "payload"}
    listed = f"have exactly {sorted(known)}, and a checksum where it was not changed"
    require(set(row) - {"checksum"} == known, where, listed, sorted(row))
    require(row["number"] == number, where, f"be number {number}", row["number"])
    kinds = ("asked", "told", "added", "corrected", "expired", "changed", "observed")
    require(row["kind"] in kinds, where, f"be one of {', '.join(kinds)}", row["kind"])
    trial, at, worker = row["trial"], row["at"], row["worker"]
    require(isinstance(row["payload"], dict), where, "have a payload that is an object", row["payload"])
    counted = isinstance(trial, int) and not isinstance(trial, bool) and trial >= 0
    whole = trial is None and row["kind"] in ("added", "changed", "observed")
    require(counted or whole, where, "name a trial by its number", trial)
    require(is_number(at) and math.isfinite(at), where, "have a time in seconds", at)
    require(isinstance(worker, str) and len(worker) <= 200, where, "have a worker of up to 200 characters", worker)
    return Event(row["kind"], row["payload"], trial, number, at, worker)
