"""Variables proposed for the columns of a table: names, kinds, bounds and options, each with its reason."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from allweather._utils.cell_numbers import DECIMALS, NumberMarks
from allweather._utils.tables import Line, is_blank, read_table
from allweather.errors import InvalidInput, is_number, require
from allweather.space.space import Space
from allweather.space.variables import MAX_UNIT_CHARACTERS, Choice, Context, Integer, Real, Value, Variable

CALL = "Space.from_table({}=...)"
OUTCOME_NAMES = ("value", "outcome", "result", "response", "objective", "target", "y")
"""Headers that are taken for the outcome where none is named."""
OTHER_COLUMNS = ("trial", "state", "left", "cost", "sd", "occasion")
"""Headers with a meaning of their own in tables of trials."""
MAX_OPTIONS = 12
"""Different texts of a column that are options, at most; more are remarks."""
MAX_OPTION_SHARE = 0.5
"""Different texts that are options, at most, as a share of the rows."""
MIN_LOG_RATIO = 1000
"""Positive numbers that differ by this factor are on a logarithmic scale."""
CONTEXT_MARGIN = 0.1
"""Share of the range that contexts may exceed on either side: more will happen than was seen."""
UNITS = re.compile(r"^(.*\S)\s*[\[(]\s*([^\])]*?)\s*[\])]$")


def split_unit(header: str) -> tuple[str, str]:
    """Return a header without the unit in brackets at its end, and that unit.

    Example:
        >>> split_unit("Dose rate (mg/h)"), split_unit("order")
        (('Dose rate', 'mg/h'), ('order', ''))
    """
    found = UNITS.match(header.strip())
    if found is None or len(found.group(2)) > MAX_UNIT_CHARACTERS or not found.group(2).isprintable():
        return header.strip(), ""
    return found.group(1), found.group(2)


class Proposed(NamedTuple):
    """What a column of a table becomes."""

    header: str
    name: str
    variable: Variable | None
    """None where the column is left out."""
    reason: str


@dataclass(frozen=True)
class Proposal:
    """A space proposed for a table, column by column.

    Example:
        >>> rows = [{"dose (mg)": d, "wood": w, "heat": h, "yield": d + h} for d, w, h in
        ...         [(0.5, "oak", 11), (2.5, "ash", 17), (1.5, "oak", 12), (3.5, "ash", 14)]]
        >>> for each in Proposal.of(rows, contexts=["heat"], outcome="yield").columns:
        ...     print(f"{each.name}: {each.variable} ({each.reason})")
        dose: Real(lower=0.5, upper=3.5, log=False) (numbers from 0.5 to 3.5)
        wood: Choice(options=('oak', 'ash')) (2 different texts in 4 rows)
        heat: Context(variable=Integer(lower=10, upper=18)) (whole numbers from 11 to 17, with a margin)
    """

    columns: tuple[Proposed, ...]
    outcome: str
    """The header of the outcome."""
    rows: int

    @classmethod
    def of(cls, table: Any, contexts: Sequence[str] = (), outcome: str | None = None, decimal: str = "") -> Proposal:
        """Propose variables for a table.

        Args:
            table: a DataFrame, a CSV or .xlsx file, or rows.
            contexts: the columns that are not controlled, by header, with or without unit.
            outcome: the column of the outcome, likewise; by default one that is called `value` or the like.
            decimal: the decimal mark of numbers in text, where it is known.
        """
        require(decimal in DECIMALS, CALL.format("decimal"), "be '.' or ','", decimal)
        lines = [line for line in read_table(table) if line.problem is None]
        require(len(lines) > 0, CALL.format("table"), "have rows below its header", "no rows")
        require(not isinstance(contexts, str), CALL.format("contexts"), "be a list of names", contexts)
        headers = list(dict.fromkeys(str(header) for line in lines for header in line.cells if header))
        measured = _outcome(headers, outcome)
        uncertain = {_found(each, headers, CALL.format("contexts")) for each in contexts}
        require(measured not in uncertain, CALL.format("contexts"), "not name the outcome", measured)
        names = _names([header for header in headers if header != measured])
        columns = _Columns(lines, decimal)
        proposed = [columns.proposed(header, *names[header], header in uncertain) for header in names]
        wrong = [each for each in proposed if each.variable is None and each.header in uncertain]
        if wrong:
            raise InvalidInput(
                f"names {wrong[0].header!r}, which is no variable: {wrong[0].reason}", where=CALL.format("contexts")
            )
        return cls(tuple(proposed), measured, len(lines))

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables by name."""
        return {each.name: each.variable for each in self.columns if each.variable is not None}

    @property
    def left_out(self) -> list[Proposed]:
        """The columns that are no variable."""
        return [each for each in self.columns if each.variable is None]

    @property
    def space(self) -> Space:
        """The space of all variables."""
        require(len(self.variables) > 0, CALL.format("table"), "have a column that can be a variable", self.left_out)
        return Space(**self.variables)

    @property
    def renamed(self) -> dict[str, str]:
        """What the outcome is called in the table, as `Study.add(columns=...)` takes it; empty where it is `value`."""
        return {} if self.outcome == "value" else {"value": self.outcome}


