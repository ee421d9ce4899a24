"""The fields of a spec: which there are, and what each holds; without the parts themselves, which need torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather.errors import require
from allweather.methods.goals import AVERAGED, EVERY_TRIAL
from allweather.serialization.checks import LIST, NUMBER, PART, TABLE, WHOLE, WORD, below, read, require_plain
from allweather.serialization.legacy import VERSION

PARTS = ("context", "objective", "acquisition", "surrogate", "simulator")
REQUIRED = {"variables": TABLE}
OPTIONAL = {
    "version": WHOLE,
    "name": WORD,
    "direction": WORD,
    "seed": WHOLE,
    "initial": WHOLE,
    "method": PART,
    "goal": WORD,
    "constraints": LIST,
    "candidates": LIST,
    "control": TABLE,
    "outcomes": TABLE,
    "cautious": NUMBER,
    "caution": WORD,
    "storage": WORD,
    "expire": NUMBER,
    **dict.fromkeys(PARTS, PART),
}


def check_fields(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a spec once their names, types and version are known; the present version is left out.

    Args:
        fields: plain data, with a `version` unless it is the present one.
        where: what errors call it.

    Example:
        >>> check_fields({"version": 2, "variables": {}}, "kiosk.toml")
        {'variables': {}}
    """
    given = dict(fields) if isinstance(fields, Mapping) else fields
    read(given, where, REQUIRED, OPTIONAL)
    require_plain(given, where)
    version = given.get("version", VERSION)
    known = 1 <= version <= VERSION
    newer = "a later version wrote more recent specs: upgrade allweather"
    require(known, below(where, "version"), f"be 1 to {VERSION}", version, newer if version > 0 else "")
    if version == VERSION:
        given.pop("version", None)
    return given


def stored_fields(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a stored spec without the database's address; one without a `version` is of version 1.

    Args:
        fields: as they were stored.
        where: what errors call it.
    """
    found = check_fields({"version": 1, **fields}, where)
    if "simulator" in found:  # which had no goal of its own at first
        found.setdefault("goal", EVERY_TRIAL)
    if "outcomes" in found:  # whose limits were judged otherwise at first
        found.setdefault("caution", AVERAGED)
    return {key: value for key, value in found.items() if key != "storage"}
