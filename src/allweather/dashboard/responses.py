"""Responses: HTML from templates, downloads, and static files with versioned URLs."""

from __future__ import annotations

import gzip
import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import plotly
from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from allweather._utils.formatting import brief, clean, tame
from allweather.dashboard.errors import TITLES, NotFound
from allweather.dashboard.studies import encode_segment
from allweather.engine.recommendation import as_percent
from allweather.storage import Journal, export_lines
from allweather.trials.history import History

UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))
JOURNAL_LINES_PER_CHUNK = 500
"""Lines of a journal that are sent at a time."""
STATIC = Path(__file__).parent / "static"
OWN_FILES = ("allweather.css", "allweather.js", "mark.svg")
HTMX = "htmx-2.0.11.min.js"
PLOTLY = f"plotly-{plotly.__version__}.min.js"
IMMUTABLE = "public, max-age=31536000, immutable"
"""Static URLs hold a version, so their content never changes."""
MEDIA_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
static_router = APIRouter(prefix="/static", include_in_schema=False)


def ago(moment: float, now: float | None = None) -> str:
    """Return how long ago a moment was.

    Args:
        moment: in seconds since 1970.
        now: in seconds since 1970; by default the current time.

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
    """Return a value in four digits; an infinite objective is one whose target is not reached.

    Example:
        >>> short(0.123456), short("oak"), short(float("-inf"))
        ('0.1235', 'oak', 'not reached')
    """
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "not reached"
    return brief(value)


def reach(near: Sequence[Any]) -> str:
    """Return how far a variable may be changed: a range of numbers, or some options of a choice.

    Example:
        >>> reach((0.25, 1.0)), reach(["oak", "ash"])
        ('0.25 to 1', 'oak or ash')
    """
    return (" or " if isinstance(near, list) else " to ").join(map(short, near))


def _environment() -> Environment:
    loader = PackageLoader("allweather.dashboard")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"brief": brief, "short": short, "ago": ago, "segment": encode_segment, "clean": clean}
    environment.filters |= {"reach": reach, "percent": as_percent}
    return environment


TEMPLATES = _environment()


def is_partial(request: Request) -> bool:
    """Return whether htmx requests a part of a page."""
    return "hx-request" in request.headers


def render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Return a template as HTML.

    Args:
        request: the request that is answered.
        template: file name of the template.
        status: the HTTP status.
        values: variables of the template.
    """
    session, state = request.state.session, request.app.state
    shared = {
        "files": static_urls(state.config.prefix),
        "root": state.config.prefix,
        "form_token": state.sessions.form_token(session) if session else "",
        "token_required": state.config.guarded,
        "logged_in": session is not None,
        "may_write": not state.config.reads_only(request.state.user),
    }
    return HTMLResponse(TEMPLATES.get_template(template).render(**shared, **values), status)


def error_page(request: Request, status: int, detail: str) -> Response:
    """Return an error as a page, or as a part that htmx inserts above the existing content."""
    template = "_error.html" if is_partial(request) else "error.html"
    response = render(request, template, status, detail=detail, title=TITLES.get(status, "refused"))
    response.headers["hx-reswap"] = "afterbegin"  # keeps what the user has typed
    return response


def journal_download(journal: Journal) -> Response:
    """Return a study's journal as JSON lines."""
    chunks = _chunks(export_lines(journal))
    first = next(chunks)  # a database error is raised before the response starts
    headers = {"content-disposition": attachment(journal.name, "jsonl")}
    return StreamingResponse(chain([first], chunks), headers=headers, media_type="application/jsonl")


def table_download(name: str, history: History) -> Response:
    """Return the trials as CSV; text that a spreadsheet would evaluate is escaped.

    Args:
        name: of the study.
        history: its trials.
    """
    table = history.table().map(tame).rename(columns=tame)
    headers = {"content-disposition": attachment(name, "csv")}
    return Response(table.to_csv(), headers=headers, media_type="text/csv; charset=utf-8")


def report_download(name: str, html: str) -> Response:
    """Return a report as a file; the sandbox policy keeps its scripts off our origin if a browser opens it."""
    headers = {"content-disposition": attachment(name, "html"), "content-security-policy": "sandbox"}
    return Response(html, headers=headers, media_type="text/html; charset=utf-8")


def attachment(name: str, ending: str) -> str:
    r"""Return the Content-Disposition header of a download, with an ASCII and a Unicode file name.

    Example:
        >>> attachment("köln/1", "csv")
        'attachment; filename="k_ln_1.csv"; filename*=UTF-8\'\'k%C3%B6ln%2F1.csv'
    """
    simple = "".join(each if each.isascii() and (each.isalnum() or each in "-.") else "_" for each in name)
    return f"attachment; filename=\"{simple}.{ending}\"; filename*=UTF-8''{quote(f'{name}.{ending}', safe='')}"


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    while chunk := list(islice(lines, JOURNAL_LINES_PER_CHUNK)):
        yield "".join(f"{line}\n" for line in chunk)


@static_router.get("/{name}")
def static(request: Request, name: str) -> Response:
    """Return a static file of the package or of Plotly."""
    path = _static_paths().get(name)
    if path is None:
        raise NotFound("there is no such file")
    content, compressed = _read(path)
    headers, media_type = {"cache-control": IMMUTABLE, "vary": "accept-encoding"}, MEDIA_TYPES[Path(name).suffix]
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(compressed, headers={**headers, "content-encoding": "gzip"}, media_type=media_type)
    return Response(content, headers=headers, media_type=media_type)


@cache
def static_urls(prefix: str = "") -> dict[str, str]:
    """Return the versioned URL of each static file by its plain name."""
    own = {name: f"{prefix}/static/{_versioned(STATIC / name)}" for name in OWN_FILES}
    return {**own, "htmx": f"{prefix}/static/{HTMX}", "plotly": f"{prefix}/static/{PLOTLY}"}


@cache
def _static_paths() -> dict[str, Path]:
    own = {_versioned(STATIC / name): STATIC / name for name in OWN_FILES}
    return {**own, HTMX: STATIC / HTMX, PLOTLY: Path(plotly.__file__).parent / "package_data" / "plotly.min.js"}


@cache
def _read(path: Path) -> tuple[bytes, bytes]:
    content = path.read_bytes()
    return content, gzip.compress(content, 6)


def _versioned(path: Path) -> str:
    return f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}{path.suffix}"


def mark_changed(response: Response) -> Response:
    """Add the htmx event that refreshes the other parts of the page."""
    response.headers["hx-trigger"] = "study-changed"
    return response
