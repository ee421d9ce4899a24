"""Errors with fields: where, what was required, what was received, and the remedy. Text is made here only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Self

_ABSENT: Any = object()
MAX_PROBLEMS_SHOWN = 50
"""Problems of one input that a message lists, at most."""


class AllweatherError(Exception):
    """Base class of every error that allweather raises on purpose."""


class InvalidInput(AllweatherError, ValueError):
    """An argument does not meet its requirement; nothing was changed or lost.

    Args:
        problem: what is wrong, where "must ..., got ..." does not say it; the whole message if nothing else is given.
        where: what the user called, as the user would write it: `"KL(radius=...)"`.
        requirement: what is required, after "must".
        received: the value that was given instead.
        remedy: what to do about it, where there is something.
        path: places that lead to it, outermost first: a file, a table, a row.
        problems: what is wrong in several places of one input, such as the cells of a table, in their order.

    Example:
        >>> error = InvalidInput(where="KL(radius=...)", requirement="be at least 0", received=-1)
        >>> str(error), error.where, error.received
        ('`KL(radius=...)` must be at least 0, got -1', 'KL(radius=...)', -1)
        >>> str(error.within("kiosk.toml: objective"))
        'kiosk.toml: objective: `KL(radius=...)` must be at least 0, got -1'
    """

    def __init__(
        self,
        problem: str = "",
        *,
        where: str = "",
        requirement: str = "",
        received: Any = _ABSENT,
        remedy: str = "",
        path: tuple[str, ...] = (),
        problems: tuple[InvalidInput, ...] = (),
    ) -> None:
        self.problems = problems
        self.problem, self.where, self.requirement, self.remedy, self.path = problem, where, requirement, remedy, path
        self.has_received = received is not _ABSENT
        self.received = None if received is _ABSENT else received
        super().__init__(self._text())

    def within(self, place: str) -> Self:
        """Return the same error, with one more place that leads to it."""
        return self._changed(path=(place, *self.path))

    def at(self, where: str) -> Self:
        """Return the same error under the name of what the user called."""
        return self._changed(where=where)

    def suggest(self, remedy: str) -> Self:
        """Return the same error with a remedy."""
        return self._changed(remedy=remedy)

    @property
    def reason(self) -> str:
        """What is wrong, without where: for pages and tables that show the place themselves."""
        return self._reason("must")

    def _reason(self, verb: str) -> str:
        parts = [self.problem] if self.problem else []
        if self.requirement:
            parts.append(f"{verb} {self.requirement}")
        text = "; ".join(parts)
        return f"{text}, got {shown(self.received)}" if self.has_received else text

    @property
    def lines(self) -> list[str]:
        """The message, with a line of its own for each of several problems."""
        text = self._reason("must")
        if self.where:
            text = f"`{self.where}` {text}"
        if not self.problems:
            return [": ".join([*self.path, f"{text}; {self.remedy}" if self.remedy else text])]
        listed = [f"  {each.where}: {each.reason}" for each in self.problems[:MAX_PROBLEMS_SHOWN]]
        further = len(self.problems) - len(listed)
        listed += [f"  and {further} more"] if further else []
        remedies = dict.fromkeys(each.remedy for each in [*self.problems, self] if each.remedy)
        return [": ".join([*self.path, f"{text}:"]), *listed, *(f"{each[0].upper()}{each[1:]}." for each in remedies)]

    def _text(self) -> str:
        return "\n".join(self.lines)

    def _changed(self, **fields: Any) -> Self:
        received = self.received if self.has_received else _ABSENT
        now = {"where": self.where, "requirement": self.requirement, "received": received, "remedy": self.remedy}
        return type(self)(self.problem, **{**now, "path": self.path, "problems": self.problems, **fields})

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.problem, dict(vars(self)))


def _restored(kind: type[InvalidInput], problem: str, fields: dict[str, Any]) -> InvalidInput:
    given = {name: fields[name] for name in ("where", "requirement", "remedy", "path", "problems")}
    return kind(problem, **given, received=fields["received"] if fields["has_received"] else _ABSENT)


class MissingData(InvalidInput):
    """A data file of a test problem is not there."""


class BudgetSpent(AllweatherError):
    """Nothing that could be asked for can be paid for any more."""


class StorageError(AllweatherError):
    """The database could not do what was asked; what had been acknowledged is still there."""


class Conflict(AllweatherError):
    """Another worker wrote first: read again, and decide again."""


def require(condition: bool, where: str, requirement: str, received: Any, remedy: str = "") -> None:
    """Raise `InvalidInput` unless `condition` holds.

    Args:
        condition: what must be true.
        where: class and parameter, written as the user would: `"KL(radius=...)"`.
        requirement: what is required, after "must".
        received: the value that was given instead.
        remedy: what to do about it, where there is something.

    Example:
        >>> require(False, "TotalVariation(radius=...)", "be finite and at least 0", -1)
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `TotalVariation(radius=...)` must be finite and at least 0, got -1
    """
    if not condition:
        raise InvalidInput(where=where, requirement=requirement, received=received, remedy=remedy)


def require_number(value: Any, where: str, *, low: float = -math.inf, above: float = -math.inf) -> None:
    """Raise `InvalidInput` unless `value` is a finite number, at least `low` and greater than `above`."""
    requirement = "be a finite number"
    if low > -math.inf:
        requirement += f", at least {low:g}"
    if above > -math.inf:
        requirement += f", greater than {above:g}"
    fits = is_number(value) and math.isfinite(value) and value >= low and value > above
    require(fits, where, requirement, value)


MAX_COUNT = 100_000
"""Samples, features or draws of one part, at most: their matrices fill the memory before they gain accuracy."""


def require_count(value: Any, where: str, *, low: int = 0, high: int | None = None) -> None:
    """Raise `InvalidInput` unless `value` is a whole number of at least `low` and, if given, at most `high`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if high is not None and whole and value > high:
        remedy = "more would take memory and time without gaining accuracy" if high == MAX_COUNT else ""
        raise InvalidInput(where=where, requirement=f"be at most {high}", received=value, remedy=remedy)
    require(whole and value >= low, where, f"be a whole number, at least {low}", value)


MAX_NAMES = 50
"""Names of one kind that a message lists, at most."""


def name_mismatch(names: Iterable[str], given: Iterable[str]) -> str:
    """Say which names are missing and which are unknown; empty if there are none.

    Example:
        >>> name_mismatch(["order", "demand"], ["order", "demnad"])
        "lacks 'demand' and has unknown 'demnad'"
    """
    expected, received = list(names), list(given)
    missing = [name for name in expected if name not in received]
    unknown = [str(name) for name in received if name not in expected]
    parts = [("lacks", missing), ("has unknown", unknown)]
    return " and ".join(f"{what} {_listed(found)}" for what, found in parts if found)


def _listed(names: list[str]) -> str:
    further = len(names) - MAX_NAMES
    return ", ".join(map(repr, names[:MAX_NAMES])) + (f", ... ({further} more)" if further > 0 else "")


def is_number(value: Any) -> bool:
    """Whether `value` is a real number, Python's or NumPy's, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def shown(value: Any, limit: int = 120) -> str:
    """The value as it appears in a message, cut to one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
