"""Log lines: as JSON objects with the id of the request they belong to, and without endless repeats."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
from asyncio import CancelledError
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REPEATED_LINES = 10
"""Log lines from one place in the code that pass in a minute."""
SERVER_LOGGERS = ("allweather", "allweather.requests", "uvicorn.error", "asyncio")
MAX_MESSAGE_LENGTH = 8000
"""Characters of a message or traceback in a log line."""
ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being answered."""


class RepeatFilter(logging.Filter):
    """Drops log lines that repeat: of those from one place in the code, ten a minute pass.

    A record with the attribute `repeats` counts with those of the same value instead, and passes if that is None. A
    request that is cut off when the server ends is no error of the application: its line has no traceback.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[object, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line passes; the first after a pause says how many were dropped."""
        if record.exc_info and isinstance(record.exc_info[1], CancelledError):
            record.msg, record.args, record.exc_info = "a request was cut off when the server ended", (), None
        place = getattr(record, "repeats", (record.pathname, record.lineno))
        if place is None:
            return True
        started, count = self._seen.get(place, (record.created, 0))
        if record.created - started > 60:
            if count > MAX_REPEATED_LINES:
                record.msg = f"{record.msg} ({count - MAX_REPEATED_LINES} such lines were dropped)"
            started, count = record.created, 0
        self._seen[place] = started, count + 1
        return count < MAX_REPEATED_LINES


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON in ASCII: time, level, logger, message, request, and the record's `fields`.

    Example:
        >>> record = logging.LogRecord("allweather", 20, "", 0, "%d trials", (3,), None)
        >>> line = json.loads(JsonFormatter().format(record))
        >>> line["level"], line["logger"], line["message"]
        ('info', 'allweather', '3 trials')
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": record.getMessage()[:MAX_MESSAGE_LENGTH]}
        line |= {"request": request_id.get()} if request_id.get() else {}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line |= {"traceback": self.formatException(record.exc_info)[-MAX_MESSAGE_LENGTH:]}
        return json.dumps(line)


class StderrHandler(logging.Handler):
    """Writes JSON lines to the present standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; a log that cannot be written stops nothing."""
        try:
            sys.stderr.write(f"{self.format(record)}\n")
        except (OSError, ValueError):
            return


def set_up_logs(json_lines: bool) -> None:
    """Limit the repeats of a server's log lines, and write them as JSON to standard error if wanted.

    Args:
        json_lines: whether lines are JSON objects; then there is also one for each request.
    """
    for name in SERVER_LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, RepeatFilter) for each in logger.filters):
            logger.addFilter(RepeatFilter())
        child = name == "allweather.requests"  # its lines reach the handler of allweather
        if json_lines and not child and not any(isinstance(each, StderrHandler) for each in logger.handlers):
            logger.addHandler(StderrHandler())
    if json_lines:
        logging.getLogger("allweather").setLevel(logging.INFO)


class RequestLog:
    """ASGI middleware: an id for every request, returned as `x-request-id`, and a log line about it if wanted.

    The line has neither headers nor query, which may hold secrets. Successful requests for static files and `/health`
    have none, and of each kind of refused requests ten a minute do.

    Args:
        app: answers the requests.
        lines: whether to write lines.
    """

    def __init__(self, app: ASGIApp, lines: bool) -> None:
        self.app, self.lines, self._log = app, lines, logging.getLogger("allweather.requests")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        own = given if ID.fullmatch(given) else secrets.token_hex(8)
        began, status, mark = time.perf_counter(), 0, request_id.set(own)

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", own.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            if self.lines:
                self._write(scope, status, 1000 * (time.perf_counter() - began))
            request_id.reset(mark)

    def _write(self, scope: Scope, status: int, milliseconds: float) -> None:
        path, route = scope["path"], _route(scope)
        good = 0 < status < 400
        if good and (path == "/health" or path.startswith("/static/")):
            return
        fields = {
            "method": scope["method"],
            "route": route,
            "path": path[:200],
            "status": status,
            "milliseconds": round(milliseconds, 1),
            "token": scope.get("state", {}).get("user") or None,
            "client": (scope.get("client") or (None,))[0],
        }
        repeats = None if good else (status, route)
        level = logging.INFO if good else logging.WARNING
        self._log.log(level, "request", extra={"fields": fields, "repeats": repeats})


def _route(scope: Scope) -> str | None:
    """Return the path of a request with the names of its parameters; None if there is no such route."""
    own = getattr(scope.get("route"), "path", None)
    if own is None:
        return None
    # Depending on FastAPI's version, it begins with the prefix of the router or not.
    parts = scope["path"].split("/")
    return "/".join(parts[: max(len(parts) - own.count("/"), 1)]) + str(own)
