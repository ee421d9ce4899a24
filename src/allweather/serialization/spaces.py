"""Variables and spaces as plain data, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, require
from allweather.serialization.checks import LIST, NUMBER, TRUTH, WHOLE, WORD, below, explained, read
from allweather.serialization.values import encode_value
from allweather.space import Space
from allweather.space.variables import Choice, Context, Integer, Real, Variable

TYPES = ("real", "integer", "choice")


def encode_space(space: Space) -> dict[str, Any]:
    """Return the variables of a space as plain data, by name.

    Example:
        >>> encode_space(Space(order=Real(0, 1), demand=Context(0, 1)))
        {'order': {'lower': 0, 'upper': 1}, 'demand': {'lower': 0, 'upper': 1, 'context': True}}
    """
    return {name: _encode_variable(name, variable) for name, variable in space.variables.items()}


def decode_space(tables: Mapping[str, Any], where: str) -> Space:
    """Return the space of variables that `encode_space` wrote, or a person typed.

    Args:
        tables: one per variable, by name.
        where: what errors call it.
    """
    return Space(**{name: decode_variable(name, table, below(where, name)) for name, table in tables.items()})


def _encode_variable(name: str, variable: Variable) -> dict[str, Any]:
    if isinstance(variable, Context):
        return {**_encode_variable(name, variable.variable), "context": True}
    if isinstance(variable, Choice):
        return {"type": "choice", "options": encode_value(variable.options)}
    if isinstance(variable, Integer):
        return {"type": "integer", "lower": int(variable.lower), "upper": int(variable.upper), **_unit(variable)}
    if isinstance(variable, Real):
        bounds = {"lower": encode_value(variable.lower), "upper": encode_value(variable.upper)}
        return {**bounds, **({"log": True} if variable.log else {}), **_unit(variable)}
    raise InvalidInput(where=name, requirement="be a Real, an Integer, a Choice or a Context", received=variable)


def _unit(variable: Real | Integer) -> dict[str, str]:
    return {"unit": variable.unit} if variable.unit else {}


def decode_variable(name: str, table: Any, where: str) -> Variable:
    """Return the variable that a table describes; without a `type` it is a choice if it has options, else real.

    Args:
        name: of the variable.
        table: its plain form.
        where: what errors call it.

    Example:
        >>> decode_variable("pots", {"type": "integer", "lower": 1, "upper": 8}, "kiosk.toml: variables.pots")
        Integer(lower=1, upper=8)
    """
    require(isinstance(table, dict), where, "be a table", table)
    kind = table.get("type", "choice" if "options" in table else "real")
    if kind not in TYPES:
        raise unknown(f"{where}.type", kind, TYPES)
    shared = {"type": WORD, "context": TRUTH}
    made: Variable
    with explained(where):
        if kind == "choice":
            read(table, where, {"options": LIST}, shared)
            made = Choice(*table["options"])
        elif kind == "integer":
            read(table, where, {"lower": WHOLE, "upper": WHOLE}, {**shared, "unit": WORD})
            made = Integer(table["lower"], table["upper"], table.get("unit", ""))
        else:
            read(table, where, {"lower": NUMBER, "upper": NUMBER}, {**shared, "log": TRUTH, "unit": WORD})
            made = Real(table["lower"], table["upper"], table.get("log", False), table.get("unit", ""))
    return Context(made) if table.get("context", False) else made
