"""Tables of past data: reading DataFrames, CSV files and dictionaries, and validating each row."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from allweather._utils.formatting import parsed_number
from allweather.errors import InvalidInput, is_number, name_mismatch, require
from allweather.space import Space
from allweather.space.variables import Choice, Context, Integer, Value, Variable
from allweather.trials.trial import outcomes, plain

OWN_COLUMNS = ("trial", "state", "left", "cost")
"""Columns of `Study.trials()` that are not read back."""


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame, a CSV file, a list of dictionaries or a single one."""
    if getattr(table, "ndim", 2) == 1 and hasattr(table, "to_dict"):  # one row of a DataFrame
        return [dict(table.to_dict())]
    if hasattr(table, "to_dict") and not isinstance(table, Mapping):
        return [dict(row) for row in table.to_dict("records")]
    if isinstance(table, Mapping):
        return [dict(table)]
    if isinstance(table, str | Path):
        path = Path(table)
        require(path.is_file(), "Study.add(table=...)", "be the path of a CSV file that exists", str(table))
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            names = list(reader.fieldnames or ())
            twice = sorted({name for name in names if names.count(name) > 1})
            require(not twice, "Study.add(table=...)", "name each column once", twice)
            return list(reader)
    require(isinstance(table, Sequence), "Study.add(table=...)", "be a DataFrame, rows, or a CSV file", table)
    for row in table:
        require(isinstance(row, Mapping), "Study.add(table=...)", "have rows with named values", row)
    return [dict(row) for row in table]


def read_row(
    row: dict[str, Any], space: Space, number: int
) -> tuple[dict[str, Value], dict[str, Value], tuple[float, ...]]:
    """Return decision, context and outcomes of one row of a table; text from a CSV file is parsed by variable."""
    where = f"Study.add(table=...) row {number}"
    names = [*space.decisions, *space.contexts, "value"]
    state = row.get("state", "complete")
    choose = "be of a complete trial, as in `trials[trials['state'] == 'complete']`"
    require(state == "complete", f"{where} (counted from 0): state", choose, state)
    given = list(row)
    row = {name: cell for name, cell in row.items() if name not in OWN_COLUMNS}
    mismatch = name_mismatch(names, row)
    if mismatch:
        raise InvalidInput(mismatch, where=f"{where} (counted from 0)", remedy=_column_remedy(names, given))
    read = {name: _read(row[name], space.variables[name]) for name in names[:-1]}
    decision = {name: read[name] for name in space.decisions}
    context = {name: read[name] for name in space.contexts}
    try:
        values = outcomes(_number(row["value"]), "value")
        space.decisions.check(decision)
        space.contexts.check(context)
    except InvalidInput as error:
        raise error.within(where) from None
    return plain(decision), plain(context), values


def _column_remedy(names: Sequence[str], given: Sequence[str]) -> str:
    """Say which columns a table must have, and which one may be the outcome under another name."""
    remedy = f"its columns must be exactly {', '.join(names)}"
    others = [str(name) for name in given if name not in names and name not in ("trial", "state", "left")]
    if "value" not in given and others:
        remedy += f"; if {others[-1]!r} is the outcome, rename the column to 'value'"
    return remedy


def _read(cell: Any, variable: Variable) -> Any:
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice):
        by_name = {str(option): option for option in inner.options}
        return by_name.get(cell, cell) if isinstance(cell, str) else cell
    number = _number(cell)
    whole = isinstance(inner, Integer) and is_number(number) and math.isfinite(number) and float(number).is_integer()
    return int(number) if whole else number


def _number(cell: Any) -> Any:
    found = parsed_number(cell) if isinstance(cell, str) else None
    return cell if found is None else found
