"""The variables of a recipe."""

from __future__ import annotations

from typing import Any

from allweather._utils.registry import unknown
from allweather.errors import require
from allweather.serialization.checks import LIST, NUMBER, TRUTH, WHOLE, WORD, explained, read
from allweather.space.variables import Choice, Context, Integer, Real, Variable

TYPES = ("real", "integer", "choice")


def variable(name: str, table: Any, where: str) -> Variable:
    """The variable that a table describes; without a `type` it is a choice if it has options, else a real number.

    Example:
        >>> variable("pots", {"type": "integer", "lower": 1, "upper": 8}, "kiosk.toml: variables.pots")
        Integer(lower=1, upper=8)
    """
    # Names become columns of tables, environment variables and words of a command line.
    require(name.isidentifier(), where, "be named by letters, digits and _, a letter first", name)
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
            read(table, where, {"lower": WHOLE, "upper": WHOLE}, shared)
            made = Integer(table["lower"], table["upper"])
        else:
            read(table, where, {"lower": NUMBER, "upper": NUMBER}, {**shared, "log": TRUTH})
            made = Real(table["lower"], table["upper"], table.get("log", False))
    return Context(made) if table.get("context", False) else made
