"""Changes of a stored study: fields of its spec after them, and what differs between two specs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from allweather.errors import shown
from allweather.serialization.fields import PARTS
from allweather.serialization.values import CODE, is_code

CHANGEABLE = ("variables", "initial", "goal", *PARTS[:-1], "constraints", "candidates", "control")
"""Fields of a spec that a study may change; its direction, its seed and what chooses contexts stay."""
ABSENT = "default"


class Difference(NamedTuple):
    """A setting that differs between what is stored and what is given, or before and after a change."""

    place: tuple[str, ...]
    """Where it is in the spec: `("variables", "order", "upper")`."""
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The place as text, such as `order upper`, without the table of variables."""
        return " ".join(self.place[1:] if self.place[0] == "variables" else self.place)

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        return {"name": self.name, "before": self.before, "after": self.after}

    def __str__(self) -> str:
        return f"{self.name}: {show_setting(self.before)} -> {show_setting(self.after)}"


def merge_fields(fields: Mapping[str, Any], changes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a spec after changes; a change to None removes a field.

    Args:
        fields: as they were stored with the study.
        changes: what each event says, in order.

    Example:
        >>> merge_fields({"variables": {"x": {"lower": 0, "upper": 1}}}, [{"variables": {"x": {"upper": 2}}}])
        {'variables': {'x': {'lower': 0, 'upper': 2}}}
    """
    merged = dict(fields)
    for change in changes:
        tables = change.get("variables", {})
        variables = {
            name: {**table, **tables.get(name, {})} for name, table in dict(merged.get("variables", {})).items()
        }
        others = {key: change[key] for key in (*CHANGEABLE[1:], "method") if key in change}
        merged = {**merged, **others, "variables": variables}
    return {key: value for key, value in merged.items() if value is not None}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return where two specs differ, setting by setting; defaults that are left out are None.

    Example:
        >>> [str(each) for each in differences({"control": {"budget": 10}}, {"control": {"budget": 20}, "initial": 8})]
        ['control budget: 10 -> 20', 'initial: default -> 8']
    """
    return list(_differences(_readable(before), _readable(after), ()))


def _differences(before: Any, after: Any, place: tuple[str, ...]) -> Iterator[Difference]:
    tables = isinstance(before, Mapping) and isinstance(after, Mapping) and not (is_code(before) or is_code(after))
    if tables and before.get("name") == after.get("name"):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(key), after.get(key), (*place, key))
    elif before != after:
        yield Difference(place, before, after)


def _readable(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with costs by control set, and without the version and what is no part of the study."""
    found = {key: value for key, value in fields.items() if key not in ("version", "name", "storage", "expire")}
    if isinstance(found.get("control"), Mapping) and "sets" in found["control"]:
        control = dict(found["control"])
        costs = {", ".join(each["variables"]): each["cost"] for each in control.pop("sets")}
        found["control"] = {"costs": costs, **control}
    return found


def show_setting(value: Any) -> str:
    """Return a setting of a spec as short text.

    Example:
        >>> show_setting({"name": "dro", "distance": {"name": "total-variation", "radius": 0.2}})
        'dro(distance=total-variation(radius=0.2))'
    """
    if value is None:
        return ABSENT
    if is_code(value):
        return str(value[CODE])
    if isinstance(value, Mapping) and "name" in value:
        settings = ", ".join(f"{key}={show_setting(each)}" for key, each in value.items() if key != "name")
        return f"{value['name']}({settings})" if settings else str(value["name"])
    return str(value) if isinstance(value, float | int | str) else shown(value)
