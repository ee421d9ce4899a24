"""Middleware before all routes: host and origin checks, authentication, body limit, security headers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from allweather.dashboard.auth import GuessLimit, Sessions, check_token, cookie_header
from allweather.dashboard.errors import plain_text, problem
from allweather.dashboard.server import ServerConfig

log = logging.getLogger("allweather")
CLOSE = {"connection": "close"}
ENDING = {**CLOSE, "retry-after": "5"}
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
OWN_SITES = ("same-origin", "none")
MAX_BODY_BYTES = 2_000_000
"""Bytes: more than an event of a journal can hold, and little enough to keep in memory."""
BODY_SECONDS = 30.0
"""Seconds for a body to arrive."""
REDIRECTS = ("location", "hx-redirect", "hx-location", "hx-push-url", "hx-replace-url")
"""Headers with a path on this server."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Inline styles are allowed because Plotly writes them; no script runs but our own."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class IncompleteBody(Exception):
    """The body of a request did not arrive in time."""


async def limit_body(request: Request) -> Receive | None:
    """Read the body and return it as the application will receive it; None if it is too large."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read_body(request)
    except TimeoutError:
        raise IncompleteBody from None


async def _read_body(request: Request) -> Receive | None:
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        return None
    body, more = bytearray(), True
    while more:
        message = await request.receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            return None
    whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def receive() -> Message:
        return whole.pop() if whole else await request.receive()

    return receive


class SecurityMiddleware:
    """Rejects requests for other hosts, from other sites, without credentials or with too large a body."""

    def __init__(self, app: ASGIApp, config: ServerConfig, sessions: Sessions, guess_limit: GuessLimit) -> None:
        self.app, self.config, self.sessions, self.guess_limit = app, config, sessions, guess_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        path = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")
        # Some proxies remove the prefix, others do not.
        prefixed = f"{path}/".startswith(f"{self.config.prefix}/")
        scope["path"] = (path.removeprefix(self.config.prefix) if prefixed else path) or "/"
        request = Request(scope, receive)
        new = self._find_session(request)
        secure = scope.get("scheme") == "https"
        send = _with_headers(send, cookie_header(self.config, new, secure) if new else None, self.config.prefix)
        rejection = await self._rejection(request)
        if rejection is None:
            try:
                body = await limit_body(request)
                if body is not None:
                    await self._answer(scope, body, send)
                    return
                rejection = _reject(request, 413, "the request body is too large", CLOSE)
            except IncompleteBody:
                rejection = _reject(request, 408, f"the body did not arrive within {BODY_SECONDS:g} s", CLOSE)
        await rejection(scope, receive, send)

    async def _answer(self, scope: Scope, body: Receive, send: Send) -> None:
        """Pass a request on; an unexpected error is answered with the headers of every response."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        # HEAD is answered like GET: the server drops the body.
        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:
            await self.app(inner, body, noting)
        except asyncio.CancelledError:  # the server ends before this request
            if started:
                raise
            await _reject(Request(scope), 503, "the server is shutting down", ENDING)(scope, body, send)
        except Exception as error:
            log.exception("%s %s: unexpected %s", scope["method"], ascii(scope["path"]), type(error).__name__)
            if started:
                raise
            detail = "an unexpected error occurred; the server's log has the details"
            await _reject(Request(scope), 500, detail)(scope, body, send)

    def _find_session(self, request: Request) -> str | None:
        """Set the session of a request; without a token every browser gets one. Return it if it is new."""
        session = request.cookies.get(self.config.cookie)
        known = self.sessions.is_valid(session)
        program = request.scope["path"].startswith(("/api/", "/static/"))
        fresh = None if known or self.config.guarded or program else self.sessions.open()
        request.state.session = session if known else fresh
        request.state.user = self.sessions.user_of(session) if known and session else ""
        return fresh

    async def _rejection(self, request: Request) -> Response | None:
        if not self.config.accepts_host(request.headers.get("host", "")):
            return _reject(request, 421, "unknown host name; add it with --host-name")
        if not _same_site(request.headers, request.method):
            return _reject(request, 403, "the request comes from another site")
        path = request.scope["path"]
        if path.startswith("/static/") or path == "/health":
            return None
        rejection = await self._authenticate(request, path) or self._authorize(request, path)
        json_needed = path.startswith("/api/") and request.method in ("POST", "PUT", "PATCH")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if rejection is None and json_needed and kind != "application/json":
            return problem(415, "the body must be JSON, with content-type application/json")
        return rejection

    async def _authenticate(self, request: Request, path: str) -> Response | None:
        """Return None if the request has the token or a session, or needs neither."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if not self.config.guarded or path == "/login":
            return None
        if kind.lower() == "bearer":
            user = check_token(token.strip(), self.config.accounts)
            request.state.user = "" if user is None else user.name
            return None if user is not None else await self._invalid_token(request)
        if request.state.session is not None:
            return None
        if path.startswith("/api/"):
            header = {"www-authenticate": "Bearer"}
            return problem(401, "a token is required: send the header `Authorization: Bearer <token>`", header)
        if "hx-request" in request.headers or request.method not in SAFE_METHODS:
            return plain_text(401, "your session has ended: log in again", {"hx-redirect": "/login"})
        return RedirectResponse(f"/login?then={quote(path, safe='')}", 303)

    def _authorize(self, request: Request, path: str) -> Response | None:
        """Return None if the user may do this."""
        if self.config.reads_only(request.state.user) and request.method not in SAFE_METHODS and path != "/logout":
            return _reject(request, 403, "this token may only read")
        return None

    async def _invalid_token(self, request: Request) -> Response:
        if not await self.guess_limit.wait():
            return _reject(request, 429, "too many invalid tokens", {"retry-after": "5"})
        return _reject(request, 401, "invalid token", {"www-authenticate": "Bearer"})


def _same_site(headers: Mapping[str, str], method: str) -> bool:
    """Return whether a browser says that the request comes from our own pages; programs send no such headers.

    Other sites may link to our pages, but neither post to them nor embed them.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if origin is not None and method not in SAFE_METHODS and _host_of(origin) != headers.get("host", "").lower():
        return False
    navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") != "iframe"
    return site is None or site in OWN_SITES or (method in SAFE_METHODS and navigates)


def _host_of(origin: str) -> str | None:
    """Return host and port of an origin; None if it is not a URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _reject(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    return (problem if request.scope["path"].startswith("/api/") else plain_text)(status, detail, headers)


def _with_headers(send: Send, cookie: str | None, prefix: str) -> Send:
    """Add the security headers to every response, the cookie of a new session, and the prefix to redirects."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
            for name in REDIRECTS:
                if headers.get(name, "").startswith("/"):
                    headers[name] = f"{prefix}{headers[name]}"
            if cookie and message["status"] < 400:
                headers.append("set-cookie", cookie)
        await send(message)

    return with_headers
