"""One trial, from the decision that was asked for to the outcome that came back, in the user's units."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from allweather.errors import InvalidInput, is_number, require, shown
from allweather.space import Space
from allweather.surrogates import Hyperparameters
from allweather.variables import Choice, Context, Integer, Value, Variable

Row = Mapping[str, Value]
LARGEST = 1e150
"""Outcomes beyond this have no squares."""
State = Literal["pending", "complete", "failed", "expired", "withdrawn"]


class Frozen(dict[str, Value]):
    """A row that does not change: a trial is a fact.

    Example:
        >>> Frozen(order=1.0)["order"]
        1.0
    """

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise InvalidInput("a trial does not change; tell what was really done: `study.tell(trial, decision={...})`")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> tuple[type[Frozen], tuple[dict[str, Value]]]:
        return Frozen, (dict(self),)


@dataclass(frozen=True)
class Trial:
    """A decision, and what became of it.

    Example:
        >>> trial = Trial(0, {"order": 0.3})
        >>> trial.state, trial.told({"demand": 0.2}, (1.4,)).state
        ('pending', 'complete')
    """

    number: int
    decision: Row
    """What to do; once told otherwise, what was done."""
    context: Row | None = None
    """What happened, or was known in advance."""
    values: tuple[float, ...] = ()
    """The outcomes: several where one trial was measured repeatedly."""
    failed: bool = False
    asked: bool = True
    """Whether the study chose the decision; data from before were added."""
    left: tuple[str, ...] = ()
    """With control sets: the variables to leave alone, whose values are told as `context`."""
    cost: float | None = None
    """What the control set costs, where there are any."""
    expired: bool = False
    """Whether it was given up because nothing was heard of it; it can still be told."""
    withdrawn: bool = False
    """Whether it was taken out: it counts for nothing."""
    fitted: Hyperparameters | None = field(default=None, repr=False)
    """The surrogate's hyperparameters when it was asked for: where the next fit starts, also after a crash."""
    revision: int = field(default=0, repr=False)
    """How many times the study had been told something when it was asked for."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decision", Frozen(self.decision))
        if self.context is not None:
            object.__setattr__(self, "context", Frozen(self.context))
        object.__setattr__(self, "left", tuple(self.left))

    @property
    def state(self) -> State:
        """`complete` once context and outcome are known."""
        if self.withdrawn:
            return "withdrawn"
        if self.failed:
            return "failed"
        if self.values and self.context is not None:
            return "complete"
        return "expired" if self.expired else "pending"

    def told(
        self,
        context: Row | None = None,
        values: tuple[float, ...] = (),
        decision: Row | None = None,
        failed: bool = False,
    ) -> Trial:
        """This trial with what has come in; what was told before stays as it is."""
        where = f"Study.tell(trial={self.number})"
        require(not self.withdrawn, where, "not have been withdrawn", self.state)
        late = self.failed and not values  # only its context may still come, or the same again
        require(not self.failed or late, where, "not have failed before", self.state)
        require(not (failed and self.values), where, "not have an outcome, and be failed", self.values)
        for name, new, old in (("context", context, self.context), ("value", values, self.values)):
            again = new and old and new != old
            once = f"be told once (repeated outcomes together); it was {shown(old)}"
            require(not again, f"{where}: {name}", once, new)
        return replace(
            self,
            context=self.context if context is None else dict(context),
            values=values or self.values,
            decision=self.decision if decision is None else dict(decision),
            failed=failed or self.failed,
        )


def plain(row: Any) -> dict[str, Value]:
    """A row of named values as a dictionary of Python's own types.

    Example:
        >>> import numpy as np
        >>> plain({"demand": np.float64(0.5)})
        {'demand': 0.5}
    """
    return {str(name): value.item() if hasattr(value, "item") else value for name, value in dict(row).items()}


def outcomes(value: Any, where: str = "Study.tell(value=...)") -> tuple[float, ...]:
    """One outcome or several, as floats; what is no finite number is refused.

    Example:
        >>> outcomes(3), outcomes([1.0, 2.0])
        ((3.0,), (1.0, 2.0))
    """
    several = value.tolist() if hasattr(value, "tolist") else value
    listed = list(several) if isinstance(several, Sequence) and not isinstance(several, str) else [several]
    require(len(listed) > 0, where, "be a number or several", value)
    for each in listed:
        require(is_number(each), where, "be a number", each)
        fits = -LARGEST <= each <= LARGEST
        require(fits, where, "be finite, below 1e150; a trial without outcome is told with `failed=True`", each)
    return tuple(float(each) for each in listed)


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a DataFrame, a CSV file, a list of dictionaries or a single one."""
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
            return list(csv.DictReader(file))
    require(isinstance(table, Sequence), "Study.add(table=...)", "be a DataFrame, rows, or a CSV file", table)
    for row in table:
        require(isinstance(row, Mapping), "Study.add(table=...)", "have rows with named values", row)
    return [dict(row) for row in table]


def read_row(
    row: dict[str, Any], space: Space, number: int
) -> tuple[dict[str, Value], dict[str, Value], tuple[float, ...]]:
    """Decision, context and outcomes of one row of a table; words from a CSV file become numbers where they should."""
    where = f"Study.add(table=...) row {number}"
    names = [*space.decisions, *space.contexts, "value"]
    state = row.get("state", "complete")
    choose = "be of a complete trial, as in `trials[trials['state'] == 'complete']`"
    require(state == "complete", f"{where} (counted from 0): state", choose, state)
    row = {name: cell for name, cell in row.items() if name not in ("trial", "state", "left", "cost")}
    missing = [name for name in names if name not in row]
    unknown = [str(name) for name in row if name not in names]
    if missing or unknown:
        lacks = f" lacks {', '.join(map(repr, missing))}" if missing else ""
        extra = f" has unknown {', '.join(map(repr, unknown))}" if unknown else ""
        told = " and".join(part for part in (lacks, extra) if part)
        raise InvalidInput(f"`{where}` (counted from 0){told}; its columns must be exactly {', '.join(names)}")
    read = {name: _read(row[name], space.variables[name]) for name in names[:-1]}
    decision = {name: read[name] for name in space.decisions}
    context = {name: read[name] for name in space.contexts}
    try:
        values = outcomes(_number(row["value"]), "value")
        space.decisions.encode(decision)
        space.contexts.encode(context)
    except InvalidInput as trouble:
        raise InvalidInput(f"{where}: {trouble}") from None
    return plain(decision), plain(context), values


def _read(cell: Any, variable: Variable) -> Any:
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice):
        by_name = {str(option): option for option in inner.options}
        return by_name.get(cell, cell) if isinstance(cell, str) else cell
    number = _number(cell)
    whole = isinstance(inner, Integer) and is_number(number) and math.isfinite(number) and float(number).is_integer()
    return int(number) if whole else number


def _number(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    try:
        return float(cell)
    except ValueError:
        return cell
