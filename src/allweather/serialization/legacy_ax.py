"""The state of an Ax node as version 1 saved it, translated to the plain data of specs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from allweather._utils.registry import kebab
from allweather.errors import require
from allweather.serialization.laws import known_laws, law_parameters

FAMILIES = ("Acquisition", "ContextModel", "Distance", "Objective", "Schedule")
KIND = "kind"
WHERE = "AllweatherNode"


def translate_state(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what version 1 saved of a node as the fields of a spec.

    Args:
        parts: by argument of the node, each with its `kind`.

    Example:
        >>> translate_state({"objective": {"kind": "Objective: cvar", "level": 0.2}, "context": None, "seed": 3})
        {'objective': {'name': 'cvar', 'level': 0.2}, 'seed': 3}
    """
    given = {key: value for key, value in parts.items() if value is not None and key != "space"}
    variables = _table(parts["space"]["variables"]) if "space" in parts else {}
    found = {key: _translate(value, list(variables)) for key, value in given.items()}
    return {**found, "variables": {name: _variable(each) for name, each in variables.items()}} if variables else found


def _translate(data: Any, names: Sequence[str]) -> Any:
    """Plain data of version 1 as those of specs; `names` are the variables that laws given by order are about."""
    if isinstance(data, float) and math.isinf(data):
        return "inf" if data > 0 else "-inf"
    if not isinstance(data, Mapping):
        return data
    kind = str(data.get(KIND))
    if kind == "array":
        return data["values"]
    if kind in ("list", "tuple"):
        return [_translate(each, names) for each in data["values"]]
    if kind == "table":
        return {name: _translate(each, names) for name, each in data["rows"]}
    if kind == "law":
        return _law(data)
    # None was the default of every setting that could be None.
    settings = {name: each for name, each in data.items() if name != KIND and each is not None}
    if kind == "Composition":
        return {name: _translate(each, names) for name, each in settings.items()}
    if "law" in settings:
        settings["law"] = {KIND: "table", "rows": list(_laws_by_name(settings["law"], names).items())}
    return {"name": _name(kind), **{name: _translate(each, names) for name, each in settings.items()}}


def _name(kind: str) -> str:
    if kind in ("GP", "InputNoise"):
        return kebab(kind)
    family, _, name = kind.partition(": ")
    require(family in FAMILIES, WHERE, "be saved with parts of this library only", kind)
    return name


def _laws_by_name(law: Any, names: Sequence[str]) -> dict[str, Any]:
    if law[KIND] == "table":
        return _table(law)
    laws = law["values"] if law[KIND] in ("list", "tuple") else [law]
    return dict(zip(names, laws, strict=True))


def _law(data: Mapping[str, Any]) -> dict[str, Any]:
    import scipy.stats

    name = data["name"]
    require(name in known_laws(), WHERE, "be saved with laws of SciPy only", name)
    return {"name": name, **law_parameters(getattr(scipy.stats, name), data["args"]["values"], _table(data["kwds"]))}


def _variable(data: Mapping[str, Any]) -> dict[str, Any]:
    if data[KIND] == "Context":
        return {**_variable(data["variable"]), "context": True}
    fields = {name: each for name, each in data.items() if name != KIND}
    return {"type": data[KIND].lower(), **fields}


def _table(data: Mapping[str, Any]) -> dict[str, Any]:
    return dict(data["rows"])
