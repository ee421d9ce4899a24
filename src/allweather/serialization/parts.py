"""Parts (objectives, distances, context models, ...) as plain data, and back: a name and non-default settings."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from allweather._utils.registry import Named, kebab, unknown
from allweather.acquisition import Acquisition
from allweather.acquisition.context_rules import ContextRule
from allweather.contexts import ContextModel, Forecast, Independent
from allweather.distances import Distance
from allweather.errors import InvalidInput, is_number, require
from allweather.methods.control import Rule
from allweather.objectives import Objective, Outcome
from allweather.schedules import Schedule
from allweather.serialization.checks import (
    LIST,
    NUMBER,
    PART,
    TABLE,
    TRUTH,
    WHOLE,
    WORD,
    Kind,
    explained,
)
from allweather.serialization.laws import decode_laws, encode_laws
from allweather.serialization.values import code_mark, encode_value, is_code, only_code
from allweather.surrogates import GP, KernelAverage, Surrogate

FAMILIES: dict[str, type[Named]] = {
    "acquisition": Acquisition,
    "context": ContextModel,
    "distance": Distance,
    "epsilon": Schedule,
    "objective": Objective,
    "outcomes": Outcome,
    "radius": Schedule,
    "rule": Rule,
    "simulator": ContextRule,
    "width": Schedule,
}
"""The family that a key stands for, where no type says it."""
SURROGATES: dict[str, type[Surrogate]] = {"gp": GP, "kernel-average": KernelAverage}
INNER = {"box"}
"""Fields that a study fills in."""
NONE, INFINITE = "none", {"inf": math.inf, "-inf": -math.inf}
"""TOML has no null, and JSON no infinity."""
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


def encode_part(key: str, part: Any) -> dict[str, Any]:
    """Return a part as its name and every setting that is not at its default; what only code can say is marked.

    Args:
        key: what errors call it, such as `objective`.
        part: an object of one of this library's families, or a `GP`.

    Example:
        >>> from allweather import DRO, TotalVariation
        >>> encode_part("objective", DRO(TotalVariation(0.2)))
        {'name': 'dro', 'distance': {'name': 'total-variation', 'radius': 0.2}}
    """
    kind = type(part)
    members = SURROGATES if isinstance(part, Surrogate) else getattr(part, "_members", {})
    name = kebab(kind.__name__)
    if members.get(name) is not kind or not kind.__module__.startswith("allweather."):
        return code_mark(getattr(part, "build", part))  # the function behind a BoTorch model says more
    if isinstance(part, Independent):
        taken = "name" not in part.models
        require(taken, key, "not be independent models of a variable called 'name'", list(part.models))
        return {"name": name, **{each: encode_part(each, model) for each, model in part.models.items()}}
    return {"name": name, **encode_settings(part)}


def decode_part(key: str, given: Any, where: str) -> Any:
    """Return the part that a name, or a table with a name and settings, stands for.

    Args:
        key: `objective`, `context`, `acquisition`, `surrogate`, `distance`, `radius`, `width`, `epsilon` or `rule`.
        given: the name or the table.
        where: what errors call it.

    Example:
        >>> decode_part("objective", {"name": "dro", "distance": {"name": "tv", "radius": 0.2}}, "kiosk: objective")
        DRO(distance=TotalVariation(radius=0.2))
    """
    return _decode(_members(key), given, where)


def encode_settings(part: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not at their default."""
    if not dataclasses.is_dataclass(part):
        return code_mark(part)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.init and not _same(value, field.default):
            inner = field.name.startswith("_") or field.name in INNER
            found[field.name] = code_mark(value) if inner else _encode_setting(field.name, value)
    return found


def decode_setting(key: str, value: Any, where: str, hint: Any = Any) -> Any:
    """Return what a key of a part holds: another part, the laws of contexts, or something plain.

    Args:
        key: the field's name.
        value: its plain form.
        where: what errors call it.
        hint: the field's type.
    """
    if key == "law":
        return decode_laws(value, where)
    if is_code(value):
        raise only_code(where, value)
    choices = _alternatives(hint)
    if value == NONE and (type(None) in choices or Any in choices):
        return None
    if isinstance(value, str) and value in INFINITE and float in choices and str not in choices:
        return INFINITE[value]
    members = _members(key, hint)
    if members and not is_number(value):
        return _decode(members, value, where)
    kinds = _kinds(hint)
    require(any(kind.fits(value) for kind in kinds), where, " or ".join(kind.words for kind in kinds), value)
    return value


def _encode_setting(key: str, value: Any) -> Any:
    if key == "law":
        return encode_laws(value)
    if value is None:
        return NONE
    if isinstance(value, Named | Surrogate):
        return encode_part(key, value)
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return encode_value(value)


def _same(value: Any, default: Any) -> bool:
    comparable = isinstance(value, bool | int | float | str | Named)
    return value is default or (comparable and type(value) is type(default) and bool(value == default))


def _decode(members: Mapping[str, Any], given: Any, where: str) -> Any:
    require(PART.fits(given), where, PART.words, given)
    if is_code(given):
        raise only_code(where, given)
    table = {"name": given} if isinstance(given, str) else dict(given)
    if "name" not in table:
        raise InvalidInput("lacks 'name'", where=where)
    name = table.pop("name")
    kind = members.get(name) if isinstance(name, str) else None
    if kind is None:
        raise unknown(where, name, members)
    if kind is Independent:
        with explained(where):
            return Independent(
                **{each: decode_part("context", part, f"{where}.{each}") for each, part in table.items()}
            )
    hints, needed = _settable(kind, where)
    for field in table:
        if field not in hints:
            raise unknown(where, field, hints)
    missing = [field for field in needed if field not in table]
    if missing:
        raise InvalidInput(f"lacks {missing[0]!r}", where=where)
    settings = {field: decode_setting(field, value, f"{where}.{field}", hints[field]) for field, value in table.items()}
    with explained(where):
        return kind(**settings)


def _members(key: str, hint: Any = Any) -> Mapping[str, Any]:
    """The classes that a key of this type may name."""
    for each in _alternatives(hint):
        if inspect.isclass(each) and issubclass(each, Surrogate):
            return SURROGATES
        if inspect.isclass(each) and issubclass(each, Named):
            return each._members
    if key == "surrogate":
        return SURROGATES
    return FAMILIES[key]._members if key in FAMILIES else {}


def _settable(kind: Any, where: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a part that plain data can fill, with their types, and those that it must."""
    hints = get_type_hints(kind)
    fields = {each.name: each for each in dataclasses.fields(kind) if each.init and not each.name.startswith("_")}
    plain = {
        name: hints[name]
        for name in fields
        if name not in INNER and (_kinds(hints[name]) or _members(name, hints[name]))
    }
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
