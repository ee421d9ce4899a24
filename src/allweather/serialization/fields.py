"""The fields of a spec: which there are, and what each holds; without the parts themselves, which need torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather.errors import require, require_number
from allweather.serialization.checks import LIST, NUMBER, PART, TABLE, WHOLE, WORD, Kind, below, read, require_plain
from allweather.serialization.values import is_code

VERSION = 1
"""Of the format of specs. Whoever changes what a stored spec means raises it and translates earlier ones here."""
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
    "candidates": Kind(LIST.words, lambda value: isinstance(value, list) or is_code(value)),
    "control": TABLE,
    "outcomes": TABLE,
    "cautious": NUMBER,
    "storage": WORD,
    "expire": NUMBER,
    **dict.fromkeys(PARTS, PART),
}


def check_fields(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a spec, without the version, once their names, types and version are known.

    Args:
        fields: plain data, with or without a `version`.
        where: what errors call it.

    Example:
        >>> check_fields({"version": 1, "variables": {}}, "kiosk.toml")
        {'variables': {}}
    """
    given = dict(fields) if isinstance(fields, Mapping) else fields
    read(given, where, REQUIRED, OPTIONAL)
    require_plain(given, where)
    if "expire" in given:
        require_number(given["expire"], below(where, "expire"), above=0)
    version = given.pop("version", VERSION)
    newer = "a later version wrote it: upgrade allweather" if version > VERSION else ""
    require(version == VERSION, below(where, "version"), f"be {VERSION}", version, newer)
    return given
