"""Checks of plain data: what is missing, misspelt or of the wrong type is refused by its key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, is_number, require

MAX_DEPTH = 16
MAX_NUMBER = 1.7e308
FREE = ("options", "candidates", "points")
"""Keys below which texts are options of a choice."""
MAX_TEXT_CHARACTERS = 1000
"""Characters of a text: a spec holds names and numbers, not files."""


class Kind(NamedTuple):
    """What a key must hold."""

    words: str
    fits: Callable[[Any], bool]


NUMBER = Kind("be a number", is_number)
WHOLE = Kind("be a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))
WORD = Kind("be a text in quotes", lambda value: isinstance(value, str))
TRUTH = Kind("be true or false", lambda value: isinstance(value, bool))
LIST = Kind("be a list", lambda value: isinstance(value, list))
TABLE = Kind("be a table", lambda value: isinstance(value, dict))
PART = Kind("be a name, or a table with a name", lambda value: isinstance(value, str | dict))


def read(
    table: Any, where: str, required: Mapping[str, Kind] | None = None, optional: Mapping[str, Kind] | None = None
) -> dict[str, Any]:
    """Return a table once every key of it is known and holds what it should.

    Args:
        table: to check.
        where: what errors call it.
        required: the keys it must have.
        optional: the keys it may have.

    Example:
        >>> read({"lower": 0, "uper": 1}, "kiosk.toml: variables.order", {"lower": NUMBER, "upper": NUMBER})
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `kiosk.toml: variables.order` knows no 'uper'; did you mean 'upper'?
    """
    needed = dict(required or {})
    known = {**needed, **(optional or {})}
    require(isinstance(table, dict), where, "be a table", table)
    for key in table:
        if key not in known:
            raise unknown(where, key, known)
    for key in needed:
        if key not in table:
            raise InvalidInput(f"lacks {key!r}", where=where)
    for key, value in table.items():
        require(known[key].fits(value), below(where, key), known[key].words, value)
    return dict(table)


def below(where: str, key: str) -> str:
    """Return the place of a key.

    Example:
        >>> below(below("kiosk.toml", "variables"), "order")
        'kiosk.toml: variables.order'
    """
    if not where:
        return key
    return f"{where}.{key}" if ": " in where else f"{where}: {key}"


def require_plain(value: Any, where: str, depth: int = 0, free: bool = False) -> None:
    """Refuse what JSON cannot hold or nobody means: dates, NaN, control characters, very long texts.

    Args:
        value: to check.
        where: what errors call it.
        depth: how deep it is nested.
        free: whether texts may have control characters, as the options of a choice may.
    """
    require(depth < MAX_DEPTH, where, f"be nested less than {MAX_DEPTH} times", "more")
    if isinstance(value, dict):
        for key, inner in value.items():
            fits = isinstance(key, str) and key.isprintable() and 0 < len(key) <= MAX_TEXT_CHARACTERS
            require(fits, where, f"have keys of up to {MAX_TEXT_CHARACTERS} printable characters", key)
            require_plain(inner, below(where, key), depth + 1, free or key in FREE)
    elif isinstance(value, list):
        for inner in value:
            require_plain(inner, where, depth + 1, free)
    elif isinstance(value, str):
        kind = "" if free else "printable "
        fits = len(value) <= MAX_TEXT_CHARACTERS and (free or value.isprintable())
        encoded = not any("\ud800" <= each <= "\udfff" for each in value)
        require(fits and encoded, where, f"be up to {MAX_TEXT_CHARACTERS} {kind}characters", value)
    else:
        finite = is_number(value) and abs(value) <= MAX_NUMBER and math.isfinite(value)
        require(isinstance(value, bool) or finite, where, "hold finite numbers, texts and truth values", value)


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Add the place in a document, if there is one, to the errors of what is made from it."""
    try:
        yield
    except InvalidInput as mistake:
        raise (mistake.within(where) if where else mistake) from None
    except (TypeError, ValueError, ArithmeticError, AttributeError) as trouble:
        raise InvalidInput(f"does not fit: {trouble}", where=where) from trouble
