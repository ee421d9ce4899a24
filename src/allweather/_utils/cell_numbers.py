"""Numbers in the cells of a table: decimal commas, and marks between thousands where they can be told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from allweather._utils.formatting import parsed_number
from allweather.errors import InvalidInput

MAX_CELLS_NAMED = 3
"""Cells of each kind that an error names, at most."""
SPACED = re.compile(r"[+-]?\d{1,3}(?:([ \u00a0\u2009\u202f'\u2019])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
"""Thousands apart by spaces or apostrophes, as in 12 500,5: never in doubt."""
GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})"),
    ",": re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})"),
}
"""By mark: numbers in which it certainly separates thousands, as in 1.234,5 or 1,234,567."""
DOUBTFUL = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
"""Decimals or thousands: 1.234."""
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
DECIMALS = ("", ".", ",")
"""Decimal marks that a table may be said to have; none where they are to be told from its cells."""


@dataclass
class Cells:
    """Some cells of a kind: how many, and the first of them."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Count a cell."""
        self.count += 1
        if len(self.first) < MAX_CELLS_NAMED:
            self.first.append(text)

    def __str__(self) -> str:
        listed = ", ".join(self.first)
        return listed if self.count <= len(self.first) else f"{listed} and {self.count - len(self.first)} more"


@dataclass
class NumberMarks:
    """What points and commas mean in the numbers of a table, as far as they have been read."""

    decimal: str = ""
    """The decimal mark, where it was stated: the other mark then separates thousands."""
    thousands: frozenset[str] = frozenset()
    """Marks that separate thousands in this table, from an earlier reading."""
    commas: Cells = field(default_factory=Cells)
    """Cells with a decimal comma."""
    points: Cells = field(default_factory=Cells)
    """Cells with a decimal point."""
    grouping: set[str] = field(default_factory=set)
    """Marks that certainly separate thousands in some cell."""
    doubtful: set[str] = field(default_factory=set)
    """Marks that were read as decimal, and may separate thousands: 1.234."""

    def read(self, text: str, decimal_comma: bool, where: str) -> float | None:
        """Return the number that a cell holds; None where it holds none.

        Args:
            text: of the cell.
            decimal_comma: whether a single comma is a decimal mark, since it does not separate cells.
            where: the cell, for questions about it.

        Example:
            >>> marks = NumberMarks()
            >>> [marks.read(text, True, "") for text in ("0,5", "1.234,5", "12 500", "1'000.5", "oak")]
            [0.5, 1234.5, 12500.0, 1000.5, None]
            >>> [NumberMarks(decimal=mark).read("1.234", True, "") for mark in ("", ".", ",")]
            [1.234, 1.234, 1234.0]
        """
        cell = text.strip().replace("\u2212", "-")
        if self.decimal:
            return self._stated(re.sub(r"[ \u00a0\u2009\u202f'\u2019]", "", cell) if SPACED.fullmatch(cell) else cell)
        if SPACED.fullmatch(cell):
            return self._decimal(re.sub(r"[^\d.,+-]", "", cell), text, True, where)
        doubt = DOUBTFUL.fullmatch(cell)
        for mark, pattern in GROUPED.items():
            certain = pattern.fullmatch(cell) is not None
            if certain or (doubt and doubt.group(1) == mark and mark in self.thousands):
                self.grouping |= {mark} if certain else set()
                return self._decimal(cell.replace(mark, ""), text, True, where)
        if doubt:
            self.doubtful.add(doubt.group(1))
        return self._decimal(cell, text, decimal_comma, where)

    def _stated(self, cell: str) -> float | None:
        """A number whose decimal mark is known."""
        other = "." if self.decimal == "," else ","
        grouped = re.fullmatch(rf"[+-]?\d{{1,3}}(?:{re.escape(other)}\d{{3}})+(?:{re.escape(self.decimal)}\d+)?", cell)
        plain = cell.replace(other, "") if grouped else cell
        return None if other in plain else parsed_number(plain.replace(self.decimal, "."))

    def _decimal(self, cell: str, text: str, decimal_comma: bool, where: str) -> float | None:
        comma = DECIMAL_COMMA.fullmatch(cell) is not None
        if comma and not decimal_comma:
            return None
        found = parsed_number(cell.replace(",", ".") if comma else cell)
        if found is not None:
            if comma:
                self.commas.add(f"{text.strip()} ({where})")
            elif "." in cell:
                self.points.add(f"{text.strip()} ({where})")
        return found

    @property
    def again(self) -> NumberMarks | None:
        """Marks for a second reading, where what was in doubt is settled by other cells; None where nothing was."""
        settled = frozenset(self.grouping & self.doubtful) - self.thousands
        return NumberMarks(thousands=self.thousands | frozenset(self.grouping)) if settled else None

    def mixture(self, where: str) -> InvalidInput | None:
        """Return what is wrong with a mixture: 1.234 beside 0,5 may be 1234; None where there is none.

        Args:
            where: what errors call the table.
        """
        if not (self.commas.count and self.points.count):
            return None
        first = self.points.first[0].partition(" ")[0]
        return InvalidInput(
            f"writes decimals in two ways: with a comma in {self.commas}, with a point in {self.points}; "
            f"is {first} a decimal number, or does the point separate thousands?",
            where=where,
            remedy="say what the decimal mark is: `decimal=','` or `decimal='.'` (option `--decimal`)",
        )


def is_decimal_comma(text: str) -> bool:
    """Whether a text is a number but for its decimal comma, which separates cells in some files."""
    return DECIMAL_COMMA.fullmatch(text.strip()) is not None


def first_of(names: Sequence[str], limit: int = MAX_CELLS_NAMED) -> str:
    """List the first of some names, and how many more there are.

    Example:
        >>> first_of(["a", "b", "c", "d", "e"])
        'a, b, c and 2 more'
    """
    listed = ", ".join(names[:limit])
    return listed if len(names) <= limit else f"{listed} and {len(names) - limit} more"
