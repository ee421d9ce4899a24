"""HTML from templates: everything shown is escaped, and a page is whole unless htmx asks for its part."""

from __future__ import annotations

import math
import time
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from allweather._utils.formatting import brief, clean
from allweather.dashboard.addresses import segment
from allweather.dashboard.files import addresses
from allweather.dashboard.problems import TITLES

UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


def ago(moment: float, now: float | None = None) -> str:
    """How long ago something was.

    Example:
        >>> ago(0, 7300), ago(0, 30)
        ('2 hours ago', 'just now')
    """
    passed = max((time.time() if now is None else now) - moment, 0)
    for name, seconds in UNITS:
        count = int(passed // seconds)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def short(value: Any) -> str:
    """A value in a few digits; a number without end says so.

    Example:
        >>> short(0.123456), short("oak"), short(float("-inf"))
        ('0.1235', 'oak', 'not reached')
    """
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "not reached"
    return brief(value)


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("allweather.dashboard"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters |= {"brief": brief, "short": short, "ago": ago, "segment": segment, "clean": clean}
    return made


TEMPLATES = _environment()


def partial(request: Request) -> bool:
    """Whether htmx asks for a part of a page."""
    return "hx-request" in request.headers


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A template filled with values."""
    return HTMLResponse(TEMPLATES.get_template(template).render(**_shared(request), **values), status)


def trouble(request: Request, status: int, detail: str) -> Response:
    """What went wrong, as a page or as a part of one."""
    template = "_trouble.html" if partial(request) else "trouble.html"
    answer = render(request, template, status, detail=detail, title=TITLES.get(status, "refused"))
    answer.headers["hx-reswap"] = "afterbegin"  # what was there, and what was typed, stays
    return answer


def _shared(request: Request) -> dict[str, Any]:
    session, state = request.state.session, request.app.state
    return {
        "files": addresses(),
        "form_token": state.sessions.form_token(session) if session else "",
        "guarded": state.door.token is not None,
        "inside": session is not None,
    }
