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
from allweather.serialization.checks import LIST, NUMBER, PART, WORD, below, explained, read
from allweather.serialization.fields import PARTS
from allweather.serialization.parts import decode_part, decode_setting, encode_part
from allweather.serialization.values import encode_value


def encode_composition(composition: Composition, names: Sequence[str]) -> dict[str, Any]:
    """Return the parts of a composition as plain data, and its goal where it is not the usual one.

    Args:
        composition: to write.
        names: the variables that laws given by order are about.
    """
    named = dataclasses.replace(composition, context=_by_name(composition.context, names))
    given = {key: getattr(named, key) for key in (*PARTS, "rule")}
    found: dict[str, Any] = {key: encode_part(key, part) for key, part in given.items() if part is not None}
    usual = EVERY_TRIAL if composition.simulator is None else SIMULATION
    return found if composition.goal == usual else {**found, "goal": composition.goal}


def decode_composition(fields: Mapping[str, Any], where: str, given: Mapping[str, Any] | None = None) -> Composition:
    """Return the composition that the fields of a spec describe: its method, and the parts that replace the method's.

    Args:
        fields: of the spec.
        where: what errors call it.
        given: parts as they were given in code, which are not decoded.
    """
    known = given or {}
    base = decode_method(fields.get("method", {}), below(where, "method"))
    parts = {
        key: known[key] if key in known else decode_part(key, fields[key], below(where, key))
        for key in PARTS
        if key in known or key in fields
    }
    with explained(where):
        made = base.with_parts(**parts, goal=fields.get("goal"))
    return dataclasses.replace(made, rule=known["rule"]) if "rule" in known else made


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
        parts = {key: decode_part(key, each, below(where, key)) for key, each in given.items() if key != "goal"}
        with explained(where):
            return Composition(**parts, goal=given.get("goal", EVERY_TRIAL))
    read({"method": given}, where, {"method": PART})
    table = {"name": given} if isinstance(given, str) else dict(given)
    name = table.pop("name")
    settings = {key: decode_setting(key, value, below(where, key)) for key, value in table.items()}
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
        "sets": [{"variables": list(each.variables), "cost": encode_value(each.cost)} for each in sets]
    }
    if control.budget is not None:
        fields["budget"] = encode_value(control.budget)
    if control.leftover != "stop":
        fields["leftover"] = control.leftover
    chosen = control.rule or rule
    return fields if chosen is None else {**fields, "rule": encode_part("rule", chosen)}


def decode_control(table: Any, where: str, rule: Rule | None = None) -> Control:
    """Return the control sets that `encode_control` wrote, or a person typed.

    Args:
        table: with `sets`, and perhaps `budget`, `rule` and `leftover`.
        where: what errors call it.
        rule: as it was given in code; it is not decoded then.
    """
    read(table, where, {"sets": LIST}, {"budget": NUMBER, "rule": PART, "leftover": WORD})
    sets = []
    for place, each in enumerate(table["sets"]):
        here = f"{where}.sets[{place}]"
        read(each, here, {"variables": LIST, "cost": NUMBER})
        with explained(here):
            sets.append(ControlSet(tuple(each["variables"]), each["cost"]))
    if rule is None and "rule" in table:
        rule = decode_part("rule", table["rule"], below(where, "rule"))
    with explained(where):
        return Control(sets, table.get("budget"), rule, table.get("leftover", "stop"))


def _by_name(context: ContextModel | None, names: Sequence[str]) -> ContextModel | None:
    """Known laws, with the name of each one's variable where there is one for each."""
    if not isinstance(context, Known) or isinstance(context.law, Mapping) or callable(context.law):
        return context
    laws = context.law if isinstance(context.law, Sequence) else [context.law]
    return context if len(laws) != len(names) else dataclasses.replace(context, law=dict(zip(names, laws, strict=True)))
