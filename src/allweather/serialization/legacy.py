"""What was written by earlier versions: the defaults that applied then, and spaces stored as their `repr`.

A spec carries the version of its format. What is stored without one was written by version 1. A setting that a spec
leaves out means the default of the spec's version: whoever changes the default of a released version raises `VERSION`
and adds a row to `DEFAULTS`, and stored studies go on as before. Which parts are used where a spec leaves them out is
said by its goal; `methods/defaults.py` keeps those of earlier releases.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from allweather.errors import InvalidInput
from allweather.methods.goals import EVERY_TRIAL, LEGACY
from allweather.space import Space
from allweather.space.variables import Choice, Context, Integer, Real

VERSION = 2
"""Of the specs that are written now."""
GOALS = {1: LEGACY, 2: EVERY_TRIAL}
"""By version: the goal, or the release, whose defaults apply to parts that a spec leaves out."""
DEFAULTS: dict[int, dict[str, dict[str, Any]]] = {
    1: {
        "FourierThompson": {"pairs": False},
        "InformationPerCost": {"exact": False},
        "KDE": {"bandwidth": "silverman", "bounds": "clip"},
    },
}
"""By version and class of a part: the settings whose default has changed since, with the default of then."""
METHODS: dict[int, dict[str, dict[str, Any]]] = {
    1: {
        "drbo-mmd": {"kernel": "rbf"},
        "drbo-mmd-minimax": {"kernel": "rbf"},
        "ei-psq": {"best": "decisions"},
        "ei-psq-per-cost": {"best": "decisions"},
        "kg-cvs": {"exact": False},
        "ts-bocu": {"pairs": False},
        "ts-psq": {"pairs": False},
        "ts-psq-per-cost": {"pairs": False},
        "ucb-bocu": {"width": 2.0},
        "ucb-bocu-1": {"width": 2.0},
        "ucb-bocu-2": {"width": 2.0},
        "ucb-ro": {"width": 2.0},
        "ucb-so": {"width": 2.0},
    },
}
"""By version and name of a published method: the settings whose default has changed since, with the default of then."""
KNOWN: dict[str, Any] = {"Real": Real, "Integer": Integer}


def defaults_of(kind: type, version: int) -> Mapping[str, Any]:
    """Return the settings of a class of parts whose default has changed since a version, with their defaults then.

    Args:
        kind: the class.
        version: of a spec.

    Example:
        >>> from allweather import Uniform
        >>> defaults_of(Uniform, 1)
        {}
    """
    found: dict[str, Any] = {}
    for later in range(VERSION - 1, version - 1, -1):
        for each in reversed(kind.__mro__):
            found |= DEFAULTS.get(later, {}).get(each.__name__, {})
    return found


def method_defaults(name: str, version: int) -> Mapping[str, Any]:
    """Return the settings of a published method whose default has changed since a version, with their defaults then.

    Args:
        name: of the method.
        version: of a spec.

    Example:
        >>> method_defaults("ts-bocu", 1), method_defaults("ts-bocu", VERSION)
        ({'pairs': False}, {})
    """
    found: dict[str, Any] = {}
    for later in range(VERSION - 1, version - 1, -1):
        found |= METHODS.get(later, {}).get(name, {})
    return found


def space_of(description: str) -> Space:
    """Return the space with this `repr`; nothing but spaces and variables is made, whatever the text says.

    Example:
        >>> space_of(repr(Space(order=Real(0, 1), wood=Choice("oak", "pine")))).variables["wood"]
        Choice(options=('oak', 'pine'))
        >>> space_of("Space(order=__import__('os').remove('x'))")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: the study's variables cannot be read: use the Python code that made it
    """
    try:
        tree = ast.parse(description, mode="eval").body
        assert isinstance(tree, ast.Call)
        assert _name(tree) == "Space"
        return Space(**{str(each.arg): _variable(each.value) for each in tree.keywords})
    except (AssertionError, SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError):
        raise InvalidInput("the study's variables cannot be read: use the Python code that made it") from None


def _variable(tree: ast.expr) -> Any:
    assert isinstance(tree, ast.Call)
    name, given = _name(tree), {str(each.arg): each.value for each in tree.keywords}
    if name == "Choice":
        return Choice(*ast.literal_eval(given["options"]))
    if name == "Context":
        return Context(_variable(given["variable"]))
    return KNOWN[name](**{key: ast.literal_eval(value) for key, value in given.items()})


def _name(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Name)
    return call.func.id
