"""Errors as HTTP responses: their status, their problem document for the API and their message for pages."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from allweather.errors import AllweatherError, BudgetSpent, InvalidInput, shown
from allweather.storage import Conflict, StorageError
from allweather.trials.additions import AlreadyThere
from allweather.trials.rows import NO_CONTEXT

PROBLEM_MEDIA_TYPE = "application/problem+json"
MAX_MESSAGE_CHARACTERS = 600
"""Characters of a message."""
TITLES = {
    400: "malformed request",
    401: "token required",
    403: "forbidden",
    404: "not found",
    405: "method not allowed",
    408: "request incomplete",
    409: "conflict",
    413: "request body too large",
    415: "JSON required",
    421: "unknown host name",
    422: "invalid input",
    429: "too many attempts",
    500: "unexpected error",
    503: "service unavailable",
}


class NotFound(InvalidInput):
    """A study, trial, figure or file does not exist."""


class Forbidden(AllweatherError):
    """A form was not created for this session."""


class MalformedRequest(AllweatherError):
    """A request cannot be decoded."""


class Busy(AllweatherError):
    """Too many requests wait for the same thing: try again later."""


class TooLarge(AllweatherError):
    """A computation would need more memory than the server may use."""


RETRY_SECONDS = 5
"""Seconds after which a request that found the server busy should be sent again."""


def error_headers(error: AllweatherError) -> dict[str, str]:
    """Return the headers of an error's response: when to try again, where that helps."""
    return {"retry-after": str(RETRY_SECONDS)} if isinstance(error, Busy | StorageError) else {}


def status_of(error: AllweatherError) -> int:
    """Return the HTTP status of an error.

    Example:
        >>> status_of(StorageError("the disk is full"))
        503
    """
    kinds: tuple[tuple[type[AllweatherError], int], ...] = (
        (NotFound, 404),
        (Forbidden, 403),
        (MalformedRequest, 400),
        (Conflict, 409),
        (BudgetSpent, 409),
        (StorageError, 503),
        (Busy, 503),
        (TooLarge, 503),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), 422)


def one_line(error: object) -> str:
    """Return an error's message on one line, cut to a maximal length."""
    text = " ".join(str(error).split())
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else text[: MAX_MESSAGE_CHARACTERS - 3] + "..."


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **fields: Any) -> Response:
    """Return a problem document (RFC 9457), the error response of the API.

    Args:
        status: the HTTP status.
        detail: the message.
        headers: of the response.
        fields: further members of the document.
    """
    document = {"title": TITLES.get(status, "refused"), "status": status, "detail": detail, **fields}
    return Response(json.dumps(document), status, headers, media_type=PROBLEM_MEDIA_TYPE)


def plain_text(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as plain text."""
    return Response(detail, status, headers, media_type="text/plain")


class ProblemOut(BaseModel):
    """An error (RFC 9457); for invalid input with the fields of the error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    status: int
    detail: str = Field(description="the message", examples=["`context demand` must be a number, got 'many'"])
    where: str | None = Field(default=None, description="the invalid argument or field")
    requirement: str | None = Field(default=None, description="what is required of it")
    received: bool | int | float | str | None = Field(default=None, description="the value that was received")
    remedy: str | None = Field(default=None, description="how to fix it, where known")
    problems: list[dict[str, str]] = Field(
        default=[], description="what is wrong in several cells of a table: `where` and `detail` of each"
    )


def error_fields(error: AllweatherError) -> dict[str, Any]:
    """Return the fields of an invalid input as members of a problem document; nothing for other errors.

    Example:
        >>> error_fields(InvalidInput(where="context demand", requirement="be a number", received="many"))
        {'where': 'context demand', 'requirement': 'be a number', 'received': 'many', 'remedy': None}
    """
    if not isinstance(error, InvalidInput):
        return {}
    named = {"where": error.where or None, "requirement": error.requirement or None}
    document = {**named, "received": _json_value(error.received), "remedy": error.remedy or None}
    if error.problems:
        document["problems"] = [{"where": each.where, "detail": each.reason} for each in error.problems]
    return document


def page_problems(error: AllweatherError) -> list[str]:
    """Return what is wrong with the rows of a table, one line each."""
    return [page_message(each) for each in error.problems] if isinstance(error, InvalidInput) else []


def page_message(error: AllweatherError, trial: int | None = None) -> str:
    """Return the message of an error as a page shows it: about fields and trials instead of Python arguments.

    Args:
        error: raised while a form was processed.
        trial: the number of the trial that the form is about.

    Example:
        >>> page_message(InvalidInput(where="context demand", requirement="be in [0, 100]", received=300.0))
        'demand must be in [0, 100], got 300.0'
        >>> page_message(InvalidInput(where="Study.tell(...)", requirement="tell a value", received="nothing"))
        'enter an outcome or a context, or tick "The trial failed"'
    """
    if not isinstance(error, InvalidInput):
        return one_line(error)
    message = _FORM_MESSAGES.get(error.where)
    if message is None and trial is not None:
        message = _trial_messages(trial).get(error.where)
    if message is not None:
        return one_line(message.format(reason=error.reason))
    if error.problems:
        return one_line(": ".join([*error.path, f"the table {error.reason}"]))
    subject = re.sub(r"^(context|decision|Study\.add\(table=\.\.\.\)) ", "", error.where)
    subject = re.sub(r"^Study\.add\((\w+)=\.\.\.\)", r"\1", subject)
    remedy = "; choose below what rows without outcome are" if error.requirement == "have an outcome" else ""
    remedy = "; choose below what rows without context are" if error.problem == NO_CONTEXT else remedy
    remedy = "; tick below to add them again" if isinstance(error, AlreadyThere) else remedy
    return one_line(": ".join([*error.path, f"{subject} {error.reason}{remedy}".strip()]))


_FORM_MESSAGES = {
    "Study.tell(...)": 'enter an outcome or a context, or tick "The trial failed"',
    "Study.tell(value=..., failed=True)": 'enter an outcome or tick "The trial failed", not both',
    "Study.correct(...)": "enter the corrected outcome, context or decision",
}
"""Messages for forms as a whole, by `InvalidInput.where`."""


def _trial_messages(number: int) -> dict[str, str]:
    """Return messages about a trial, by `InvalidInput.where`."""
    tell, correct = f"Study.tell(trial={number})", f"Study.correct(trial={number})"
    again = f"trial {number} already has another {{what}}; correct it on the page of the trial"
    different = {f"{tell}: {name}": again.format(what=what) for name, what in _PARTS.items()}
    return {tell: f"trial {number} {{reason}}", correct: f"trial {number} {{reason}}", **different}


_PARTS = {"value": "outcome", "context": "context", "decision": "decision"}


def _json_value(value: Any) -> Any:
    """Return a scalar as it is and anything else as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else shown(value)
