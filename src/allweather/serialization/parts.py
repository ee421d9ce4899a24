"""Objectives, distances, context models and the other parts, by name and with their settings."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from allweather._utils.registry import unknown
from allweather.contexts import Forecast
from allweather.errors import InvalidInput, is_number, require
from allweather.methods import method
from allweather.methods.composition import Composition
from allweather.methods.control import Control, ControlSet
from allweather.serialization.checks import LIST, NUMBER, PART, TABLE, TRUTH, WHOLE, WORD, Kind, explained, read
from allweather.serialization.laws import laws
from allweather.serialization.portable import FAMILIES
from allweather.surrogates import GP

INNER = {"box"}
"""Fields that a study fills in."""
PLAIN: dict[Any, Kind] = {
    Any: Kind("be plain", lambda _: True),
    bool: TRUTH,
    dict: TABLE,
    float: NUMBER,
    int: WHOLE,
    list: LIST,
    str: WORD,
    Mapping: TABLE,
    Sequence: LIST,
}
"""What may be written for a field, by its type."""


def part(key: str, given: Any, where: str) -> Any:
    """The part that a name, or a table with a name and settings, stands for.

    Example:
        >>> part("objective", {"name": "dro", "distance": {"name": "tv", "radius": 0.2}}, "kiosk.toml: objective")
        DRO(distance=TotalVariation(radius=0.2))
    """
    require(PART.fits(given), where, PART.words, given)
    table = {"name": given} if isinstance(given, str) else dict(given)
    if "name" not in table:
        raise InvalidInput(f"`{where}` lacks 'name'")
    name = table.pop("name")
    kind = _kind(key, name, where)
    hints, needed = _settable(kind, where)
    for field in table:
        if field not in hints:
            raise unknown(where, field, hints)
    missing = [field for field in needed if field not in table]
    if missing:
        raise InvalidInput(f"`{where}` lacks {missing[0]!r}")
    settings = {field: setting(field, value, f"{where}.{field}", hints[field]) for field, value in table.items()}
    with explained(where):
        return kind(**settings)


def setting(key: str, value: Any, where: str, hint: Any = Any) -> Any:
    """What a key of a part holds: another part, the laws of contexts, or something plain."""
    if key == "law":
        return laws(value, where)
    if key == "surrogate" or (key in FAMILIES and not is_number(value)):
        return part(key, value, where)
    require(_fits(hint, value), where, _words(hint), value)
    return value


def chosen_method(given: Any, where: str) -> Composition:
    """A published method, with its settings where it is a table."""
    require(PART.fits(given), where, PART.words, given)
    table = {"name": given} if isinstance(given, str) else dict(given)
    name = table.pop("name", None)
    settings = {key: setting(key, value, f"{where}.{key}") for key, value in table.items()}
    with explained(where):
        return method(name, **settings)


def chosen_control(table: Any, where: str) -> Control:
    """Control sets with their costs, and the budget."""
    read(table, where, {"sets": LIST}, {"budget": NUMBER, "rule": PART})
    sets = []
    for place, each in enumerate(table["sets"]):
        here = f"{where}.sets[{place}]"
        read(each, here, {"variables": LIST, "cost": NUMBER})
        with explained(here):
            sets.append(ControlSet(tuple(each["variables"]), each["cost"]))
    rule = part("rule", table["rule"], f"{where}.rule") if "rule" in table else None
    with explained(where):
        return Control(sets, table.get("budget"), rule)


def _kind(key: str, name: Any, where: str) -> Any:
    if key == "surrogate":
        if name != "gp":
            raise unknown(where, name, ["gp"])
        return GP
    try:
        return FAMILIES[key].named(name)
    except InvalidInput as mistake:
        raise InvalidInput(f"{where}: {mistake}") from None


def _settable(kind: Any, where: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a part that a recipe can fill, with their types, and those that it must."""
    hints = get_type_hints(kind)
    fields = {each.name: each for each in dataclasses.fields(kind) if each.init and not each.name.startswith("_")}
    plain = {name: hints[name] for name in fields if name not in INNER and (_kinds(hints[name]) or name in FAMILIES)}
    needed = [name for name, each in fields.items() if each.default is dataclasses.MISSING]
    by_code = [name for name in needed if name not in plain] or issubclass(kind, Forecast)
    require(not by_code, where, "be a part that needs no functions; such a study is made in Python", kind.__name__)
    return plain, needed


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _kinds(hint: Any) -> list[Kind]:
    """What may be written for a field of this type."""
    found = []
    for each in _alternatives(hint):
        origin = get_origin(each) or each
        if origin is Literal:
            options = get_args(each)
            found.append(Kind(f"be one of {list(options)}", options.__contains__))
        elif origin in PLAIN:
            found.append(PLAIN[origin])
    return found


def _fits(hint: Any, value: Any) -> bool:
    return any(kind.fits(value) for kind in _kinds(hint))


def _words(hint: Any) -> str:
    return " or ".join(kind.words for kind in _kinds(hint))
