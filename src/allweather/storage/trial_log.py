"""What is reported about the trials of a study: results, corrections and past data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from allweather.errors import require
from allweather.storage.export import export_lines
from allweather.storage.memory import MemoryJournal
from allweather.storage.session import Session
from allweather.trials.history import History
from allweather.trials.imported import restored_events
from allweather.trials.reports import StandardErrors
from allweather.trials.results import Failed
from allweather.trials.tables import Columns, read_table
from allweather.trials.trial import Row, Trial
from allweather.trials.validation import Validator, Values

if TYPE_CHECKING:
    import pandas as pd


Errors = StandardErrors | Mapping[str, StandardErrors]
"""Standard errors; by name where a study has several outcomes."""


class TrialLog:
    """The trials of a study, and how results are reported; every report is an event of its journal."""

    _session: Session

    @property
    def _validator(self) -> Validator:
        """What checks reports, after all changes of the study."""
        raise NotImplementedError

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

        Example:
            >>> from allweather import Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
            >>> study.tell(study.ask(), 1.4, sd=0.1, context={"demand": 0.3}).sds
            (0.1,)
        """
        return self._session.tell(trial, self._validator.told(value, context, decision, failed, sd, occasion))

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
        return self._session.tell(trial, self._validator.corrected(value, context, decision, sd, occasion))

    def withdraw(self, trial: Trial | int) -> Trial:
        """Exclude a trial from the model; it stays in the journal."""
        return self._session.tell(trial, self._validator.withdrawn)

    def add(
        self,
        table: Any,
        left: Sequence[str] = (),
        *,
        columns: Columns = None,
        blank: Literal["refuse", "failed", "pending"] = "refuse",
        occasion: Any = None,
    ) -> list[Trial]:
        """Add past data, all rows or none, and return them as trials.

        Args:
            table: a DataFrame, a CSV file (commas, semicolons or tabs), or rows, with a column per variable and
                `value`; columns `sd` and `occasion` are read as in `tell`. Several outcomes have a column each, such
                as `yield`, and their standard errors `yield sd`.
            left: with control sets: variables that were not controlled then, from which their law can be learned.
            columns: which columns to read, as a list; or as `{"value": "yield %"}` what they are called in the table.
                Further columns are then ignored; without it they are refused.
            blank: what a row without outcome is: refused, a failed trial, or a pending one.
            occasion: a name or date that all rows share, where they have the same context.

        Example:
            >>> from allweather import Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
            >>> rows = [{"order": 0.2, "demand": 0.4, "profit": 1.4, "day": "Mon"}]
            >>> study.add(rows, columns={"value": "profit", "occasion": "day"})[0].occasion
            'Mon'
        """
        lines = read_table(table)
        choose = self._validator.added(lines, left, columns, blank, occasion)
        return self._session.decide(choose) if lines else []

    def observe_contexts(self, table: Any, *, columns: Columns = None) -> int:
        """Report contexts that occurred without a trial; a context model that is learned learns from them.

        In studies of a simulator the law of the contexts is learned from these alone, since those of the trials were
        chosen.

        Args:
            table: a DataFrame, a CSV file or rows, with a column per context variable.
            columns: which columns to read, as a list; or as `{"demand": "sold units"}` what they are called in the
                table. Further columns are then ignored; without it they are refused.

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
        choose = self._validator.observed(lines, columns)
        if lines:
            self._session.decide(choose)
        return len(lines)

    def restore(self, trials: Sequence[Trial]) -> None:
        """Resume from the trials of an earlier study like this one.

        Args:
            trials: all of them, in order, each told in one call or not at all.
        """
        require(not self._history.trials, "Study.restore(...)", "come before any other trial", self._history.trials)
        self._session.decide(lambda _: restored_events(trials, self._validator))

    def trials(self) -> pd.DataFrame:
        """Return a table of one row per trial and one column per variable; `value` is the mean of its outcomes."""
        return self._history.table()

    def export(self) -> list[str]:
        """Return the whole study as lines of JSON, which `allweather import` reads."""
        return list(export_lines(cast(MemoryJournal, self._session.journal)))

    def trial(self, number: int) -> Trial:
        """Return a trial by its number."""
        return self.history.find(number)

    @property
    def history(self) -> History:
        """All that has happened."""
        return self._session.history

    @property
    def _history(self) -> History:
        return self._session.history
