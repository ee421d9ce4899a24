"""Tables of past data: DataFrames, CSV files as people have them, and dictionaries, as rows of named cells."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allweather._utils.table_files import table_file_text
from allweather.errors import InvalidInput, require

Columns = Sequence[str] | Mapping[str, str] | None
"""Columns to read, or what they are called in the table, by our name."""
TABLE = "Study.add(table=...)"
DELIMITERS = ",;\t"
EMPTY = frozenset(("", "-", "\u2013", "\u2014", "n/a", "na", "n.a.", "#n/a", "#na", "#nv", "nan", "<na>"))
"""Cells that hold nothing, in small letters: what people and spreadsheets write there."""


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    where: str
    """Where it is, as a person counts: `line 4` of a file, `row 3` of other tables."""
    cells: dict[str, Any]
    decimal_comma: bool = False
    """Whether 0,5 is a number: in files whose cells are not separated by commas."""
    escaped: bool = field(default=False, repr=False)
    """Whether a quote before a formula is no part of a cell, as in tables written for spreadsheets."""
    problem: InvalidInput | None = field(default=None, repr=False, compare=False)
    """Why the row cannot be read: it has more cells than the header."""


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame, a CSV file, a list of dictionaries or a single one."""
    lines = read_table(table)
    for line in lines:
        if line.problem is not None:
            raise line.problem
    return [line.cells for line in lines]


def read_table(table: Any) -> list[Line]:
    """Return the rows of a DataFrame, a CSV or .xlsx file, a list of dictionaries or a single one, each with its place.

    Rows that were read before are returned as they are.

    Example:
        >>> read_table([{"order": 0.5, "value": 1.5}])
        [Line(where='row 1', cells={'order': 0.5, 'value': 1.5}, decimal_comma=False)]
    """
    if isinstance(table, str | Path):
        path = Path(table)
        require(path.is_file(), TABLE, "be the path of a table file that exists", str(table))
        return read_csv(table_file_text(path))
    if isinstance(table, list) and all(isinstance(row, Line) for row in table):
        return list(table)
    return [Line(f"row {number}", row) for number, row in enumerate(_rows(table), start=1)]


def _rows(table: Any) -> list[dict[str, Any]]:
    if getattr(table, "ndim", 2) == 1 and hasattr(table, "to_dict"):  # one row of a DataFrame
        _require_distinct(getattr(table, "index", ()))
        return [dict(table.to_dict())]
    if hasattr(table, "to_dict") and not isinstance(table, Mapping):
        _require_distinct(getattr(table, "columns", ()))
        return [dict(row) for row in table.to_dict("records")]
    if isinstance(table, Mapping):
        return [dict(table)]
    require(isinstance(table, Sequence), TABLE, "be a DataFrame, rows, or a CSV file", table)
    for row in table:
        require(isinstance(row, Mapping), TABLE, "have rows with named values", row)
    return [dict(row) for row in table]


def read_csv(text: str) -> list[Line]:
    r"""Return the rows of a CSV table separated by commas, semicolons or tabs; spaces around cells do not count.

    A first line `sep=;`, as Excel writes it, names the separator.

    Example:
        >>> read_csv("order; value\n0,5; 1,25\n;\n")
        [Line(where='line 2', cells={'order': '0,5', 'value': '1,25'}, decimal_comma=True)]
    """
    head = text.partition("\n")[0]
    if _is_json(text):
        remedy = (
            "import a study that `allweather export` wrote with `allweather import`; export its trials with "
            "`allweather export --csv`; or give the rows: `study.add([json.loads(line) for line in file])`"
        )
        raise InvalidInput("holds JSON, not a CSV table", where=TABLE, remedy=remedy)
    said = re.fullmatch(r"sep=(.)\s*", head)
    delimiter = said.group(1) if said else max(DELIMITERS, key=head.count)
    lines = _records(text, delimiter)
    if said:
        next(lines)
    _, header = next(lines, (1, []))
    _require_distinct(header)
    found = []
    for number, cells in lines:
        where, problem = f"line {number}", None
        if any(cells[len(header) :]):
            needed = f"have {len(header)} cells, as the header"
            remedy = "put cells that hold the separator in quotes"
            problem = InvalidInput(where=where, requirement=needed, received=len(cells), remedy=remedy)
        named = dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))
        named = {name: cell for name, cell in named.items() if name or cell}  # a nameless empty column is none
        if any(named.values()):
            found.append(Line(where, named, delimiter != ",", escaped=True, problem=problem))
    return found


def _require_distinct(header: Iterable[Any]) -> None:
    """Refuse columns of the same name, of which all but one would be lost."""
    twice = sorted(str(name) for name, count in Counter(header).items() if count > 1 and name != "")
    remedy = "rename or drop all but one of them"
    require(not twice, TABLE, "name each column once", twice, remedy)


def _is_json(text: str) -> bool:
    """Whether a text is JSON, or JSON lines: an object or a list, where a header should be."""
    head = text.lstrip().partition("\n")[0].strip()
    if head in ("{", "["):
        return True
    try:
        return head.startswith(("{", "[")) and isinstance(json.loads(head.removesuffix(",")), dict | list)
    except (ValueError, RecursionError):
        return head.startswith(('{"', '[{"'))


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records of a file that are not empty, each with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    first = 1
    try:
        for record in reader:
            if record:
                yield first, [cell.strip() for cell in record]
            first = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"is not a row of a CSV table: {error}", where=f"line {first}") from None


def is_blank(cell: Any) -> bool:
    """Return whether a cell holds nothing: no text, `n/a`, `-`, `#N/A` or the like, None, or NaN as in DataFrames.

    Example:
        >>> [is_blank(cell) for cell in (" ", "n/a", "-", "#N/A", None, "0", "oak")]
        [True, True, True, True, True, False, False]
    """
    if isinstance(cell, str):
        return cell.strip().casefold() in EMPTY
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or str(cell) in ("NaT", "<NA>")
