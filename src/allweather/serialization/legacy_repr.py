"""The variables of a study that was made in Python, read from how its database describes them."""

from __future__ import annotations

import ast
from typing import Any

from allweather.errors import InvalidInput
from allweather.space import Space
from allweather.space.variables import Choice, Context, Integer, Real

KNOWN: dict[str, Any] = {"Real": Real, "Integer": Integer}


def space_of(description: str) -> Space:
    """The space that prints like this; nothing but spaces and variables is made, whatever the text says.

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
