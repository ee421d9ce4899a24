"""Parts as plain data for Ax's files, and back; nothing but parts is made, whatever a file says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.stats
import torch

from allweather._utils.registry import Named, kebab
from allweather.acquisition import Acquisition
from allweather.contexts import ContextModel
from allweather.distances import Distance
from allweather.errors import InvalidInput, require, shown
from allweather.integrations.botorch import InputNoise
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.schedules import Schedule
from allweather.space import Space
from allweather.space.variables import Choice, Context, Integer, Real
from allweather.surrogates import GP

FAMILIES: dict[str, type[Named]] = {
    family.__name__: family for family in (Acquisition, ContextModel, Distance, Objective, Schedule)
}
OTHERS: dict[str, Any] = {kind.__name__: kind for kind in (Composition, GP, InputNoise, Integer, Real)}
KIND, INNER = "kind", {"box"}


def to_plain(part: Any) -> Any:
    """A part, a space or anything in them as numbers, words, lists and tables.

    Example:
        >>> from allweather import DRO, TotalVariation
        >>> to_plain(DRO(TotalVariation(0.2)))
        {'kind': 'Objective: dro', 'distance': {'kind': 'Distance: total-variation', 'radius': 0.2}}
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, np.generic):
        return part.item()
    if isinstance(part, torch.Tensor | np.ndarray):
        return {KIND: "array", "values": part.tolist()}
    if isinstance(part, list | tuple):
        return {KIND: type(part).__name__, "values": [to_plain(each) for each in part]}
    if isinstance(part, Mapping):
        return {KIND: "table", "rows": [[name, to_plain(each)] for name, each in part.items()]}
    if isinstance(part, Space):
        return {KIND: "Space", "variables": to_plain(part.variables)}
    if isinstance(part, Choice):
        return {KIND: "Choice", "options": list(part.options)}
    if isinstance(part, Context):
        return {KIND: "Context", "variable": to_plain(part.variable)}
    if _is_scipys(getattr(part, "dist", None)):
        return {KIND: "law", "name": part.dist.name, "args": to_plain(part.args), "kwds": to_plain(part.kwds)}
    return _part(part)


def from_plain(data: Any) -> Any:
    """What `to_plain` wrote down.

    Example:
        >>> from_plain({"kind": "Objective: cvar", "level": 0.2})
        CVaR(level=0.2)
    """
    if not isinstance(data, Mapping):
        return data
    kind = data[KIND]
    if kind == "array":
        return torch.tensor(data["values"], dtype=torch.float64)
    if kind in ("list", "tuple"):
        values = [from_plain(each) for each in data["values"]]
        return values if kind == "list" else tuple(values)
    if kind == "table":
        return {name: from_plain(each) for name, each in data["rows"]}
    if kind == "Space":
        return Space(**from_plain(data["variables"]))
    if kind == "Choice":
        return Choice(*data["options"])
    if kind == "Context":
        return Context(from_plain(data["variable"]))
    if kind == "law":
        return _law(data["name"])(*from_plain(data["args"]), **from_plain(data["kwds"]))
    settings = {name: from_plain(each) for name, each in data.items() if name != KIND}
    return _kind(kind)(**settings)


def _part(part: Any) -> dict[str, Any]:
    kind = next((f"{name}: {kebab(type(part).__name__)}" for name, f in FAMILIES.items() if isinstance(part, f)), None)
    if kind is None and type(part).__name__ in OTHERS:
        kind = type(part).__name__
    found = kind is not None and dataclasses.is_dataclass(part) and _kind(kind) is type(part)
    if not found:
        raise InvalidInput(f"`AllweatherNode` cannot be saved with {shown(part)} in it: functions have no plain form")
    fields = [each.name for each in dataclasses.fields(part) if each.init and not each.name.startswith("_")]
    return {KIND: kind, **{name: to_plain(getattr(part, name)) for name in fields if name not in INNER}}


def _kind(kind: str) -> Any:
    if kind in OTHERS:
        return OTHERS[kind]
    family, _, name = kind.partition(": ")
    require(family in FAMILIES, "AllweatherNode", "be saved with parts of this library only", kind)
    return FAMILIES[family].named(name)


def _is_scipys(kind: Any) -> bool:
    """Whether a law is SciPy's own: one of the user's may have a name of SciPy's."""
    theirs: Any = getattr(scipy.stats, str(getattr(kind, "name", None)), None)
    return theirs is not None and type(theirs) is type(kind)


def _law(name: str) -> Any:
    law = getattr(scipy.stats, name, None)
    fits = isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete)
    require(fits, "AllweatherNode", "be saved with laws of SciPy only", name)
    return law
