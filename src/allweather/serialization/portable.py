"""A study as plain data: what a recipe says, for a study that was made in Python.

Written beside the study's journal, it lets the command line, the dashboard and other machines go on with the study
without the code that made it. Parts that hold functions or classes of the user's own cannot be written down.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from allweather._utils.registry import Named, kebab
from allweather.acquisition import Acquisition
from allweather.contexts import ContextModel, Known
from allweather.distances import Distance
from allweather.methods.composition import Composition
from allweather.methods.control import Control, Rule
from allweather.objectives import Objective
from allweather.schedules import Schedule
from allweather.space import LinearConstraint, Space
from allweather.space.variables import Choice, Context, Integer, Real, Variable
from allweather.surrogates import GP
from allweather.trials import rows_of

FAMILIES: dict[str, type[Named]] = {
    "acquisition": Acquisition,
    "context": ContextModel,
    "distance": Distance,
    "epsilon": Schedule,
    "objective": Objective,
    "radius": Schedule,
    "rule": Rule,
    "width": Schedule,
}
"""What a key stands for, wherever it appears."""
LARGEST = 200_000
"""Characters of a recipe."""


class NotPlain(Exception):
    """Something that only code can say."""


class Arguments(NamedTuple):
    """The arguments of a study, as they were given."""

    space: Space
    composition: Composition
    direction: str = "maximize"
    seed: int = 0
    initial: int | None = None
    constraints: tuple[LinearConstraint, ...] = ()
    candidates: Any = None
    control: Control | None = None


def spec_of(arguments: Arguments) -> dict[str, Any] | None:
    """Return the spec of a study, or None where parts are functions that have no plain form.

    Example:
        >>> from allweather import DRO, Context, Real, Space, TotalVariation
        >>> space = Space(order=Real(0, 1), demand=Context(0, 1))
        >>> spec_of(Arguments(space, Composition(objective=DRO(TotalVariation(0.2)))))["objective"]
        {'name': 'dro', 'distance': {'name': 'total-variation', 'radius': 0.2}}
    """
    try:
        fields = _fields(arguments)
        return fields if len(json.dumps(fields, allow_nan=False)) <= LARGEST else None
    except NotPlain:
        return None


def _fields(arguments: Arguments) -> dict[str, Any]:
    space, composition, control = arguments.space, arguments.composition, arguments.control
    fields: dict[str, Any] = {"direction": arguments.direction, "seed": int(arguments.seed)}
    if arguments.initial is not None:
        fields["initial"] = int(arguments.initial)
    names = list(space.contexts if control is None else space.variables)
    composition = dataclasses.replace(composition, context=_by_name(composition.context, names))
    for key in ("context", "objective", "acquisition", "surrogate"):
        if getattr(composition, key) is not None:
            fields[key] = _part(key, getattr(composition, key))
    if arguments.constraints:
        fields["constraints"] = [_given(limit) for limit in arguments.constraints]
    if arguments.candidates is not None:
        fields["candidates"] = _plain("candidates", rows_of(arguments.candidates))
    if control is not None:
        fields["control"] = _control(control, composition.rule)
    fields["variables"] = {name: _variable(name, each) for name, each in space.variables.items()}
    return fields


def _variable(name: str, variable: Variable) -> dict[str, Any]:
    if not name.isidentifier():
        raise NotPlain(name)
    if isinstance(variable, Context):
        return {**_variable(name, variable.variable), "context": True}
    if isinstance(variable, Choice):
        return {"type": "choice", "options": _plain(name, variable.options)}
    if isinstance(variable, Integer):
        return {"type": "integer", "lower": int(variable.lower), "upper": int(variable.upper)}
    if isinstance(variable, Real):
        bounds = {"lower": _plain(name, variable.lower), "upper": _plain(name, variable.upper)}
        return {**bounds, "log": True} if variable.log else bounds
    raise NotPlain(name)


def _control(control: Control, rule: Rule | None) -> dict[str, Any]:
    sets: Any = control.sets  # of sets, once it was made
    fields: dict[str, Any] = {
        "sets": [{"variables": list(each.variables), "cost": _plain("cost", each.cost)} for each in sets]
    }
    if control.budget is not None:
        fields["budget"] = _plain("budget", control.budget)
    chosen = control.rule or rule
    return fields if chosen is None else {**fields, "rule": _part("rule", chosen)}


def _part(key: str, part: Any) -> dict[str, Any]:
    """A name, and every setting that is not the usual one."""
    if key == "surrogate":
        if type(part) is not GP:
            raise NotPlain(key)
        return {"name": "gp", **_given(part)}
    name, family = kebab(type(part).__name__), FAMILIES.get(key)
    ours = type(part).__module__.startswith("allweather.")
    if family is None or not ours or family._members.get(name) is not type(part):
        raise NotPlain(key)
    return {"name": name, **_given(part)}


def _given(part: Any) -> dict[str, Any]:
    """The fields of a part that are not at their default."""
    if not dataclasses.is_dataclass(part):
        raise NotPlain(part)
    found = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.init and value is not field.default and not _same(value, field.default):
            if field.name.startswith("_") or field.name == "box":
                raise NotPlain(field.name)
            found[field.name] = _laws(value) if field.name == "law" else _plain(field.name, value)
    return found


def _same(value: Any, default: Any) -> bool:
    return isinstance(value, bool | int | float | str) and type(value) is type(default) and value == default


def _plain(key: str, value: Any) -> Any:
    """A value that JSON and TOML can hold."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(key, inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_plain(key, inner) for inner in value]
    if isinstance(value, Named):
        return _part(key, value)
    raise NotPlain(key)


def _by_name(context: ContextModel | None, names: list[str]) -> ContextModel | None:
    """Known laws, with the name of each one's variable."""
    if not isinstance(context, Known) or isinstance(context.law, Mapping) or callable(context.law):
        return context
    laws = context.law if isinstance(context.law, Sequence) else [context.law]
    if len(laws) != len(names):
        raise NotPlain("law")
    return dataclasses.replace(context, law=dict(zip(names, laws, strict=True)))


def _laws(laws: Any) -> dict[str, Any]:
    """SciPy's frozen laws, by variable."""
    if not isinstance(laws, Mapping):
        raise NotPlain("law")
    import scipy.stats  # here, since it takes longer than the rest of the library

    found = {}
    for name, law in laws.items():
        kind: Any = getattr(law, "dist", law)
        named: Any = getattr(scipy.stats, str(getattr(kind, "name", None)), None)
        if type(named) is not type(kind):  # a law of the user's own may have a name of SciPy's
            raise NotPlain("law")
        order = [*(kind.shapes or "").replace(" ", "").split(","), "loc", "scale"]
        settings = dict(zip(filter(None, order), law.args, strict=False)) | law.kwds
        if any(np.ndim(value) for value in settings.values()):
            raise NotPlain("law")
        found[name] = {"name": kind.name, **{key: _plain(key, value) for key, value in settings.items()}}
    return found
