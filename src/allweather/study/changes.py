"""Changes of a study: the fields of its spec that are different, and which changes are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allweather.errors import InvalidInput, require, require_number
from allweather.serialization.changes import CHANGEABLE, Difference, differences
from allweather.serialization.fields import PARTS
from allweather.serialization.spaces import encode_space
from allweather.serialization.values import encode_value, marks
from allweather.space import LinearConstraint, Space
from allweather.space.changes import resolve_tables, space_changes
from allweather.space.variables import Variable
from allweather.study.spec import Spec, written
from allweather.trials import History, rows_of

if TYPE_CHECKING:
    from allweather.objectives import Objective
    from allweather.schedules import Schedule

CALL = "Study.change({}=...)".format
Costs = Mapping[Any, float]
"""By the variables of a control set."""


def changed_fields(
    spec: Spec,
    variables: Space | Mapping[str, Variable | Mapping[str, Any]],
    parts: Mapping[str, Any],
    constraints: LinearConstraint | Sequence[LinearConstraint] | None = None,
    candidates: Any = None,
    costs: Costs | None = None,
    budget: float | None = None,
) -> dict[str, Any]:
    """Return the fields of a spec that a change sets, as its event holds them; none if nothing is different.

    Args:
        spec: of the study.
        variables: those with other bounds, options or unit, or tables of what is different.
        parts: other parts by field; None for those that stay.
        constraints: all that decisions must meet.
        candidates: the only decisions.
        costs: of control sets.
        budget: of all trials together.
    """
    given = variables.variables if isinstance(variables, Space) else variables
    tables = resolve_tables(spec.space, given, CALL("variables"))
    new = {key: part for key, part in parts.items() if part is not None}
    found: dict[str, Any] = _encoded_parts(spec, new) if new else {}
    if constraints is not None:
        limits = (constraints,) if isinstance(constraints, LinearConstraint) else constraints
        found["constraints"] = [written(limit) for limit in limits] or None
    if candidates is not None:
        spec.space.decisions.encode(candidates)
        found["candidates"] = encode_value(rows_of(candidates))
    if costs or budget is not None:
        found["control"] = _with_costs(spec, costs or {}, budget)
    fields = {key: value for key, value in found.items() if spec.settled(key) != value}
    _require_plain(fields)
    return {**({"variables": tables} if tables else {}), **fields}


def fields_between(before: Spec, after: Spec) -> dict[str, Any]:
    """Return the fields of a spec that are different in another one of the same study.

    Args:
        before: what the study is made of.
        after: what it shall be made of.
    """
    require_changeable(before, after)
    tables = space_changes(before.space, after.space.variables, CALL("variables"))
    changed = [key for key in CHANGEABLE[1:] if before.settled(key) != after.settled(key)]
    of_method = (*PARTS, "goal")
    if "method" in before.fields and any(key in of_method for key in changed):  # it must not fill what is left out
        changed = list(dict.fromkeys([*changed, "method", *of_method]))
    fields = {key: after.settled(key) for key in changed}
    _require_plain(fields)
    return {**({"variables": tables} if tables else {}), **fields}


def change_differences(before: Spec, fields: Mapping[str, Any]) -> list[Difference]:
    """Return what a change makes different, setting by setting.

    Args:
        before: the spec before it.
        fields: those that are different.
    """
    plain = {key: each for key, each in fields.items() if key not in ("variables", "method")}
    old = {key: before.settled(key) for key in plain}
    if "variables" in fields:
        after = before.changed({"variables": fields["variables"]})
        old, plain = (
            {"variables": encode_space(each.space), **others} for each, others in ((before, old), (after, plain))
        )
    return differences(old, plain)


def with_radius(spec: Spec, radius: float | Schedule) -> Objective:
    """Return a study's objective with another radius.

    Args:
        spec: of the study.
        radius: of its distance, or of itself where it has no distance.
    """
    objective: Any = spec.composition.objective
    distance: Any = getattr(objective, "distance", None)
    if hasattr(distance, "radius"):
        return replace(objective, distance=replace(distance, radius=radius))  # type: ignore[no-any-return]
    has = hasattr(objective, "radius")
    remedy = "give an objective that has one: objective=DRO(TotalVariation(0.2))"
    require(has, CALL("radius"), "be given where the objective has a radius", objective, remedy)
    return replace(objective, radius=radius)  # type: ignore[no-any-return]


def needs_engine(spec: Spec, fields: Mapping[str, Any]) -> bool:
    """Return whether a change may contradict the parts of a study, so that these must be made to check it.

    Args:
        spec: before the change.
        fields: those that are different.
    """
    if set(fields) - {"variables", "control"}:
        return True
    tables = fields.get("variables", {})
    limited = "constraints" in spec.fields or "candidates" in spec.fields
    bounds = all({"lower", "upper", "unit"} >= set(table) for table in tables.values())
    decided = all(name in spec.space.decisions for name in tables) and not spec.controlled
    return bool(tables) and not (bounds and decided and not limited)


def check_change(after: Spec, history: History, later: History) -> None:
    """Refuse a change that leaves nothing to learn the contexts' law from.

    Args:
        after: the spec after the change.
        history: before it.
        later: after it.
    """
    import torch

    if after.controlled or not history.happened or later.happened:
        return
    parts = after.composition.on(after.space, after.sign)
    try:
        parts.reference(later.observations, 1, torch.Generator().manual_seed(0))
    except InvalidInput:
        wanted = "leave one of the contexts that happened within the bounds, since their law is learned from them"
        raise InvalidInput(where=CALL("variables"), requirement=wanted, received=later.space.contexts) from None


def require_changeable(before: Spec, after: Spec) -> None:
    """Refuse changes of what a study cannot change, such as its direction.

    Args:
        before: what the study is made of.
        after: what it shall be made of.
    """
    for key in ("direction", "seed", "outcomes", "cautious"):
        old, new = before.settled(key), after.settled(key)
        stay = "stay" if key in ("outcomes", "cautious") else f"stay {old}"
        require(old == new, f"Study({key}=...)", f"{stay}: it cannot be changed", new, "use another name")
    parts = [(each.settled("simulator") or {}).get("name") for each in (before, after)]
    require(parts[0] == parts[1], "Study(simulator=...)", "stay: it cannot be changed", parts[1], "use another name")
    sets = [_set_names(each) for each in (before, after)]
    where = "Study(control=...)"
    require(sets[0] == sets[1], where, f"keep the control sets {sets[0]}; costs and budget may change", sets[1])


def _encoded_parts(spec: Spec, parts: Mapping[str, Any]) -> dict[str, Any]:
    from allweather.methods.composition import Composition
    from allweather.serialization.compositions import encode_composition

    encoded = encode_composition(Composition(**parts), spec.law_names)
    return {key: encoded[key] for key in parts}


def _with_costs(spec: Spec, costs: Costs, budget: float | None) -> dict[str, Any]:
    """The control sets as plain data, with other costs or another budget."""
    where = CALL("costs" if costs else "budget")
    control = spec.fields.get("control")
    if control is None:
        raise InvalidInput("is for studies with control sets, which this one has not", where=where)
    require(isinstance(costs, Mapping), where, "map variables to costs", costs)
    sets: Sequence[Mapping[str, Any]] = control["sets"]
    given = {frozenset((names,) if isinstance(names, str) else names): cost for names, cost in costs.items()}
    strange = [sorted(names) for names in given if names not in [frozenset(each["variables"]) for each in sets]]
    require(not strange, where, f"name control sets among {[each['variables'] for each in sets]}", strange)
    for cost in given.values():
        require_number(cost, where, above=0)
    new = [{**each, "cost": float(given.get(frozenset(each["variables"]), each["cost"]))} for each in sets]
    if budget is None:
        return {**control, "sets": new}
    require_number(budget, CALL("budget"), above=0)
    return {**control, "sets": new, "budget": budget}


def _require_plain(fields: Mapping[str, Any]) -> None:
    for key, value in fields.items():
        code = list(marks(value))
        require(not code, CALL(key), "have a plain form, which the journal can hold", ", ".join(code))


def _set_names(spec: Spec) -> list[tuple[str, ...]] | None:
    sets = spec.fields.get("control", {}).get("sets", [])
    return sorted(tuple(sorted(each["variables"])) for each in sets) if spec.controlled else None
