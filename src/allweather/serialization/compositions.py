"""Compositions, methods and control sets as plain data, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from allweather.contexts import ContextModel, Known
from allweather.methods import method
from allweather.methods.composition import Composition
from allweather.methods.control import Control, ControlSet, Rule
from allweather.methods.goals import EVERY_TRIAL, SIMULATION
from allweather.serialization.checks import LIST, NUMBER, PART, WORD, explained, no_plain_form, read
from allweather.serialization.fields import PARTS
from allweather.serialization.parts import decode_part, decode_setting, encode_part
from allweather.serialization.values import encode_value


def encode_composition(composition: Composition, names: Sequence[str]) -> dict[str, Any]:
    """Return the parts of a composition as plain data, and the goal that those left out are chosen for.

    Args:
        composition: to write.
        names: the variables that laws given by order are about.
    """
    named = dataclasses.replace(composition, context=_by_name(composition.context, names))
    given = {key: getattr(named, key) for key in (*PARTS, "rule")}
    found: dict[str, Any] = {key: encode_part(key, part) for key, part in given.items() if part is not None}
    usual = EVERY_TRIAL if composition.simulator is None else SIMULATION
    return found if composition.goal == usual else {**found, "goal": composition.goal}


def decode_method(given: Any, where: str) -> Composition:
    """Return a published method by its name, with settings where it is a table; or a table of parts.

    Args:
        given: a name, a table with a name, or a table of parts.
        where: what errors call it.

    Example:
        >>> decode_method({"objective": "expectation"}, "kiosk.toml: method").objective
        Expectation()
    """
    if isinstance(given, Mapping) and "name" not in given:
        read(given, where, optional={**dict.fromkeys((*PARTS, "rule"), PART), "goal": WORD})
        parts = {key: decode_part(key, each, f"{where}.{key}") for key, each in given.items() if key != "goal"}
        with explained(where):
            return Composition(**parts, goal=given.get("goal", EVERY_TRIAL))
    read({"method": given}, where, {"method": PART})
    table = {"name": given} if isinstance(given, str) else dict(given)
    name = table.pop("name")
    settings = {key: decode_setting(key, value, f"{where}.{key}") for key, value in table.items()}
    with explained(where):
        return method(name, **settings)


def encode_control(control: Control, rule: Rule | None) -> dict[str, Any]:
    """Return control sets with their costs, and the budget, as plain data.

    Args:
        control: to write.
        rule: the composition's, where `control` has none.
    """
    sets: Any = control.sets  # of sets, once it was made
    fields: dict[str, Any] = {
        "sets": [{"variables": list(each.variables), "cost": encode_value("cost", each.cost)} for each in sets]
    }
    if control.budget is not None:
        fields["budget"] = encode_value("budget", control.budget)
    chosen = control.rule or rule
    return fields if chosen is None else {**fields, "rule": encode_part("rule", chosen)}


def decode_control(table: Any, where: str) -> Control:
    """Return the control sets that `encode_control` wrote, or a person typed.

    Args:
        table: with `sets`, and perhaps `budget` and `rule`.
        where: what errors call it.
    """
    read(table, where, {"sets": LIST}, {"budget": NUMBER, "rule": PART})
    sets = []
    for place, each in enumerate(table["sets"]):
        here = f"{where}.sets[{place}]"
        read(each, here, {"variables": LIST, "cost": NUMBER})
        with explained(here):
            sets.append(ControlSet(tuple(each["variables"]), each["cost"]))
    rule = decode_part("rule", table["rule"], f"{where}.rule") if "rule" in table else None
    with explained(where):
        return Control(sets, table.get("budget"), rule)


def _by_name(context: ContextModel | None, names: Sequence[str]) -> ContextModel | None:
    """Known laws, with the name of each one's variable."""
    if not isinstance(context, Known) or isinstance(context.law, Mapping) or callable(context.law):
        return context
    laws = context.law if isinstance(context.law, Sequence) else [context.law]
    if len(laws) != len(names):
        raise no_plain_form("law", context.law)
    return dataclasses.replace(context, law=dict(zip(names, laws, strict=True)))
