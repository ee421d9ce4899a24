"""Tables of past data: DataFrames, CSV files as people have them, and dictionaries, as rows of named cells."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allweather.errors import InvalidInput, require

Columns = Sequence[str] | Mapping[str, str] | None
"""Columns to read, or what they are called in the table, by our name."""
TABLE = "Study.add(table=...)"
DELIMITERS = ",;\t"
MAX_CELLS_NAMED = 3
"""Cells of each kind that an error names, at most."""


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


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame, a CSV file, a list of dictionaries or a single one."""
    return [line.cells for line in read_table(table)]


def read_table(table: Any) -> list[Line]:
    """Return the rows of a DataFrame, a CSV file, a list of dictionaries or a single one, each with its place.

    Rows that were read before are returned as they are.

    Example:
        >>> read_table([{"order": 0.5, "value": 1.5}])
        [Line(where='row 1', cells={'order': 0.5, 'value': 1.5}, decimal_comma=False)]
    """
    if isinstance(table, str | Path):
        path = Path(table)
        require(path.is_file(), TABLE, "be the path of a CSV file that exists", str(table))
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            remedy = "save it as UTF-8 (in Excel: CSV UTF-8)"
            raise InvalidInput("is not encoded in UTF-8", where=str(table), remedy=remedy) from None
        return read_csv(text)
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

    Example:
        >>> read_csv("order; value\n0,5; 1,25\n;\n")
        [Line(where='line 2', cells={'order': '0,5', 'value': '1,25'}, decimal_comma=True)]
    """
    head = text[: text.find("\n") if "\n" in text else len(text)]
    if _is_json(text):
        remedy = (
            "import a study that `allweather export` wrote with `allweather import`; export its trials with "
            "`allweather export --csv`; or give the rows: `study.add([json.loads(line) for line in file])`"
        )
        raise InvalidInput("holds JSON, not a CSV table", where=TABLE, remedy=remedy)
    delimiter = max(DELIMITERS, key=head.count)
    lines = _records(text, delimiter)
    _, header = next(lines, (1, []))
    _require_distinct(header)
    found = []
    for number, cells in lines:
        spare = cells[len(header) :]
        remedy = "put cells that hold the separator in quotes"
        require(not any(spare), f"line {number}", f"have {len(header)} cells, as the header", len(cells), remedy)
        named = dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))
        named = {name: cell for name, cell in named.items() if name or cell}  # a nameless empty column is none
        if any(named.values()):
            found.append(Line(f"line {number}", named, delimiter != ",", escaped=True))
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


@dataclass(frozen=True)
class DecimalMarks:
    """The numbers of a file by how they write decimals; a file must not mix both ways."""

    commas: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)

    def note(self, text: str, where: str, line: Line) -> None:
        """Keep a number of a file that may have decimal commas.

        Args:
            text: of the cell, a number.
            where: its column.
            line: its row.
        """
        for mark, noted in ((",", self.commas), (".", self.points)):
            if line.decimal_comma and mark in text:
                noted.append(f"{text} ({line.where}, column {where!r})")

    def check(self, where: str) -> None:
        """Refuse a mixture: 1.234 beside 0,5 may be 1234.

        Args:
            where: what errors call the table.
        """
        if self.commas and self.points:
            first = self.points[0].partition(" ")[0]
            raise InvalidInput(
                f"writes decimals in two ways: with a comma in {_first_of(self.commas)}, with a point in "
                f"{_first_of(self.points)}; is {first} a decimal number, or does the point separate thousands?",
                where=where,
                remedy="write all numbers of the file with the same decimal mark, and without marks for thousands",
            )


def _first_of(cells: Sequence[str]) -> str:
    listed = ", ".join(cells[:MAX_CELLS_NAMED])
    return listed if len(cells) <= MAX_CELLS_NAMED else f"{listed} and {len(cells) - MAX_CELLS_NAMED} more"


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
    """Return whether a cell holds nothing: no text, None, or NaN as in DataFrames."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or str(cell) in ("NaT", "<NA>")
