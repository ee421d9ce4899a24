"""The form of a table of past data: its text, which of its columns are read, and what rows without outcome mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allweather._utils.tables import Line, read_csv
from allweather.errors import InvalidInput
from allweather.space import Space
from allweather.trials.rows import find_columns, further_columns


@dataclass(frozen=True, eq=False)
class TableForm:
    """A table as text, and how it is to be read."""

    text: str
    lines: list[Line]
    columns: dict[str, str]
    """The header of each column that is read, empty where none is chosen."""
    required: tuple[str, ...]
    """The columns that a table must have."""
    entered: Mapping[str, str]
    error: str | None = None
    problems: Sequence[str] = ()
    """What is wrong, cell by cell."""

    @classmethod
    def of(
        cls,
        space: Space,
        outcomes: Sequence[str],
        entered: Mapping[str, str],
        error: str | None = None,
        problems: Sequence[str] = (),
    ) -> TableForm:
        r"""Return the form for a table; columns are chosen as entered, or by their headers.

        Args:
            space: the variables of the study.
            outcomes: their names, where there are several.
            entered: text by field name: `table`, and once columns are chosen `column:NAME`, `blank`, `missing`,
                `invalid`, `decimal`, `again` and `occasion`.
            error: what was wrong with the last submission.
            problems: the same, cell by cell.

        Example:
            >>> from allweather import Context, Real
            >>> space = Space(dose=Real(0, 9), heat=Context(0, 1))
            >>> TableForm.of(space, [], {"table": "Dose (mg);heat;yield\n1;0,5;3"}).columns
            {'dose': 'Dose (mg)', 'heat': 'heat', 'value': '', 'sd': '', 'occasion': ''}
        """
        lines = read_csv(entered.get("table", "").removeprefix("\ufeff"))
        if not lines:
            raise InvalidInput("choose a file or paste a table: a line of headers, and a line for each trial")
        required = (*space.variables, *(outcomes or ["value"]))
        names = [*required, *(name for name in further_columns(outcomes) if name not in required)]
        found = {name: header or "" for name, header in find_columns(names, list(lines[0].cells)).items()}
        chosen = {name: entered.get(f"column:{name}", found[name]) for name in names}
        return cls(entered["table"], lines, chosen, required, entered, error, problems)

    @property
    def headers(self) -> list[str]:
        """The headers of the table."""
        return list(self.lines[0].cells)

    @property
    def options(self) -> dict[str, Any]:
        """How the table is read, as `Validator.added` takes it."""
        missing = [name for name in self.required if not self.columns[name]]
        if missing:
            named = ["the outcome" if name == "value" else name for name in missing]
            raise InvalidInput(f"choose the column of {', '.join(named)}")
        left = [name.strip() for name in self.entered.get("left", "").split(",") if name.strip()]
        occasion = self.entered.get("occasion", "").strip() or None
        columns = {name: header for name, header in self.columns.items() if header}
        reading = {name: self.entered.get(name) or "refuse" for name in ("blank", "missing", "invalid")}
        reading["decimal"] = self.entered.get("decimal", "")
        again = bool(self.entered.get("again"))
        return {"left": left, "columns": columns, "again": again, "occasion": occasion, **reading}
