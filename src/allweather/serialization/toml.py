"""Specs as the text of a TOML file: reading and writing."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from allweather.errors import InvalidInput, require

MAX_FILE_CHARACTERS = 200_000
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
    require(len(text) <= MAX_FILE_CHARACTERS, where, f"have at most {MAX_FILE_CHARACTERS} characters", f"{len(text)}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as mistake:
        raise InvalidInput(f"is not TOML: {mistake}", where=where) from None
    except RecursionError:
        raise InvalidInput("is nested too deeply", where=where) from None


def to_toml(fields: Mapping[str, Any]) -> str:
    """Return the fields of a spec as TOML: plain ones first, then a section per table.

    Args:
        fields: plain data, without None.

    Example:
        >>> print(to_toml({"name": "kiosk", "variables": {"order": {"lower": 0, "upper": 100}}}))
        name = "kiosk"
        <BLANKLINE>
        [variables.order]
        lower = 0
        upper = 100
        <BLANKLINE>
    """
    return tomli_w.dumps(fields, indent=2)
