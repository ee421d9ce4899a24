"""Forms: the input fields of variables and trials, and the parsing of what was submitted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from allweather._utils.formatting import brief, numbers, row
from allweather._utils.table_files import table_text
from allweather.dashboard.errors import Forbidden, MalformedRequest
from allweather.dashboard.studies import OpenStudy
from allweather.errors import InvalidInput, require
from allweather.space import Space
from allweather.space.text import heading, units_of, value
from allweather.space.variables import Choice, Context, Integer, Value, Variable
from allweather.study import StudyLog
from allweather.trials import Trial
from allweather.trials.results import Failed
from allweather.trials.text import outcome, still_missing
from allweather.trials.trial import completed

STALE_FORM = "this form does not belong to your session: reload the page and submit it again"
MAX_FIELD_CHARACTERS = 20_000
"""Characters of one field, but for a table."""
MAX_PART_BYTES = 2_000_000
"""Bytes of one field."""
MAX_BATCH = 100
"""Trials that are asked for at once."""


@dataclass(frozen=True)
class VariableField:
    """An input field for a variable."""

    name: str
    """Name in the form, such as `context:demand`."""
    label: str
    kind: str
    """`choice`, `integer` or `number`."""
    low: Any = None
    high: Any = None
    options: tuple[str, ...] = ()
    text: str = ""
    """The text in the field."""

    @classmethod
    def of(cls, role: str, label: str, variable: Variable, entered: Mapping[str, str]) -> VariableField:
        """Return the field for a variable, with the text that was entered before.

        Args:
            role: `context` or `decision`.
            label: the variable's name.
            variable: what the field is for.
            entered: text by field name.

        Example:
            >>> VariableField.of("context", "demand", Context(0, 9), {"context:demand": "3"}).text
            '3'
        """
        inner = variable.variable if isinstance(variable, Context) else variable
        name = f"{role}:{label}"
        text = entered.get(name, "")
        if isinstance(inner, Choice):
            return cls(name, label, "choice", options=tuple(map(str, inner.options)), text=text)
        limits: Any = inner
        kind = "integer" if isinstance(inner, Integer) else "number"
        return cls(name, heading(label, inner), kind, limits.lower, limits.upper, text=text)


@dataclass(frozen=True)
class OutcomeField:
    """The input fields of one of several outcomes."""

    name: str
    values: str
    sd: str
    failed: bool

    @classmethod
    def of(cls, name: str, entered: Mapping[str, str]) -> OutcomeField:
        """Return the fields of an outcome, with the text that was entered before."""
        return cls(
            name,
            entered.get(f"values:{name}", ""),
            entered.get(f"sd:{name}", ""),
            bool(entered.get(f"failed:{name}")),
        )


@dataclass(frozen=True)
class TrialForm:
    """The form that reports or corrects the result of a trial."""

    trial: Trial
    contexts: tuple[VariableField, ...]
    decisions: tuple[VariableField, ...]
    values: str
    sd: str
    occasion: str
    failed: bool
    units: Mapping[str, str]
    error: str | None = None
    """What was wrong with the last submission."""
    outcomes: tuple[OutcomeField, ...] = ()
    """The fields of several outcomes."""

    @classmethod
    def of(
        cls, study: StudyLog, trial: Trial, entered: Mapping[str, str] | None = None, error: str | None = None
    ) -> TrialForm:
        """Return the form of a trial, with what was entered before.

        Args:
            study: the trial's study.
            trial: what the form is about.
            entered: text by field name, from an earlier submission.
            error: what was wrong with that submission.
        """
        space, entered = space_of(study, trial), entered or {}
        told = trial.context or trial.partial or {}
        known = {f"context:{name}": _exact(value) for name, value in told.items()} | dict(entered)
        return cls(
            trial,
            tuple(VariableField.of("context", name, variable, known) for name, variable in space.contexts.items()),
            tuple(VariableField.of("decision", name, variable, entered) for name, variable in space.decisions.items()),
            entered.get("values", ""),
            entered.get("sd", ""),
            entered.get("occasion", ""),
            bool(entered.get("failed")),
            units_of(space.variables),
            error,
            tuple(OutcomeField.of(name, entered) for name in study.spec.outcome_names),
        )

    @property
    def partial_result(self) -> str:
        """What is known of a pending trial, and what is missing; empty if nothing is known yet."""
        trial, context = self.trial, self.trial.context or self.trial.partial or {}
        told = bool(trial.values) or any(each.resolved for each in (trial.results or {}).values())
        known = [f"outcome {outcome(trial)}"] * told + [row(context, self.units)] * bool(context)
        missing = still_missing(trial, [each.name.removeprefix("context:") for each in self.contexts])
        return f"recorded: {', '.join(known)}; still missing: {', '.join(missing)}" if known and missing else ""


@dataclass(frozen=True)
class Form:
    """The fields of a submitted form, as text."""

    fields: Mapping[str, str]

    def row(self, role: str, variables: Mapping[str, Variable]) -> dict[str, Value] | None:
        """Return the values that were entered for some variables; None if there are none.

        Args:
            role: `context` or `decision`, the prefix of the field names.
            variables: the variables by name.
        """
        entered = {name: self.fields.get(f"{role}:{name}", "") for name in variables}
        found = {name: value(text, variables[name], f"{role} {name}") for name, text in entered.items() if text.strip()}
        return found or None

    def outcomes(self) -> list[float] | None:
        """Return the outcomes, separated by spaces or by commas and spaces; None if there are none.

        Example:
            >>> Form({"values": "1.5, 2"}).outcomes()
            [1.5, 2.0]
            >>> Form({"values": "1,5"}).outcomes()
            Traceback (most recent call last):
            allweather.errors.InvalidInput: `outcome` must use a decimal point, such as 42.5, and spaces between several
            outcomes, got '1,5'
        """
        return self._numbers("values", "outcome", "outcomes")

    def errors(self) -> float | list[float] | None:
        """Return the standard error, or one for each of several outcomes; None if there is none."""
        found = self._numbers("sd", "standard error", "standard errors")
        return found[0] if found is not None and len(found) == 1 else found

    def several(self, outcomes: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        """Return values and standard errors by name, and the names of those that failed.

        Args:
            outcomes: the names of several outcomes.
        """
        values = {name: self._numbers(f"values:{name}", name, "values") for name in outcomes}
        errors = {name: self._numbers(f"sd:{name}", f"standard error of {name}", "values") for name in outcomes}
        known = {name: each[0] if len(each) == 1 else each for name, each in errors.items() if each is not None}
        failed = [name for name in outcomes if self.fields.get(f"failed:{name}")]
        return {name: each for name, each in values.items() if each is not None}, known, failed

    def _numbers(self, name: str, what: str, several: str) -> list[float] | None:
        text = re.sub(r"[,;](?=\s|$)|;", " ", self.fields.get(name, ""))
        fits = re.search(r"\d,\d", text) is None
        require(fits, what, f"use a decimal point, such as 42.5, and spaces between several {several}", text)
        return numbers(text.split(), what)

    def count(self) -> int:
        """Return the number of trials to ask for."""
        text = self.fields.get("n", "").strip() or "1"
        fits = text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_BATCH
        require(fits, "number of trials", f"be a whole number from 1 to {MAX_BATCH}", text)
        return int(text)

    @property
    def occasion(self) -> str | None:
        """The occasion that was entered, if any."""
        return self.fields.get("occasion", "").strip() or None

    def result(self, study: StudyLog, trial: Trial) -> Trial:
        """Report the result of a trial.

        Args:
            study: the trial's study.
            trial: whose result the form reports.
        """
        space = space_of(study, trial)
        context, said = self.row("context", space.contexts), self.row("decision", space.decisions)
        failed: Failed = bool(self.fields.get("failed"))
        values: Any = self.outcomes()
        errors: Any = self.errors()
        if study.spec.outcome_names:
            values, errors, lost = self.several(study.spec.outcome_names)
            failed = lost or failed
        made = completed(said, trial.decision)
        return study.tell(
            trial.number, values, sd=errors, context=context, decision=made, failed=failed, occasion=self.occasion
        )

    def correction(self, study: StudyLog, trial: Trial) -> Trial:
        """Correct the result of a trial; empty fields keep their value.

        Args:
            study: the trial's study.
            trial: whose result the form corrects.
        """
        space = space_of(study, trial)
        occurred = completed(self.row("context", space.contexts), trial.context)
        made = completed(self.row("decision", space.decisions), trial.decision)
        values: Any = self.outcomes()
        errors: Any = self.errors()
        if study.spec.outcome_names:
            values, errors, _ = self.several(study.spec.outcome_names)
        return study.correct(trial.number, values, sd=errors, context=occurred, decision=made, occasion=self.occasion)


async def form_fields(request: Request, limit: int, files: int = 0) -> dict[str, str]:
    """Return the text fields of a submitted form, and the text of its file as `table`.

    Args:
        request: submits the form.
        limit: the number of fields, at most.
        files: the number of files, at most.
    """
    try:
        async with request.form(max_files=files, max_fields=limit, max_part_size=MAX_PART_BYTES) as given:
            fields = {name: text for name, text in given.items() if isinstance(text, str)}
            sent = [await each.read() for each in given.values() if not isinstance(each, str)]
        "".join([*fields, *fields.values()]).encode()
    except UnicodeError:
        raise MalformedRequest("the form must be encoded in UTF-8") from None
    for content in filter(None, sent):
        fields["table"] = table_text(content, "the file")
    return fields


async def posted_form(request: Request) -> Form:
    """Return the submitted form, if it carries the form token of its session."""
    fields = await form_fields(request, 1000, files=1)
    session = request.state.session
    if session is None or not request.app.state.sessions.owns_form(session, fields.pop("form_token", "")):
        raise Forbidden(STALE_FORM)
    if any(len(text) > MAX_FIELD_CHARACTERS for name, text in fields.items() if name != "table"):
        raise InvalidInput("a field of the form is too long")
    return Form(fields)


PostedForm = Annotated[Form, Depends(posted_form)]


def context_fields(study: OpenStudy) -> list[VariableField]:
    """Return the fields for a context that is known before the decision; none with control sets."""
    log = study.log
    contexts = [] if log.spec.controlled else log.space.contexts.items()
    return [VariableField.of("context", name, variable, {}) for name, variable in contexts]


def space_of(study: StudyLog, trial: Trial) -> Space:
    """Return the variables with the split into decisions and contexts of this trial."""
    space = study.space_of(trial.number)
    return space.controlling(list(trial.decision)) if study.spec.controlled else space


def _exact(value: Any) -> str:
    """Return a value as text that parses to the same value."""
    return repr(value) if isinstance(value, float) else brief(value)
