"""What happened in a study: results, corrections, past data and changes, read and written without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from allweather._utils.tables import Columns, read_table
from allweather.errors import InvalidInput, require
from allweather.serialization.changes import Difference
from allweather.space import LinearConstraint, Space
from allweather.space.variables import Variable
from allweather.storage import Storage
from allweather.storage.export import export_lines
from allweather.storage.optimistic_writes import OptimisticWrites
from allweather.storage.storage import storage_of
from allweather.study.changes import (
    CALL,
    Costs,
    change_differences,
    changed_fields,
    check_change,
    fields_between,
    needs_engine,
    with_radius,
)
from allweather.study.opening import Opened, read_study
from allweather.study.spec import Spec
from allweather.trials import Event, History, Row, Trial
from allweather.trials.additions import Added
from allweather.trials.changes import space_since
from allweather.trials.imported import restored_events
from allweather.trials.reported_values import StandardErrors
from allweather.trials.results import Failed
from allweather.trials.suspicious import Suspicion
from allweather.trials.validation import Validator, Values

if TYPE_CHECKING:
    import pandas as pd

    from allweather.acquisition import Acquisition
    from allweather.contexts import ContextModel
    from allweather.objectives import Objective
    from allweather.schedules import Schedule
    from allweather.surrogates import Surrogate

Errors = StandardErrors | Mapping[str, StandardErrors]
"""Standard errors; by name where a study has several outcomes."""


class StudyLog:
    """A study as its journal tells it: what it is made of, its trials, and how results are reported.

    Every report is an event of the journal. The parts of the method are not made, so no torch is needed.

    Example:
        >>> import tempfile
        >>> from allweather import Context, Real, Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = f"sqlite:///{folder}/studies.db"
        ...     trial = Study(Space(order=Real(0, 1), demand=Context(0, 1)), storage=place, name="kiosk").ask()
        ...     log = StudyLog.open(place, "kiosk")
        ...     log.tell(trial.number, 1.4, context={"demand": 0.3}).state
        'complete'
    """

    _writes: OptimisticWrites
    _opened: tuple[int, Spec]
    """Number of changes that were taken up, and the spec after them."""

    def __init__(self, journal: Any) -> None:
        """Open the study that a journal is about, which is read once and then followed.

        Args:
            journal: of the study, such as `Journal.open(database, name)`.
        """
        self._follow(read_study(journal))

    @classmethod
    def of(cls, journal: Any) -> Self:
        """Return the study that a journal is about.

        Args:
            journal: of the study.
        """
        log = cls.__new__(cls)
        StudyLog.__init__(log, journal)
        return log

    @classmethod
    def open(cls, storage: str | Storage, name: str = "study") -> Self:
        """Open a stored study.

        Args:
            storage: the database or its address.
            name: of the study there.
        """
        from allweather.storage import Database, Journal

        return cls.of(Journal.open(Database(storage_of(storage).url), name))

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.journal.name)

    @property
    def journal(self) -> Any:
        """The events of the study."""
        return self._writes.journal

    @property
    def spec(self) -> Spec:
        """What the study is made of, after the changes that were read so far."""
        return self._spec_at(self._writes.replayed)

    @property
    def space(self) -> Space:
        """The variables, after the changes that were read so far."""
        return self.spec.space

    @property
    def direction(self) -> str:
        """Whether larger or smaller outcomes are better: `maximize` or `minimize`."""
        return self.spec.direction

    @property
    def history(self) -> History:
        """All that has happened."""
        return self._writes.history

    @property
    def why_not(self) -> str | None:
        """Why the study can be neither asked nor recommend here; None where it can."""
        if not self.spec.code:
            return None
        return (
            f"the study {self.name!r} was made by a program, and its parts are in that code: ask and recommend "
            "there; tell, correct, add, show and export work here"
        )

    def trial(self, number: int) -> Trial:
        """Return the current state of a trial.

        Args:
            number: of the trial, from 0.

        Example:
            >>> from allweather import Real, Study
            >>> study = Study(Space(order=Real(0, 1)))
            >>> _ = study.ask()
            >>> study.trial(0).state
            'pending'
        """
        return replace(self.history.find(number, "Study.trial(number=...)"), study=self.journal.key)

    def tell(
        self,
        trial: Trial | int,
        value: Values = None,
        *,
        sd: Errors = None,
        context: Row | None = None,
        decision: Row | None = None,
        failed: Failed = False,
        occasion: Any = None,
        reason: str | None = None,
    ) -> Trial:
        """Report the result of a trial, and return its new state; what is not known yet may be told later.

        Args:
            trial: what `ask` returned, or its number.
            value: the outcome, or a list of several where it was measured repeatedly; where a study has several
                outcomes, those that are known by name, such as `{"yield": 93.1, "purity": 0.97}`.
            sd: the standard error of the outcome, if it is known; a list with one for each of several outcomes (None
                where not known), or `"repeats"` for the standard deviation of three or more repeated outcomes; by name
                where a study has several outcomes.
            context: the context that occurred, or those of its variables that are known yet; trials of the same
                occasion that wait for theirs get it too.
            decision: the decision that was really made, if it differs from the plan.
            failed: whether there will be no outcome; `ask` then avoids such decisions, `recommend` ignores the trial.
                Of several outcomes, the names of those that failed.
            occasion: a name or date that trials with the same context share, such as the runs of one day.
            reason: why it failed, in words.

        Example:
            >>> from allweather import Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
            >>> study.tell(study.ask(), 1.4, sd=0.1, context={"demand": 0.3}).sds
            (0.1,)
        """
        return self._writes.tell(trial, self._validator.told(value, context, decision, failed, sd, occasion, reason))

    def correct(
        self,
        trial: Trial | int,
        value: Values = None,
        *,
        sd: Errors = None,
        context: Row | None = None,
        decision: Row | None = None,
        occasion: Any = None,
    ) -> Trial:
        """Correct what was told of a trial, and return its new state; the earlier report stays in the journal.

        Args:
            trial: the trial, or its number.
            value: the right outcome, or outcomes.
            sd: the right standard error, or errors.
            context: the right context.
            decision: the decision that was really made.
            occasion: the right occasion.

        Example:
            >>> from allweather import Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
            >>> trial = study.tell(study.ask(), 14.0, context={"demand": 0.3})
            >>> study.correct(trial, 1.4).values
            (1.4,)
        """
        return self._writes.tell(trial, self._validator.corrected(value, context, decision, sd, occasion))

    def withdraw(self, trial: Trial | int) -> Trial:
        """Exclude a trial from the model; it stays in the journal."""
        return self._writes.tell(trial, self._validator.withdrawn)

    def add(
        self,
        table: Any,
        left: Sequence[str] = (),
        *,
        columns: Columns = None,
        blank: Literal["refuse", "failed", "pending"] = "refuse",
        missing: Literal["refuse", "pending", "drop"] = "refuse",
        invalid: Literal["refuse", "skip"] = "refuse",
        decimal: Literal["", ".", ","] = "",
        again: bool = False,
        occasion: Any = None,
    ) -> Added:
        """Add past data, all rows or none, and return them as trials.

        The result is a list of trials; `added.skipped` says which rows were left out and why, `added.suspicious` which
        trials look wrong.

        Args:
            table: a DataFrame, a CSV file (commas, semicolons or tabs), an .xlsx file, or rows, with a column per
                variable and `value`; columns `sd` and `occasion` are read as in `tell`. Several outcomes have a column
                each, such as `yield`, and their standard errors `yield sd`.
            left: with control sets: variables that were not controlled then, from which their law can be learned.
            columns: which columns to read, as a list; or as `{"value": "yield %"}` what they are called in the table.
                Further columns are then ignored; without it they are refused.
            blank: what a row without outcome is: refused, a failed trial, or a pending one.
            missing: what a row with an empty context cell is: refused, a trial that waits for the rest of its context,
                or left out.
            invalid: whether rows with mistakes are refused, all at once, or left out.
            decimal: the decimal mark of numbers in text, where it is known; the other mark then separates thousands.
            again: whether rows that are in the study already are added once more.
            occasion: a name or date that all rows share, where they have the same context.

        Example:
            >>> from allweather import Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
            >>> rows = [{"order": 0.2, "demand": 0.4, "profit": 1.4, "day": "Mon"}]
            >>> study.add(rows, columns={"value": "profit", "occasion": "day"})[0].occasion
            'Mon'
        """
        lines = read_table(table)
        rows: dict[str, Any] = {"blank": blank, "missing": missing, "invalid": invalid, "decimal": decimal}
        addition = self._validator.added(lines, left, again, columns=columns, occasion=occasion, **rows)
        trials = self._writes.decide(addition) if lines else []
        return Added(trials, addition.skipped, lambda: self.history)

    def suspicious(self) -> tuple[Suspicion, ...]:
        """Return what looks wrong: outcomes far from all others, equal rows, contexts that disagree in an occasion.

        Example:
            >>> from allweather import Real, Study
            >>> study = Study(Space(order=Real(0, 1)))
            >>> rows = [{"order": o / 11, "value": 5 + o / 10} for o in range(12)]
            >>> _ = study.add([*rows[:7], {"order": 7 / 11, "value": 570}, *rows[8:]])
            >>> for each in study.suspicious():
            ...     print(each.trial, each.value)
            7 570.0
        """
        return self.history.suspicious

    def observe_contexts(
        self, table: Any, *, columns: Columns = None, decimal: Literal["", ".", ","] = "", again: bool = False
    ) -> int:
        """Report contexts that occurred without a trial; a context model that is learned learns from them.

        In studies of a simulator the law of the contexts is learned from these alone, since those of the trials were
        chosen.

        Args:
            table: a DataFrame, a CSV file or rows, with a column per context variable.
            columns: which columns to read, as a list; or as `{"demand": "sold units"}` what they are called in the
                table. Further columns are then ignored; without it they are refused.
            decimal: the decimal mark of numbers in text, where it is known.
            again: whether a table that was observed before, as a whole, is taken once more. A script that is started
                again would otherwise count its contexts twice.

        Returns:
            The number of contexts, of which all are stored, or none where one is invalid.

        Example:
            >>> from allweather import Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), simulator=True)
            >>> study.observe_contexts([{"demand": 0.2}, {"demand": 0.4}, {"demand": 0.3}])
            3
            >>> 0 <= study.ask().context["demand"] <= 1
            True
        """
        lines = read_table(table)
        choose = self._validator.observed(lines, columns, decimal, again)
        if lines:
            self._writes.decide(choose)
        return len(lines)

    def restore(self, trials: Sequence[Trial]) -> None:
        """Resume from the trials of an earlier study like this one.

        Args:
            trials: all of them, in order, each told in one call or not at all.
        """
        require(not self.history.trials, "Study.restore(...)", "come before any other trial", self.history.trials)
        self._writes.decide(lambda _: restored_events(trials, self._validator))

    def change(
        self,
        variables: Space | Mapping[str, Variable | Mapping[str, Any]] | None = None,
        *,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        radius: float | Schedule | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | None = None,
        constraints: LinearConstraint | Sequence[LinearConstraint] | None = None,
        candidates: Any = None,
        costs: Costs | None = None,
        budget: float | None = None,
    ) -> list[Difference]:
        """Change the study from now on, and return what is different; what is not given stays.

        The change is an event of the journal: other workers take it up before they ask or tell next, and a study that
        is resumed goes on as if it had not stopped. All trials stay and inform the model, also where they lie outside
        narrower bounds or have an option that was removed; new decisions are within the new bounds.

        Args:
            variables: those with other bounds, options or unit, by name; type, scale and role stay. A table says only
                what is different: `{"order": {"upper": 20}, "wood": {"add": ["elm"]}}`.
            context: another context model.
            objective: another objective.
            radius: another radius of the objective's distance.
            acquisition: another acquisition.
            surrogate: another surrogate.
            constraints: all linear inequalities that decisions must meet from now on.
            candidates: the only decisions that may be chosen from now on.
            costs: other costs of control sets, by their variables as in `Control`; trials so far cost what they did.
            budget: another budget of all trials together, those so far included.

        Example:
            >>> from allweather import Choice, Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 10), wood=Choice("oak", "ash"), demand=Context(0, 1)))
            >>> for each in study.change({"order": Real(0, 20), "wood": Choice("oak", "ash", "elm")}):
            ...     print(each)
            order upper: 10 -> 20
            wood options: ['oak', 'ash'] -> ['oak', 'ash', 'elm']
        """
        parts = {"context": context, "acquisition": acquisition, "surrogate": surrogate}
        require(objective is None or radius is None, CALL("radius"), "not be given with an objective", radius)

        def fields(spec: Spec) -> dict[str, Any]:
            wanted = objective if radius is None else with_radius(spec, radius)
            given = {**parts, "objective": wanted}
            return changed_fields(spec, variables or {}, given, constraints, candidates, costs, budget)

        return self._change(fields)

    def changes(self) -> list[list[Difference]]:
        """Return what each change so far made different, in order."""
        spec, found = Spec.from_dict(self.journal.spec, self.name), []
        for change in self._writes.replayed.changes:
            found.append(change_differences(spec, change.fields))
            spec = spec.changed(change.fields)
        return found

    def trials(self) -> pd.DataFrame:
        """Return a table of one row per trial and one column per variable; `value` is the mean of its outcomes."""
        return self.history.table()

    def export(self) -> list[str]:
        """Return the whole study as lines of JSON, which `allweather import` reads."""
        return list(export_lines(self.journal))

    def space_of(self, trial: int) -> Space:
        """Return the variables with all bounds and options that reports about a trial may have.

        Args:
            trial: its number.
        """
        known = self._writes.replayed
        return space_since(known.changes, known.space, trial)

    def _follow(self, opened: Opened) -> None:
        """Begin with a study that was created or resumed."""
        self._writes, self._opened = opened.writes, (opened.changes, opened.spec)
        if opened.wanted is not None:
            wanted = opened.wanted
            self._change(lambda spec: fields_between(spec, wanted))

    def _change(self, fields_of: Any) -> list[Difference]:
        """Write the change whose fields follow from the present spec, once it fits the study's trials."""
        found: list[Difference] = []

        def choose(history: History) -> list[Event]:
            before = self._spec_at(history)
            fields = fields_of(before)
            if not fields:
                found[:] = []
                return []
            found[:] = change_differences(before, fields)
            self._check_change(before, fields, history)
            return [Event.changed(fields)]

        self._writes.decide(choose)
        _ = self.spec
        return found

    def _check_change(self, before: Spec, fields: Mapping[str, Any], history: History) -> None:
        """Refuse a change that does not fit the study; the parts are made only if they might contradict it."""
        if before.code or not needs_engine(before, fields):  # parts in code are checked there
            return
        from allweather.engine import Engine  # here, since it needs torch

        try:
            after = before.changed(fields)
            Engine.of(after)
            check_change(after, history, history.changed(fields))
        except InvalidInput as error:
            raise error.within("Study.change(...)") from None

    def _spec_at(self, history: History) -> Spec:
        """Return the spec after a history, with the changes that other workers made."""
        known, spec = self._opened
        for change in history.changes[known:]:
            spec = spec.changed(change.fields)
        if len(history.changes) > known:
            self._opened = len(history.changes), spec
        return spec

    @property
    def _validator(self) -> Validator:
        """What checks reports, after all changes of the study."""
        return Validator.of(self._writes.after_changes(), self._opened[1].controlled)
