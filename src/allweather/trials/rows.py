"""Rows of past data: the cells of each as a decision, a context, outcomes, standard errors and an occasion."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from allweather._utils.cell_numbers import DECIMALS, NumberMarks, is_decimal_comma
from allweather._utils.formatting import parsed_number, tame, untamed
from allweather._utils.tables import TABLE, Columns, Line, is_blank
from allweather.errors import InvalidInput, is_number, name_mismatch, require
from allweather.space import Box, Space
from allweather.space.variables import Choice, Context, Integer, Value, Variable
from allweather.trials.reported_values import occasion_name, outcomes, standard_errors
from allweather.trials.results import Result
from allweather.trials.trial import plain

OWN_COLUMNS = ("trial", "state", "left", "cost")
"""Columns of `Study.trials()` that are not read back."""
FURTHER = ("sd", "occasion")
"""Columns that a table may have beside those of the variables and `value`."""
OBSERVED = "Study.observe_contexts(table=...)"
BLANK = ("refuse", "failed", "pending")
MISSING = ("refuse", "pending", "drop")
INVALID = ("refuse", "skip")
SKIP = "leave such rows out with `invalid='skip'` (option `--skip-invalid`)"
Headers = Mapping[str, str]
"""What columns are called in the table, by our names."""


class Entry(NamedTuple):
    """A row of past data."""

    decision: dict[str, Value]
    context: dict[str, Value] | None
    values: tuple[float, ...]
    sds: tuple[float | None, ...] = ()
    occasion: str | None = None
    failed: bool = False
    partial: dict[str, Value] | None = None


COMPLETE = "complete"
"""State of the trials that are added."""


class OutcomesEntry(NamedTuple):
    """A row of past data with several outcomes."""

    decision: dict[str, Value]
    context: dict[str, Value] | None
    results: dict[str, Result]
    occasion: str | None
    failed: bool
    partial: dict[str, Value] | None = None


class RowsRead(NamedTuple):
    """What the rows of a table say."""

    entries: list[tuple[str, Entry | OutcomesEntry]]
    """The rows that can be added, each with its place."""
    skipped: list[InvalidInput]
    """Why the others are left out, cell by cell."""


@dataclass(frozen=True)
class RowReader:
    """Reads rows of a table: which columns, and what a row without outcome means."""

    columns: Columns = None
    blank: str = "refuse"
    occasion: Any = None
    """That of all rows, where the table has none."""
    outcomes: tuple[str, ...] = ()
    """The names of several outcomes, which have a column each in place of `value`."""
    missing: str = "refuse"
    """What a row is whose context is not all there: a mistake, a pending trial, or left out."""
    invalid: str = "refuse"
    """Whether rows with mistakes are left out."""
    decimal: str = ""
    """The decimal mark of all numbers, where it is known."""
    marks: NumberMarks = field(default_factory=NumberMarks, repr=False, compare=False)
    """What points and commas mean in the numbers read so far."""

    def __post_init__(self) -> None:
        for name, known in (("blank", BLANK), ("missing", MISSING), ("invalid", INVALID), ("decimal", DECIMALS)):
            given = getattr(self, name)
            require(given in known, f"Study.add({name}=...)", f"be one of {', '.join(known)}", given)
        self.marks.decimal = self.decimal
        columns = self.columns
        listed = columns is None or (isinstance(columns, Mapping | Sequence) and not isinstance(columns, str))
        fits = listed and all(isinstance(name, str) for name in columns or ())
        require(fits, "Study.add(columns=...)", 'be a list of names, or {"value": "name in the table"}', columns)
        occasion_name(self.occasion, "Study.add(occasion=...)")

    def read_all(self, lines: Sequence[Line], space_of: Callable[[Line], Space]) -> RowsRead:
        """Return what rows say; all that is wrong with them is refused at once.

        Args:
            lines: of one table.
            space_of: the variables of a row.
        """
        entries: list[tuple[str, Entry | OutcomesEntry]] = []
        problems: list[InvalidInput] = []
        dropped: list[InvalidInput] = []
        for line in lines:
            entry, wrong = self._read(line, space_of(line))
            if wrong and self.missing == "drop" and all(each.problem == NO_CONTEXT for each in wrong):
                dropped += wrong
            elif wrong:
                problems += wrong
            elif entry is not None:
                entries.append((line.where, entry))
        settled = self.marks.again
        if settled is not None:  # 1.234 is 1234 where another cell is 1.234,5
            return replace(self, marks=settled).read_all(lines, space_of)
        mixture = self.marks.mixture(TABLE)
        if problems and self.invalid == "refuse":
            raise _refused([*problems, *([] if mixture is None else [mixture])], len(lines))
        if mixture is not None:
            raise mixture
        return RowsRead(entries, dropped + problems)

    def read(self, line: Line, space: Space) -> Entry | OutcomesEntry:
        """Return what a row says; text is parsed by variable."""
        entry, problems = self._read(line, space)
        if problems or entry is None:
            raise problems[0]
        return entry

    def _read(self, line: Line, space: Space) -> tuple[Entry | OutcomesEntry | None, list[InvalidInput]]:
        """What a row says, or everything that is wrong with it; a header that does not fit is raised at once."""
        if line.problem is not None:
            return None, [line.problem.at(f"{TABLE} {line.where}")]
        where = f"{TABLE} {line.where}"
        names = [*space.decisions, *space.contexts, *(self.outcomes or ("value",))]
        state = line.cells.get("state", COMPLETE) if self.columns is None and "state" not in names else COMPLETE
        if str(state).lower() != COMPLETE:
            choose = "be of a complete trial, as in `trials[trials['state'] == 'complete']`"
            pending = f"`study.tell({line.cells.get('trial', 'number')}, ...)` (`allweather tell`) reports its outcome"
            remedy = pending if state == "pending" else ""
            return None, [
                InvalidInput(where=f"{where}, column 'state'", requirement=choose, received=state, remedy=remedy)
            ]
        row, headers = self.named(line.cells, names, where)
        cells, problems = _Cells(row, headers, line, where, self.marks), list[InvalidInput]()
        decision = {name: _tried(problems, cells.read, name, each) for name, each in space.decisions.items()}
        context = self._context(cells, space, problems)
        complete = len(context) == len(space.contexts)
        shared = _tried(problems, self._occasion, cells, space)
        results = {
            name: _tried(problems, self._result, cells, name, sd, space)
            for name, sd in ([(name, f"{name} sd") for name in self.outcomes] or [("value", "sd")])
        }
        if problems:
            return None, problems
        known = (decision, context if complete else None)
        waits = not complete and (context or any(each.values for each in results.values()))
        partial = context if waits else None
        if self.outcomes:
            failed = all(each.failed for each in results.values())
            return OutcomesEntry(*known, results, shared, failed, partial), []
        told = results["value"]
        return Entry(*known, told.values, told.sds, shared, told.failed, partial), []

    def _occasion(self, cells: _Cells, space: Space) -> str | None:
        if "occasion" in cells.row and "occasion" not in space.variables and not is_blank(cells.row["occasion"]):
            return occasion_name(plain({"occasion": cells.text("occasion")})["occasion"], cells.at("occasion"))
        return occasion_name(self.occasion, "Study.add(occasion=...)")

    def _result(self, cells: _Cells, name: str, sd: str, space: Space) -> Result:
        """What a row says about an outcome: its value and standard error, or that there is none."""
        value, error = (cells.number(each) if each in cells.row else None for each in (name, sd))
        if is_blank(cells.row[name]):
            remedy = "say what rows without outcome are: `blank='failed'` or `blank='pending'` (option `--blank`)"
            require(self.blank != "refuse", cells.at(name), "have an outcome", cells.row[name], remedy)
            return Result(failed=self.blank == "failed")
        values = outcomes(value, cells.at(name))
        return Result(values, standard_errors(error, values, cells.at(sd)) if sd not in space.variables else ())

    def _context(self, cells: _Cells, space: Space, problems: list[InvalidInput]) -> dict[str, Value]:
        """The context as far as it is known; what is not is a problem, unless the trial may wait for it."""
        missing = [name for name, each in space.contexts.items() if cells.blank(name, each)]
        empty = any(is_blank(cells.row[name]) for name in self.outcomes or ("value",))
        unresolved = self.missing == "refuse" and self.blank != "refuse" and empty
        if self.missing != "pending" and not unresolved:
            remedy = "say what rows without context are: `missing='pending'` or `missing='drop'` (option `--missing`)"
            problems += [InvalidInput(NO_CONTEXT, where=cells.at(name), remedy=remedy) for name in missing]
        known = {name: each for name, each in space.contexts.items() if name not in missing}
        return {name: _tried(problems, cells.read, name, each) for name, each in known.items()}

    def named(self, cells: Mapping[str, Any], names: Sequence[str], where: str) -> tuple[dict[str, Any], Headers]:
        """Return the cells that are read, by our names, and the headers of these.

        Args:
            cells: by header.
            names: those that must be there.
            where: what errors call the row.
        """
        given, columns = list(cells), self.columns
        renamed = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns or ()}
        known = [*names, *(name for name in further_columns(self.outcomes) if name not in names)]
        strange = [name for name in renamed if name not in known]
        require(not strange, "Study.add(columns=...)", f"name columns among {', '.join(known)}", ", ".join(strange))
        chosen = renamed if isinstance(columns, Sequence) else {name: name for name in known} | renamed
        taken = {name: _find(header, given) for name, header in chosen.items()}
        absent = [header for name, header in renamed.items() if taken[name] is None]
        listed = ", ".join(map(str, given))
        require(not absent, "Study.add(columns=...)", f"name columns of the table, {listed}", ", ".join(absent))
        row = {name: cells[header] for name, header in taken.items() if header is not None}
        if columns is None:
            used = {*taken.values(), *(name for name in OWN_COLUMNS if name not in names)}
            row |= {name: cell for name, cell in cells.items() if name not in used}
        optional = [name for name in known if name not in names]
        mismatch = name_mismatch(names, [name for name in row if name not in optional])
        if mismatch:
            raise InvalidInput(mismatch, where=where, remedy=_column_remedy(names, cells))
        return row, {name: header for name, header in taken.items() if header is not None}


NO_CONTEXT = "is empty, and a trial needs its context"


def _tried(problems: list[InvalidInput], read: Callable[..., Any], *given: Any) -> Any:
    """What a cell holds; what is wrong with it is noted, and the row read on."""
    try:
        return read(*given)
    except InvalidInput as error:
        problems.append(error)
        return None


def _refused(problems: Sequence[InvalidInput], rows: int) -> InvalidInput:
    """One error for all that is wrong with the rows of a table."""
    if len(problems) == 1:
        (alone,) = problems
        return alone if alone.remedy or rows == 1 else alone.suggest(SKIP)
    listed = tuple(each.at(each.where.removeprefix(TABLE).strip() or "the table") for each in problems)
    wrong = len({each.where.partition(",")[0] for each in listed} - {"the table"})
    problem = f"has {len(listed)} problems in {wrong} of {rows} rows, and none was added"
    return InvalidInput(problem, where=TABLE, remedy=SKIP, problems=listed)


class _Cells(NamedTuple):
    """The cells of a row by our names, and where they are."""

    row: dict[str, Any]
    headers: Headers
    line: Line
    where: str
    marks: NumberMarks

    def at(self, name: str) -> str:
        return f"{self.where}, column {self.headers.get(name, name)!r}"

    def read(self, name: str, variable: Variable) -> Value:
        """The value of a variable, checked."""
        inner, cell = variable.variable if isinstance(variable, Context) else variable, self.row[name]
        if isinstance(inner, Choice):
            value = self._option(name, inner) if isinstance(cell, str) else cell
        else:
            value = self.number(name)
            whole = isinstance(inner, Integer) and is_number(value) and math.isfinite(value) and value == int(value)
            value = int(value) if whole else value
        variable.encode(value, self.at(name))
        return plain({name: value})[name]

    def blank(self, name: str, variable: Variable) -> bool:
        """Whether a cell holds nothing; an option may be called NA."""
        inner = variable.variable if isinstance(variable, Context) else variable
        named = isinstance(inner, Choice) and self.row[name] in inner.options
        return is_blank(self.row[name]) and not named

    def text(self, name: str) -> Any:
        """A cell, without the quote that a spreadsheet needs before a formula."""
        cell = self.row[name]
        return untamed(cell) if self.line.escaped and isinstance(cell, str) else cell

    def _option(self, name: str, variable: Choice) -> Any:
        """The option that a text names, as it is or as our tables escape and write it; the text where there is none."""
        cell = self.row[name].strip()
        plain_, bare = (
            [option for option in variable.options if str(option).strip() == text] for text in (cell, untamed(cell))
        )
        exact = [option for option in plain_ if str(option) == self.row[name]] or plain_
        found = {*exact, *(bare if self.line.escaped else ())}
        if len(found) > 1:
            requirement = "name one option (a quote before a formula may be an escape)"
            raise InvalidInput(where=self.at(name), requirement=requirement, received=sorted(map(str, found)))
        if not found:
            read = parsed_number(cell.replace(",", ".") if self.line.decimal_comma else cell)
            found = {option for option in variable.options if is_number(option) and option == read}
        return found.pop() if found else self.row[name]

    def number(self, name: str) -> Any:
        """A cell as a number where it is one; a blank one is None."""
        cell = self.row[name]
        if is_blank(cell):
            return None
        if not isinstance(cell, str):
            return cell
        place = f"{self.line.where}, column {self.headers.get(name, name)!r}"
        found = self.marks.read(cell, self.line.decimal_comma, place)
        if found is None and is_decimal_comma(cell):
            remedy = "say that it has a decimal comma, `decimal=','` (option `--decimal ,`), or write a decimal point"
            raise InvalidInput(where=self.at(name), requirement="be a number", received=cell, remedy=remedy)
        return cell if found is None else found


def further_columns(outcomes: Sequence[str]) -> Sequence[str]:
    """Return the columns that a table may have beside those of the variables and the outcomes."""
    return ("occasion", *(f"{name} sd" for name in outcomes)) if outcomes else FURTHER


def find_columns(names: Sequence[str], headers: Sequence[str]) -> dict[str, str | None]:
    """Return the header of each column that is read, None where no header of a table is like its name.

    Args:
        names: of variables, `value`, `sd` and `occasion`.
        headers: of the table.

    Example:
        >>> find_columns(["dose", "value"], ["Dose (mg)", "yield"])
        {'dose': 'Dose (mg)', 'value': None}
    """
    return {name: _find(name, headers) for name in names}


def read_contexts(
    lines: Sequence[Line], box: Box, columns: Columns = None, decimal: str = "", marks: NumberMarks | None = None
) -> list[dict[str, Value]]:
    """Return contexts that occurred without a trial, one of each row.

    Args:
        lines: rows of a table.
        box: the context variables.
        columns: which columns to read, or what they are called in the table.
        decimal: the decimal mark of all numbers, where it is known.
        marks: what points and commas mean in numbers, as far as they were read before.
    """
    reader = RowReader(columns, decimal=decimal, marks=marks or NumberMarks())
    found, problems = list[dict[str, Value]](), []
    for line in lines:
        where = f"{OBSERVED} {line.where}"
        if line.problem is not None:
            problems.append(line.problem.at(where))
            continue
        row, headers = reader.named(line.cells, list(box), where)
        strange = [name for name in row if name not in box]
        require(not strange, where, f"have columns {', '.join(box)} only", strange, "choose columns by `columns=`")
        cells = _Cells(row, headers, line, where, reader.marks)
        found.append({name: _tried(problems, cells.read, name, variable) for name, variable in box.items()})
    settled = reader.marks.again
    if settled is not None:
        return read_contexts(lines, box, columns, decimal, settled)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = tuple(each.at(each.where.removeprefix(f"{OBSERVED} ")) for each in problems)
        raise InvalidInput(f"has {len(listed)} problems, and no row was added", where=OBSERVED, problems=listed)
    mixture = reader.marks.mixture(OBSERVED)
    if mixture is not None:
        raise mixture
    return found


def _find(name: str, given: Sequence[str]) -> str | None:
    """The header that means a name: the same, or but for case, spaces and a unit in brackets."""
    if name in given:
        return name
    simple = _simple(name)
    alike = [header for header in given if header == tame(name)] or [
        header for header in given if _simple(header) == simple
    ]
    return alike[0] if len(alike) == 1 else None


def _simple(header: Any) -> str:
    return re.sub(r"\s*[\[(][^\])]*[\])]\s*$", "", str(header)).strip().casefold()


def _column_remedy(names: Sequence[str], cells: Mapping[str, Any]) -> str:
    """Say which columns a table must have, and which one may be the outcome under another name."""
    remedy = f"its columns must be exactly {', '.join(names)}"
    others = [str(name) for name in cells if name not in names and name not in ("trial", "state", "left")]
    if "value" not in cells and others:
        numeric = [name for name in others if parsed_number(str(cells[name]).replace(",", ".")) is not None]
        likely = [*others, *numeric][-1]
        renamed = f"`columns={{'value': {likely!r}}}` (option `--column \"value={likely}\"`)"
        return f"{remedy}; if {likely!r} is the outcome, say {renamed}, which leaves other columns out"
    return f"{remedy}; `columns=` (option `--column`) chooses and renames columns"