class _Columns:
    """The cells of a table by column."""

    def __init__(self, lines: Sequence[Line], decimal: str) -> None:
        self._lines, self._marks = lines, NumberMarks(decimal)
        for line in lines:  # what points and commas mean is a matter of the whole table
            for cell in line.cells.values():
                if isinstance(cell, str):
                    self._marks.read(cell, line.decimal_comma, "")
        self._marks = self._marks.again or self._marks

    def proposed(self, header: str, name: str, unit: str, uncertain: bool) -> Proposed:
        """What a column becomes."""
        if header.strip().casefold() in OTHER_COLUMNS:
            return Proposed(header, name, None, "a column with a meaning of its own in tables of trials")
        cells = [(line, line.cells.get(header)) for line in self._lines]
        filled = [(line, cell) for line, cell in cells if not is_blank(cell)]
        if not filled:
            return Proposed(header, name, None, "empty in every row")
        numbers = [self._number(line, cell) for line, cell in filled]
        known = [number for number in numbers if number is not None and math.isfinite(number)]
        if len(known) > len(filled) / 2:
            doubt = len(filled) - len(known)
            found = self._numeric(header, name, unit, known, uncertain)
            said = f"; {doubt} cell{'s' if doubt > 1 else ''} hold{'' if doubt > 1 else 's'} no number"
            return found._replace(reason=f"{found.reason}{said}") if doubt else found
        return self._choice(header, name, [cell for _, cell in filled], uncertain)

    def _number(self, line: Line, cell: Any) -> float | None:
        if isinstance(cell, str):
            return self._marks.read(cell, line.decimal_comma, "")
        return float(cell) if is_number(cell) else None

    def _numeric(self, header: str, name: str, unit: str, numbers: list[float], uncertain: bool) -> Proposed:
        low, high = min(numbers), max(numbers)
        if low == high:
            return Proposed(header, name, None, f"always {low:.6g}: what does not vary cannot be learned about")
        step = _whole_step(numbers)
        log = low > 0 and high / low >= MIN_LOG_RATIO
        kind = "whole numbers" if step == 1 else f"numbers in steps of {step}" if step else "numbers"
        reason = f"{kind} from {low:.6g} to {high:.6g}"
        margin = CONTEXT_MARGIN * (high - low) if uncertain and not log else 0.0
        lower, upper = _rounded(low - margin, high + margin, log)
        lower = max(lower, 0.0) if low >= 0 else lower
        if unit.startswith("%") and low >= 0 and high <= 100:
            upper = min(upper, 100.0)
        reason += ", with a margin" if margin else ", over orders of magnitude" if log else ""
        variable: Variable
        if step == 1 and not log and max(abs(lower), abs(upper)) < 2**53:
            variable = Integer(math.floor(lower), math.ceil(upper), unit=unit)
        else:
            variable = Real(lower, upper, log=log, unit=unit)
        return Proposed(header, name, Context(variable) if uncertain else variable, reason)

    def _choice(self, header: str, name: str, cells: Sequence[Any], uncertain: bool) -> Proposed:
        options: list[Value] = list(dict.fromkeys(each.strip() if isinstance(each, str) else each for each in cells))
        count = len(options)
        if count == 1:
            return Proposed(header, name, None, f"always {options[0]}: what does not vary cannot be learned about")
        if count > MAX_OPTIONS or count > MAX_OPTION_SHARE * len(cells):
            said = "a remark, a name or a date; runs of one day may share it as their occasion"
            return Proposed(header, name, None, f"{count} different texts in {len(cells)} rows: {said}")
        try:
            choice = Choice(*options)
        except InvalidInput as error:
            return Proposed(header, name, None, f"no options: {error.reason}")
        reason = f"{count} different texts in {len(cells)} rows"
        return Proposed(header, name, Context(choice) if uncertain else choice, reason)


