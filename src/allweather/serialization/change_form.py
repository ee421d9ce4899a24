"""A change of a study as a person enters it into a form or a program sends it, as arguments of `Study.change`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather._utils.formatting import number
from allweather.serialization.parts import decode_part
from allweather.space.text import changes
from allweather.space.variables import Variable


def read_change(fields: Mapping[str, str], variables: Mapping[str, Variable]) -> dict[str, Any]:
    """Return the arguments of `Study.change` that a form describes; empty fields change nothing.

    Args:
        fields: text by field: `lower:NAME`, `upper:NAME`, `add:NAME` and `remove:NAME` of variables, `objective`,
            `distance`, `radius`, `level` and `budget`.
        variables: the study's variables by name.

    Example:
        >>> from allweather import Integer
        >>> read_change({"upper:order": "20", "radius": "0.3", "level": ""}, {"order": Integer(0, 9)})
        {'variables': {'order': {'upper': 20}}, 'radius': 0.3}
    """
    given = {name: text.strip() for name, text in fields.items() if text.strip()}
    keys = [(key, name) for name in variables for key in ("lower", "upper", "add", "remove")]
    tables = changes([(*each, given[":".join(each)]) for each in keys if ":".join(each) in given], variables)
    numbers: dict[str, float] = {key: number(given[key], key) for key in ("radius", "level", "budget") if key in given}
    level = {"level": numbers.pop("level")} if "level" in numbers else {}
    name = given.get("objective", "own")
    found: dict[str, Any] = {"variables": tables, **numbers}
    if name == "dro":
        radius = {"radius": found.pop("radius")} if "radius" in found else {}
        found["objective"] = {"name": name, "distance": {"name": given.get("distance", "tv"), **radius}}
    elif name != "own":
        found["objective"] = {"name": name, **(level if name == "cvar" else {})}
        found.pop("radius", None)
    return change_arguments(found)


def change_arguments(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Study.change` of a change as plain data.

    Args:
        document: some of `variables`, `objective` (as in a spec), `radius`, `costs` (by variables, `ph, nh3`) and
            `budget`.

    Example:
        >>> change_arguments({"objective": "worst-case", "costs": {"ph, nh3": 2.0}})
        {'objective': WorstCase(), 'costs': {('ph', 'nh3'): 2.0}}
    """
    found = {key: value for key, value in document.items() if value is not None}
    if "objective" in found:
        found["objective"] = decode_part("objective", found["objective"], "objective")
    if "costs" in found:
        found["costs"] = {tuple(names.split(", ")): cost for names, cost in found["costs"].items()} or None
    return found
