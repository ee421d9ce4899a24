"""What went wrong, as a status and a sentence: one table for the pages and for the REST interface."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from allweather.errors import AllweatherError, BudgetSpent, InvalidInput
from allweather.storage import Conflict, StorageError

PROBLEM = "application/problem+json"
LONGEST = 600
"""Characters of a sentence."""
TITLES = {
    400: "the request cannot be read",
    401: "a token is needed",
    403: "refused",
    404: "not found",
    405: "not possible here",
    409: "not possible now",
    413: "too large",
    415: "JSON is needed",
    421: "not this server",
    422: "something does not fit",
    429: "too many attempts",
    503: "the storage does not answer",
}


class NotHere(InvalidInput):
    """A study, trial or figure that is not there."""


class Refused(AllweatherError):
    """A form that was not written for this session."""


class Unreadable(AllweatherError):
    """A request that is not written as requests are."""


def status_of(mistake: AllweatherError) -> int:
    """The HTTP status that says the same.

    Example:
        >>> status_of(StorageError("the disk is full"))
        503
    """
    kinds: tuple[tuple[type[AllweatherError], int], ...] = ((NotHere, 404), (Refused, 403), (Unreadable, 400))
    kinds += ((Conflict, 409), (BudgetSpent, 409), (StorageError, 503))
    return next((status for kind, status in kinds if isinstance(mistake, kind)), 422)


def sentence(mistake: object) -> str:
    """A mistake on one line, not too long."""
    text = " ".join(str(mistake).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """The answer of the REST interface where something went wrong (RFC 9457)."""
    said: dict[str, Any] = {"title": TITLES.get(status, "refused"), "status": status, "detail": detail}
    return Response(json.dumps(said), status, headers, media_type=PROBLEM)


def plain(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """The same as text."""
    return Response(detail, status, headers, media_type="text/plain")
