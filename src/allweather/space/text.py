"""Values of variables parsed from text, and descriptions of variables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from allweather._utils.formatting import MAX_LENGTH, number
from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, require
from allweather.space.variables import Choice, Context, Integer, Value, Variable


def assignments(pairs: Sequence[str], variables: Mapping[str, Variable], option: str) -> dict[str, Value]:
    """Parse `name=value` pairs, each value in its variable's type.

    Example:
        >>> from allweather.space.variables import Real
        >>> assignments(["demand=3", "wood=pine"], {"demand": Real(0, 9), "wood": Choice("oak", "pine")}, "--context")
        {'demand': 3.0, 'wood': 'pine'}
    """
    found: dict[str, Value] = {}
    for pair in pairs:
        name, text = split_assignment(pair, variables, option)
        require(name not in found, option, f"say {name} once", pair)
        found[name] = value(text, variables[name], f"{option} {name}=...")
    return found


def split_assignment(pair: str, variables: Mapping[str, Variable], option: str) -> tuple[str, str]:
    """Split `name=value` into a variable's name and the text of the value.

    Example:
        >>> split_assignment("demand=3", {"demand": Context(0, 9)}, "--context")
        ('demand', '3')
    """
    whole = [each for each in variables if pair.startswith(f"{each}=")]
    name, equals, text = pair.partition("=")
    if whole:  # a name may hold an equals sign
        name = max(whole, key=len)
        text = pair[len(name) + 1 :]
    name = name.strip()
    require(bool(equals), option, "be name=value, such as demand=3", pair)
    require(len(name) <= MAX_LENGTH, option, f"name a variable in at most {MAX_LENGTH} characters", name)
    if name not in variables:
        raise unknown(option, name, variables)
    return name, text


def value(text: str, variable: Variable, where: str) -> Value:
    """Parse text as a value of a variable."""
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice):
        return option_of(text, inner, where)
    found = number(text.strip(), where)
    return int(found) if isinstance(inner, Integer) and found.is_integer() else found


def changes(entries: Iterable[tuple[str, str, str]], variables: Mapping[str, Variable]) -> dict[str, dict[str, Any]]:
    """Parse changes of variables, each given by key, name and text, as tables of what is different.

    Args:
        entries: keys are `lower`, `upper`, `unit`, `add` and `remove`.
        variables: by name.

    Example:
        >>> wood = {"wood": Choice("oak", "ash"), "size": Integer(1, 9)}
        >>> changes([("add", "wood", "elm"), ("remove", "wood", "oak"), ("upper", "size", "12")], wood)
        {'wood': {'add': ['elm'], 'remove': ['oak']}, 'size': {'upper': 12}}
    """
    tables: dict[str, dict[str, Any]] = {}
    for key, name, text in entries:
        where, table = f"{key} {name}", tables.setdefault(name, {})
        variable = variables[name]
        inner = variable.variable if isinstance(variable, Context) else variable
        if key in ("add", "remove"):
            if not isinstance(inner, Choice):
                raise InvalidInput("has bounds and no options", where=where)
            table.setdefault(key, []).append(
                _new_option(text, inner) if key == "add" else option_of(text, inner, where)
            )
        else:
            if isinstance(inner, Choice):
                raise InvalidInput("has options, and neither bounds nor a unit", where=where)
            table[key] = text.strip() if key == "unit" else value(text, variable, where)
    return tables


def _new_option(text: str, choice: Choice) -> Value:
    """Return a further option: a number where all others are, else text."""
    kinds = {type(option) for option in choice.options}
    if not kinds <= {int, float}:
        return text.strip()
    found = number(text.strip(), "add")
    return int(found) if kinds == {int} and found.is_integer() else found


def option_of(text: str, choice: Choice, where: str) -> Value:
    r"""Return the option that a text names; spaces may differ, since a browser changes line ends.

    Example:
        >>> option_of("a\r\nb", Choice("a\nb", "c"), "wood")
        'a\nb'
    """
    options: dict[str, Value] = {}
    others = {str(option) for option in choice.options if not isinstance(option, str)}
    for option in choice.options:  # text that a number has too is in quotes
        options[json.dumps(option) if isinstance(option, str) and option in others else str(option)] = option
    if text in options:
        return options[text]
    alike = [each for each in options if each.split() == text.split()]
    if len(alike) != 1:
        raise InvalidInput(where=where, requirement=f"be one of {', '.join(options)}", received=text)
    return options[alike[0]]


def describe(variable: Variable) -> str:
    """Describe a variable in a few words.

    Example:
        >>> describe(Context(0, 9))
        'context, 0 to 9'
    """
    inner = variable.variable if isinstance(variable, Context) else variable
    role = "context" if isinstance(variable, Context) else "decision"
    if isinstance(inner, Choice):
        return f"{role}, {' | '.join(str(option) for option in inner.options)}"
    limits: Any = inner
    kind = "integer, " if isinstance(inner, Integer) else "log scale, " if limits.log else ""
    unit = f" {limits.unit}" if limits.unit else ""
    return f"{role}, {kind}{limits.lower:g} to {limits.upper:g}{unit}"


def unit_of(variable: Variable) -> str:
    """Return the unit of a variable, empty where it has none."""
    return str(getattr(variable.variable if isinstance(variable, Context) else variable, "unit", ""))


def units_of(variables: Mapping[str, Variable]) -> dict[str, str]:
    """Return the units of variables by name, of those that have one.

    Example:
        >>> from allweather.space.variables import Real
        >>> units_of({"dose": Real(0, 9, unit="mg"), "share": Real(0, 1)})
        {'dose': 'mg'}
    """
    found = {name: unit_of(variable) for name, variable in variables.items()}
    return {name: unit for name, unit in found.items() if unit}


def heading(name: str, variable: Variable | None) -> str:
    """Return the name of a column or an axis, with the unit of its variable.

    Example:
        >>> heading("dose", Context(0, 9, unit="mg"))
        'dose (mg)'
    """
    unit = "" if variable is None else unit_of(variable)
    return f"{name} ({unit})" if unit else name
