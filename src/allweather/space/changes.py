"""Changes of a space during a study: other bounds, more or fewer options, another unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, require
from allweather.space.space import Space
from allweather.space.variables import Choice, Context, Integer, Real, Variable

Tables = Mapping[str, Mapping[str, Any]]
"""By variable, what is different: `lower`, `upper` and `unit`, or `options`."""


def changed_space(space: Space, tables: Tables, where: str = "change") -> Space:
    """Return a space with other bounds, options or units; options that were removed keep their columns.

    Args:
        space: the variables so far.
        tables: what is different, by variable.
        where: what errors call it.

    Example:
        >>> changed_space(Space(order=Real(0, 1)), {"order": {"upper": 2}})
        Space(order=Real(lower=0, upper=2, log=False))
    """
    variables = space.variables
    require(isinstance(tables, Mapping), where, "name variables", tables)
    for name, table in tables.items():
        if name not in variables:
            raise unknown(where, name, variables)
        variables[name] = _changed(variables[name], table, f"{where} of {name}")
    return Space(**variables)


def space_changes(space: Space, variables: Mapping[str, Variable], where: str) -> dict[str, dict[str, Any]]:
    """Return what makes the variables of a space those given, which may differ in bounds, options and unit only.

    Args:
        space: the variables so far.
        variables: some of them, as they shall be.
        where: what errors call it.

    Example:
        >>> space_changes(Space(order=Real(0, 1), wood=Choice("oak", "ash")), {"order": Real(0, 2)}, "change")
        {'order': {'upper': 2}}
    """
    require(isinstance(variables, Mapping), where, "map names to variables", variables)
    found: dict[str, dict[str, Any]] = {}
    for name, new in variables.items():
        if name not in space.variables:
            raise unknown(where, name, space.variables)
        old = space.variables[name]
        require(_kind(old) == _kind(new), f"{where} {name}", f"stay a {' '.join(_kind(old))}", new)
        before, after = _settings(old), _settings(new)
        table = {key: value for key, value in after.items() if value != before[key]}
        if table:
            found[name] = table
    return found


def resolve_tables(space: Space, given: Mapping[str, Variable | Mapping[str, Any]], where: str) -> Tables:
    """Return what is different, by variable, from variables as they shall be or tables of what is different.

    Args:
        space: the variables so far.
        given: by name a variable, or a table with some of `lower`, `upper`, `unit` and `options`; instead of all
            options it may have those to `add` and to `remove`.
        where: what errors call it.

    Example:
        >>> resolve_tables(Space(wood=Choice("oak", "ash")), {"wood": {"add": ["elm"], "remove": ["ash"]}}, "change")
        {'wood': {'options': ['oak', 'elm']}}
    """
    require(isinstance(given, Mapping), where, "map names to variables", given)
    wanted = {name: each for name, each in given.items() if isinstance(each, Mapping)}
    new = changed_space(space, {name: _options(space, name, table, where) for name, table in wanted.items()}, where)
    whole = {name: each for name, each in given.items() if name not in wanted}
    return space_changes(space, {**{name: new.variables[name] for name in wanted}, **whole}, where)  # type: ignore[dict-item]


def _options(space: Space, name: str, table: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """A table with all options in place of those to add and to remove."""
    if not {"add", "remove"} & set(table) or name not in space.variables:
        return table
    before = _settings(space.variables[name]).get("options")
    if before is None:
        raise InvalidInput("has bounds and no options", where=f"{where} {name}")
    for key in ("add", "remove"):
        listed = isinstance(table.get(key, ()), list | tuple)
        require(listed, f"{where} {name}", f"list the options to {key}", table.get(key))
    removed = list(table.get("remove", ()))
    strange = [option for option in removed if option not in before]
    require(not strange, f"{where} {name}", f"remove options among {before}", strange)
    kept = [option for option in before if option not in removed]
    rest = {key: value for key, value in table.items() if key not in ("add", "remove")}
    return {**rest, "options": [*kept, *(option for option in table.get("add", ()) if option not in kept)]}


def hull(spaces: Sequence[Space]) -> Space:
    """Return the smallest space that holds several spaces of the same variables.

    Example:
        >>> hull([Space(order=Real(0, 2)), Space(order=Real(1, 3))])
        Space(order=Real(lower=0, upper=3, log=False))
    """
    if len(spaces) == 1:
        return spaces[0]
    return Space(**{name: _hull([each.variables[name] for each in spaces]) for name in spaces[-1].variables})


def contains(variables: Mapping[str, Variable], row: Mapping[str, Any]) -> bool:
    """Return whether all values of a row are within the bounds and among the options of their variables."""
    for name, value in row.items():
        try:
            variables[name].encode(value, name)
        except InvalidInput:
            return False
    return True


def _changed(variable: Variable, table: Mapping[str, Any], where: str) -> Variable:
    if isinstance(variable, Context):
        return Context(_changed(variable.variable, table, where))
    known = list(_settings(variable))
    for key in table:
        if key not in known:
            raise unknown(where, key, known)
    if isinstance(variable, Choice):
        if "options" not in table:
            return variable
        require(isinstance(table["options"], Sequence), where, "list options", table["options"])
        return Choice(*table["options"]).without([*variable.options, *variable.former])
    assert isinstance(variable, Real | Integer)
    try:
        return replace(variable, **table)
    except InvalidInput as error:
        raise error.within(where) from None


def _hull(variables: Sequence[Variable]) -> Variable:
    newest = variables[-1]
    if isinstance(newest, Context):
        return Context(_hull([each.variable for each in variables if isinstance(each, Context)]))
    every: Sequence[Any] = variables
    if isinstance(newest, Choice):
        return Choice(*dict.fromkeys(option for each in reversed(every) for option in each.options))
    lower, upper = min(each.lower for each in every), max(each.upper for each in every)
    assert isinstance(newest, Real | Integer)
    return replace(newest, lower=lower, upper=upper)


def _kind(variable: object) -> tuple[str, ...]:
    """What a change cannot touch: the type, the role and the scale."""
    inner = variable.variable if isinstance(variable, Context) else variable
    role = ("context",) if isinstance(variable, Context) else ()
    return (*role, type(inner).__name__, *(("log",) if getattr(inner, "log", False) else ()))


def _settings(variable: Variable) -> dict[str, Any]:
    inner: Any = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice):
        return {"options": list(inner.options)}
    return {"lower": inner.lower, "upper": inner.upper, "unit": inner.unit}
