"""Specs as the text of a TOML file: reading and writing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from allweather.errors import InvalidInput, require

LARGEST = 200_000
"""Characters of a file, at most."""


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Args:
        text: of the file.
        where: what errors call it.

    Example:
        >>> parse_toml("seed = 3", "kiosk.toml")
        {'seed': 3}
    """
    require(len(text) <= LARGEST, where, f"have at most {LARGEST} characters", f"{len(text)}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as mistake:
        raise InvalidInput(f"is not TOML: {mistake}", where=where) from None
    except RecursionError:
        raise InvalidInput("is nested too deeply", where=where) from None


def to_toml(fields: Mapping[str, Any]) -> str:
    """Return the fields of a spec as TOML: plain ones first, then a section per table.

    Example:
        >>> print(to_toml({"name": "kiosk", "variables": {"order": {"lower": 0, "upper": 100}}}))
        name = "kiosk"
        <BLANKLINE>
        [variables]
        order = { lower = 0, upper = 100 }
        <BLANKLINE>
    """
    plain = [f"{_key(key)} = {_value(value)}" for key, value in fields.items() if not isinstance(value, Mapping)]
    lines = list(plain)
    for key, table in fields.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{_key(key)}]", *(f"{_key(name)} = {_value(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
