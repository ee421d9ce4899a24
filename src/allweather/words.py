"""Words that people type as values, and values as words that people read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from allweather.errors import InvalidInput, require, shown
from allweather.registry import unknown
from allweather.trials import Trial
from allweather.variables import Choice, Context, Integer, Value, Variable

REPEATS = 1000
"""Outcomes of one trial, at most."""
UNSAFE = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
LONGEST = 200
"""Characters of a number or a name."""


def number(text: str, where: str) -> float:
    """The number that a word says.

    Example:
        >>> number("-1.5e3", "VALUE")
        -1500.0
        >>> number("twelve", "VALUE")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `VALUE` must be a number such as 3.5, got 'twelve'
    """
    try:
        found = float(text) if len(text) <= LONGEST and "_" not in text else math.nan
    except ValueError:
        found = math.nan
    require(math.isfinite(found), where, "be a number such as 3.5", text)
    return found


def numbers(texts: Sequence[str] | None, where: str = "VALUE") -> list[float] | None:
    """The outcomes of a trial, if any are told."""
    given = list(texts or [])
    require(
        len(given) <= REPEATS, f"{where}...", f"be at most {REPEATS} outcomes of one trial", f"{len(given)} outcomes"
    )
    return [number(text, where) for text in given] or None


def outcome(trial: Trial) -> str:
    """The outcomes of a trial as a person reads them."""
    listed = ", ".join(map(brief, trial.values[:5])) or "no outcome"
    return listed if len(trial.values) <= 5 else f"{listed}, ... ({len(trial.values)} in all)"


def assignments(pairs: Sequence[str], variables: Mapping[str, Variable], option: str) -> dict[str, Value]:
    """What `name=value` words say about variables, each in its variable's type.

    Example:
        >>> from allweather.variables import Real
        >>> assignments(["demand=3", "wood=pine"], {"demand": Real(0, 9), "wood": Choice("oak", "pine")}, "--context")
        {'demand': 3.0, 'wood': 'pine'}
    """
    found: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        require(bool(equals), option, "be name=value, such as demand=3", pair)
        require(len(name) <= LONGEST, option, f"name a variable in at most {LONGEST} characters", name)
        if name not in variables:
            raise unknown(option, name, variables)
        require(name not in found, option, f"say {name} once", pair)
        found[name] = value(text.strip(), variables[name], f"{option} {name}=...")
    return found


def value(text: str, variable: Variable, where: str) -> Value:
    """A word as a value of a variable."""
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice):
        options = {str(option): option for option in inner.options}
        if text not in options:
            raise InvalidInput(f"`{where}` must be one of {', '.join(options)}, got {shown(text)}")
        return options[text]
    found = number(text, where)
    return int(found) if isinstance(inner, Integer) and found.is_integer() else found


def described(variable: Variable) -> str:
    """A variable in a few words.

    Example:
        >>> described(Context(0, 9))
        'happens, 0 to 9'
    """
    inner = variable.variable if isinstance(variable, Context) else variable
    role = "happens" if isinstance(variable, Context) else "decided"
    if isinstance(inner, Choice):
        return f"{role}, {' | '.join(str(option) for option in inner.options)}"
    limits: Any = inner
    kind = "whole, " if isinstance(inner, Integer) else "log scale, " if limits.log else ""
    return f"{role}, {kind}{limits.lower:g} to {limits.upper:g}"


def clean(text: str) -> str:
    r"""Text without characters that steer a terminal.

    Example:
        >>> clean("a\x1b[2Jb")
        'a\\x1b[2Jb'
    """
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def brief(value: Any) -> str:
    """A value as a person reads it.

    Example:
        >>> brief(0.123456789), brief("oak"), brief(None)
        ('0.123457', 'oak', '')
    """
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else clean(str(value))


def row(values: Mapping[str, Any] | None) -> str:
    """Named values on one line."""
    return ", ".join(f"{clean(name)} = {brief(each)}" for name, each in (values or {}).items())


def plain(value: Any) -> Any:
    """A value as JSON can hold it, exactly; numbers that are none or without end are null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fields(trial: Trial) -> dict[str, Any]:
    """A trial as plain data."""
    said: dict[str, Any] = {
        "number": trial.number,
        "state": trial.state,
        "decision": dict(trial.decision),
        "context": None if trial.context is None else dict(trial.context),
        "values": list(trial.values),
    }
    return said if trial.cost is None else {**said, "left": list(trial.left), "cost": trial.cost}


def tame(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    Example:
        >>> tame("=1+1"), tame("oak"), tame(-3.0)
        ("'=1+1", 'oak', -3.0)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(UNSAFE) else cell