def _outcome(headers: Sequence[str], given: str | None) -> str:
    if given is not None:
        return _found(given, headers, CALL.format("outcome"))
    likely = [header for header in headers if split_unit(header)[0].casefold() in OUTCOME_NAMES]
    needed = f"name the column of the outcome: {', '.join(headers)}"
    require(len(likely) == 1, CALL.format("outcome"), needed, likely or None)
    return likely[0]


def _found(name: str, headers: Sequence[str], where: str) -> str:
    """The header that a user means: the same, or but for case and unit."""
    if name in headers:
        return name
    simple = split_unit(str(name))[0].casefold()
    alike = [header for header in headers if split_unit(header)[0].casefold() == simple]
    require(len(alike) == 1, where, f"name columns of the table: {', '.join(headers)}", name)
    return alike[0]


def _names(headers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name and unit of the variable of each column; the whole header where names would be equal without units."""
    found = {header: split_unit(header) for header in headers}
    short = [name.casefold() for name, _ in found.values()]
    return {
        header: (name, unit) if short.count(name.casefold()) == 1 else (header.strip(), "")
        for header, (name, unit) in found.items()
    }


def _whole_step(numbers: Sequence[float]) -> int:
    """The greatest whole step between whole numbers; 0 where they are not whole."""
    if not all(number.is_integer() and abs(number) < 2**53 for number in numbers):
        return 0
    first = int(numbers[0])
    return math.gcd(*(int(number) - first for number in numbers))


def _rounded(low: float, high: float, log: bool) -> tuple[float, float]:
    """Bounds rounded outward: to a tenth of the range's order of magnitude, or on a log scale to one digit."""
    if log:
        down, up = (10.0 ** math.floor(math.log10(each)) for each in (low, high))
        return float(f"{math.floor(low / down) * down:.6g}"), float(f"{math.ceil(high / up) * up:.6g}")
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    found = float(f"{math.floor(low / step + 1e-9) * step:.12g}"), float(f"{math.ceil(high / step - 1e-9) * step:.12g}")
    return found if found[0] <= low and found[1] >= high else (low, high)


def proposal_tables(proposal: Proposal) -> Mapping[str, dict[str, Any]]:
    """Return the variables as tables of a spec, by name.

    Args:
        proposal: of a table.
    """
    tables: dict[str, dict[str, Any]] = {}
    for name, variable in proposal.variables.items():
        inner = variable.variable if isinstance(variable, Context) else variable
        if isinstance(inner, Choice):
            table: dict[str, Any] = {"options": list(inner.options)}
        else:
            bounds: Any = inner
            table = {"type": "integer"} if isinstance(inner, Integer) else {}
            table |= {"lower": bounds.lower, "upper": bounds.upper}
            table |= {"log": True} if getattr(inner, "log", False) else {}
            table |= {"unit": bounds.unit} if bounds.unit else {}
        tables[name] = {**table, "context": True} if isinstance(variable, Context) else table
    return tables
