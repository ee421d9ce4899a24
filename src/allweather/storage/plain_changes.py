"""Changes of a stored study that need no surrogate and no method: of bounds of decisions, costs and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allweather.errors import InvalidInput, require, require_number
from allweather.serialization.changes import Difference, differences, merge_fields
from allweather.serialization.spaces import encode_space
from allweather.space.changes import resolve_tables
from allweather.storage.stored_study import StoredStudy
from allweather.trials.events import Event
from allweather.trials.history import History

Costs = Mapping[tuple[str, ...], float]
"""By the variables of a control set."""


def is_plain(stored: StoredStudy, variables: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a change of variables cannot contradict the parts of a study, so that they need not be made.

    Args:
        stored: the study.
        variables: what is different, by variable.
    """
    if stored.spec is None:  # its parts are in code, and are checked there
        return True
    limited = "constraints" in stored.spec or "candidates" in stored.spec
    bounds = all({"lower", "upper", "unit"} >= set(table) for table in variables.values())
    decided = all(name in stored.space.decisions for name in variables) and "control" not in stored.spec
    return not variables or (bounds and decided and not limited)


def change_stored(
    stored: StoredStudy,
    variables: Mapping[str, Mapping[str, Any]],
    costs: Costs | None = None,
    budget: float | None = None,
) -> list[Difference]:
    """Change a stored study without its parts, and return what is different; see `Study.change`.

    Args:
        stored: the study.
        variables: what is different, by variable.
        costs: of control sets.
        budget: of all trials together.
    """
    found: list[Difference] = []

    def choose(history: History) -> list[Event]:
        spec = dict(stored.settings.fields or {})
        fields: dict[str, Any] = {}
        if costs or budget is not None:
            fields["control"] = _control(spec.get("control"), costs or {}, budget)
        tables = resolve_tables(history.space, variables, "change")
        if tables:
            fields["variables"] = tables
        before = {**spec, "variables": encode_space(history.space)}
        found[:] = differences(before, merge_fields(before, [fields]))
        return [Event.changed(fields)] if found else []

    stored.session.decide(choose)
    return found


def _control(control: Any, costs: Costs, budget: float | None) -> dict[str, Any]:
    if control is None:
        raise InvalidInput(
            "is for studies with control sets, which this one has not", where="change of costs or budget"
        )
    sets: Sequence[Mapping[str, Any]] = control["sets"]
    given = {frozenset(names): cost for names, cost in costs.items()}
    strange = [sorted(names) for names in given if names not in [frozenset(each["variables"]) for each in sets]]
    require(not strange, "change of costs", f"name control sets among {[each['variables'] for each in sets]}", strange)
    for cost in given.values():
        require_number(cost, "change of costs", above=0)
    new = [{**each, "cost": given.get(frozenset(each["variables"]), each["cost"])} for each in sets]
    if budget is None:
        return {**control, "sets": new}
    require_number(budget, "change of the budget", above=0)
    return {**control, "sets": new, "budget": budget}
