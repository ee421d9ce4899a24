"""Validation: what a user reports about trials, checked against the variables, as events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allweather._utils.formatting import clean
from allweather._utils.tables import Columns, Line
from allweather.errors import InvalidInput, require
from allweather.space import Box, Space
from allweather.trials.additions import MAX_ROWS_PER_EVENT, Addition, AlreadyThere
from allweather.trials.changes import Change, space_since
from allweather.trials.events import Event
from allweather.trials.history import History
from allweather.trials.reported_values import occasion_name, reported_outcomes, standard_errors
from allweather.trials.results import Failed, Result, encode_results, reported_results
from allweather.trials.rows import OBSERVED, RowReader, read_contexts
from allweather.trials.trial import Row, Trial, plain

Say = Callable[[Trial], Event]
Choose = Callable[[History], list[Event]]
MIN_CONTEXTS_KNOWN = 5
"""Contexts of a table before it is taken for one that was observed before: fewer may be so by chance."""
MAX_REASON_CHARACTERS = 1000
"""Characters that are kept of why a trial failed."""
Values = float | Sequence[float] | Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class Validator:
    """Checks reports about the trials of a space, and makes events of them."""

    space: Space
    controlled: bool
    """Whether control sets decide which variables are decisions."""
    outcomes: tuple[str, ...] = ()
    """The names of several outcomes; empty where there is one."""
    changes: tuple[Change, ...] = ()
    """Changes of the study: reports about a trial may lie in any bounds since it was asked for or added."""

    @classmethod
    def of(cls, history: History, controlled: bool) -> Validator:
        """Return the validator of a study after its history."""
        return cls(history.space, controlled, history.outcome_names, history.changes)

    def told(
        self,
        value: Values,
        context: Row | None,
        decision: Row | None,
        failed: Failed,
        sd: Any = None,
        occasion: Any = None,
        reason: Any = None,
    ) -> Say:
        """Check an outcome and its standard error, a context, the decision that was really made, or a failure."""
        why = _reason(reason, failed)
        if self.outcomes:
            return self._told_outcomes(value, context, decision, failed, sd, occasion, why)
        values = reported_outcomes(value, "Study.tell(value=...)")
        sds = standard_errors(sd, values, "Study.tell(sd=...)")
        shared = occasion_name(occasion, "Study.tell(occasion=...)")
        require(isinstance(failed, bool), "Study.tell(failed=...)", "be True or False", failed)
        failed = bool(failed)
        said = bool(values) or failed or context is not None or decision is not None or shared is not None
        require(said, "Study.tell(...)", "tell a value, a context, a decision or a failure", "nothing")
        require(not (values and failed), "Study.tell(value=..., failed=True)", "be one or the other", value)
        further = {**_further(sds, shared), **why}

        def say(trial: Trial) -> Event:
            checked = self._checked(trial, context, decision)
            if trial.context is None and not len(self.space_of(trial).contexts):
                checked["context"] = {}
            return Event("told", {**checked, "values": list(values), "failed": failed, **further}, trial.number)

        return say

    def _told_outcomes(
        self,
        value: Any,
        context: Row | None,
        decision: Row | None,
        failed: Failed,
        sd: Any,
        occasion: Any,
        why: Mapping[str, str],
    ) -> Say:
        """Check what is told of some of several outcomes; `failed=True` is about all that have no value."""
        told = reported_results(self.outcomes, value, sd, failed, "Study.tell")
        shared = occasion_name(occasion, "Study.tell(occasion=...)")
        said = bool(told) or failed is True or any(each is not None for each in (context, decision, shared))
        require(said, "Study.tell(...)", "tell a value, a context, a decision or a failure", "nothing")

        def say(trial: Trial) -> Event:
            checked = self._checked(trial, context, decision)
            if trial.context is None and not len(self.space_of(trial).contexts):
                checked["context"] = {}
            results = dict(told)
            if failed is True:
                known = trial.results or {}
                results |= {name: Result(failed=True) for name in known if name not in told and not known[name].values}
            payload = {**checked, "values": [], "failed": False, "results": encode_results(results)}
            return Event("told", {**payload, **_further((), shared), **why}, trial.number)

        return say

    def corrected(
        self,
        value: Values,
        context: Row | None,
        decision: Row | None,
        sd: Any = None,
        occasion: Any = None,
    ) -> Say:
        """Check what replaces an earlier report."""
        if self.outcomes:
            return self._corrected_outcomes(value, context, decision, sd, occasion)
        where = "Study.correct({}=...)"
        values = reported_outcomes(value, where.format("value"))
        shared = occasion_name(occasion, where.format("occasion"))
        said = bool(values) or any(each is not None for each in (context, decision, sd, shared))
        require(said, "Study.correct(...)", "correct a value, a context or a decision", "nothing")

        def say(trial: Trial) -> Event:
            _require_result(trial)
            outcome = {"values": list(values), "failed": False} if values else {}
            several = trial.sds and sd is None and values and len(values) != len(trial.sds)
            needed = f"be given again: there were {len(trial.sds)} outcomes"
            require(not several, f"Study.correct(trial={trial.number}, sd=...)", needed, sd)
            sds = standard_errors(sd, values or trial.values, "Study.correct(sd=...)")
            given = {**self._checked(trial, context, decision), **outcome, **_further(sds, shared)}
            return Event("corrected", given, trial.number)

        return say

    def _corrected_outcomes(self, value: Any, context: Row | None, decision: Row | None, sd: Any, occasion: Any) -> Say:
        """Check what replaces an earlier report of some of several outcomes."""
        results = reported_results(self.outcomes, value, sd, False, "Study.correct")
        shared = occasion_name(occasion, "Study.correct(occasion=...)")
        said = bool(results) or any(each is not None for each in (context, decision, shared))
        require(said, "Study.correct(...)", "correct a value, a context or a decision", "nothing")

        def say(trial: Trial) -> Event:
            _require_result(trial, any(each.resolved for each in (trial.results or {}).values()))
            outcomes = {"results": encode_results(results)} if results else {}
            given = {**self._checked(trial, context, decision), **outcomes, **_further((), shared)}
            return Event("corrected", given, trial.number)

        return say

    def withdrawn(self, trial: Trial) -> Event:
        """Exclude a trial from the model."""
        return Event("corrected", {"withdrawn": True}, trial.number)

    def added(
        self,
        lines: Sequence[Line | dict[str, Any]],
        left: Sequence[str],
        again: bool = False,
        **reading: Any,
    ) -> Addition:
        """Check rows of past data; variables in `left` were not controlled then.

        Args:
            lines: of one table.
            left: names of variables.
            again: whether rows that are there already are added once more.
            reading: how rows are read: the fields of a `RowReader`.
        """
        reader, space = RowReader(**reading, outcomes=self.outcomes), self.space
        rows = [Line(f"row {n}", each) if isinstance(each, dict) else each for n, each in enumerate(lines, start=1)]
        require(isinstance(again, bool), "Study.add(again=...)", "be True or False", again)
        require(not isinstance(left, str), "Study.add(left=...)", "be a list of names", left)
        left = tuple(left)
        if left:
            require(self.controlled, "Study.add(left=...)", "be left out without control sets", left)
            strange = [name for name in left if name not in space.variables]
            require(not strange, "Study.add(left=...)", f"be among {list(space.variables)}", strange)
            space = space.controlling([name for name in space.decisions if name not in left])
        read = reader.read_all(rows, lambda line: self._space_left(line.cells, space))

        def reread(history: History) -> Addition | None:
            if len(history.changes) == len(self.changes):
                return None
            return Validator.of(history, self.controlled).added(lines, left, again, **reading)

        return Addition(read, again, reader.invalid == "skip", reread)

    def observed(
        self, lines: Sequence[Line], columns: Columns = None, decimal: str = "", again: bool = False
    ) -> Choose:
        """Check contexts that occurred without a trial.

        Args:
            lines: of one table.
            columns: which columns to read.
            decimal: the decimal mark of all numbers, where it is known.
            again: whether a table that was observed before is taken once more.
        """
        require(isinstance(again, bool), "Study.observe_contexts(again=...)", "be True or False", again)
        box = self.space.joint if self.controlled else self.space.contexts
        require(len(box) > 0, OBSERVED, "be given to a study with contexts", self.space)
        rows = read_contexts(lines, box, columns, decimal)
        parts = [rows[start : start + MAX_ROWS_PER_EVENT] for start in range(0, len(rows), MAX_ROWS_PER_EVENT)]

        def choose(history: History) -> list[Event]:
            if not again and _observed_before(rows, history.observed):
                problem = f"these {len(rows)} contexts were observed before, in this order"
                remedy = "observe them again with `again=True` (option `--again`)"
                raise AlreadyThere(problem, remedy=remedy, where=OBSERVED)
            return [Event.observed(part) for part in parts]

        return choose

    def check_rows(self, trial: Trial, context: Row | None, decision: Row | None) -> None:
        """Refuse a context or a decision that does not fit the variables as this trial splits them."""
        self._checked(trial, context, decision)

    def _space_left(self, row: dict[str, Any], space: Space) -> Space:
        """The variables of a row that lists itself, in column `left`, what was not controlled."""
        if not self.controlled or not isinstance(row.get("left"), str):
            return space
        left = [name for name in row["left"].split(", ") if name in space.variables]
        return self.space.controlling([name for name in self.space.variables if name not in left])

    def space_of(self, trial: Trial) -> Space:
        """The variables as this trial split them."""
        space = space_since(self.changes, self.space, trial.number)
        return space.controlling(list(trial.decision)) if self.controlled else space

    def _checked(self, trial: Trial, context: Row | None, decision: Row | None) -> dict[str, Any]:
        """A context and a decision as plain rows, refused where they do not fit the variables.

        With some variables of the context it is `partial`, unless the others were told before.
        """
        space, checked = self.space_of(trial), dict[str, Any]()
        if context is not None and hasattr(context, "to_dict"):  # a row of a DataFrame
            context = dict(context.to_dict())
        if context and isinstance(context, Mapping):
            known = trial.context or trial.partial or {}
            again = [name for name in context if name in (trial.partial or {}) and known[name] != context[name]]
            where = f"Study.tell(trial={trial.number}): context"
            require(not again, where, "be told once", f"{again} again", "withdraw the trial if it was wrong")
            whole = {**known, **context}
            if any(name not in whole for name in space.contexts):
                return self._checked(trial, None, decision) | {"partial": plain(partly(context, space.contexts))}
            context = whole
        for what, row, box in (("context", context, space.contexts), ("decision", decision, space.decisions)):
            if row is not None:
                box.check(row)
                named = plain(row)
                checked[what] = {name: named[name] for name in box}  # in the order of the variables
        return checked


def _require_result(trial: Trial, partly: bool = False) -> None:
    """Refuse to correct a trial that was withdrawn, or of which nothing was told; `partly` where something was."""
    where = f"Study.correct(trial={trial.number})"
    if trial.withdrawn:
        raise InvalidInput("was withdrawn: it cannot be corrected", where=where)
    if trial.state not in ("complete", "failed") and not partly:
        remedy = f"call `study.tell({trial.number}, ...)` first"
        raise InvalidInput("has no result to correct yet", where=where, remedy=remedy)


def partly(context: Row, box: Box) -> Row:
    """Return some variables of a context, in the order of the variables; strange or invalid ones are refused.

    Args:
        context: values of some of the variables.
        box: all variables.
    """
    strange = [name for name in context if name not in box]
    if strange:
        box.check(context)  # raises, and says what is missing too
    part = Box(box.role, tuple((name, variable) for name, variable in box.items() if name in context))
    part.check(context)
    return {name: context[name] for name in part}


def _reason(reason: Any, failed: Failed) -> dict[str, str]:
    """What an event says of why a trial failed."""
    if reason is None:
        return {}
    where = "Study.tell(reason=...)"
    require(isinstance(reason, str), where, "be a text", reason)
    require(failed is not False, where, "be told with a failure", reason)
    return {"reason": clean(reason)[:MAX_REASON_CHARACTERS]}


def _further(sds: Sequence[float | None], occasion: str | None) -> dict[str, Any]:
    """What an event says beyond the outcomes, where there is something to say."""
    said: dict[str, Any] = {"sds": list(sds)} if sds else {}
    return said if occasion is None else {**said, "occasion": occasion}


def _observed_before(rows: Sequence[Row], known: Sequence[Row]) -> bool:
    """Whether a table of contexts is among those that are known, as a whole; a short one may be so by chance."""
    count = len(rows)
    if count < MIN_CONTEXTS_KNOWN:
        return False
    table, first = list(rows), rows[0]
    starts = range(len(known) - count + 1)
    return any(known[start] == first and list(known[start : start + count]) == table for start in starts)
