"""Who may make which request: checked before anything else sees it, for the pages and the REST interface alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from allweather.dashboard.body import limited
from allweather.dashboard.door import Door
from allweather.dashboard.patience import Patience
from allweather.dashboard.problems import plain, problem
from allweather.dashboard.sessions import LASTS, Sessions

SAFE = ("GET", "HEAD", "OPTIONS")
OWN = ("same-origin", "none")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Plotly writes styles into its figures; no script but ours ever runs."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class Guard:
    """Lets requests through that were meant for us, by those who may make them."""

    def __init__(self, app: ASGIApp, door: Door, sessions: Sessions, patience: Patience) -> None:
        self.app, self.door, self.sessions, self.patience = app, door, sessions, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")
        request = Request(scope, receive)
        new = self._remember(request)
        dressed = _dressed(send, new and self._set_cookie(new, scope))
        refusal = await self._refusal(request)
        if refusal is None:
            receive_again = await limited(request)
            if receive_again is not None:
                # A HEAD is answered like a GET: the server itself leaves the body out.
                inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
                await self.app(inner, receive_again, dressed)
                return
            refusal = _said(request, 413, "the request's body is too large")
        await refusal(scope, receive, dressed)

    def _remember(self, request: Request) -> str | None:
        """Find the request's session; a new one where everybody is let in and none is there yet."""
        session = request.cookies.get(self.door.cookie)
        known = self.sessions.valid(session)
        path = request.scope["path"]
        fresh = None if known or self.door.token is not None or _machine(path) else self.sessions.open()
        request.state.session = session if known else fresh
        return fresh

    async def _refusal(self, request: Request) -> Response | None:
        if not self.door.answers_to(request.headers.get("host", "")):
            return _said(request, 421, "this server does not go by that name; --host-name adds one")
        if not _from_here(request.headers, request.method):
            return _said(request, 403, "this request comes from another site")
        path = request.scope["path"]
        if path.startswith("/static/"):
            return None
        refusal = await self._admitted(request, path)
        json_needed = path.startswith("/api/") and request.method in ("POST", "PUT", "PATCH")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if refusal is None and json_needed and kind != "application/json":
            return problem(415, "the body must be JSON, with content-type application/json")
        return refusal

    async def _admitted(self, request: Request, path: str) -> Response | None:
        """Nothing where the request shows the token or a session, or needs none."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if self.door.token is None or path == "/login":
            return None
        if kind.lower() == "bearer":
            return None if self.door.opens(token.strip()) else await self._wrong(request)
        if request.state.session is not None:
            return None
        if path.startswith("/api/"):
            return problem(401, "show the token: `Authorization: Bearer ...`", {"www-authenticate": "Bearer"})
        if "hx-request" in request.headers or request.method not in SAFE:
            return plain(401, "your session has ended: log in again", {"hx-redirect": "/login"})
        return RedirectResponse(f"/login?then={quote(path, safe='')}", 303)

    async def _wrong(self, request: Request) -> Response:
        if not await self.patience.wait():
            return _said(request, 429, "too many wrong tokens at once", {"retry-after": "5"})
        return _said(request, 401, "this is not the token", {"www-authenticate": "Bearer"})

    def _set_cookie(self, session: str, scope: Scope) -> str:
        return cookie(self.door.cookie, session, scope.get("scheme") == "https")


def cookie(name: str, session: str, secure: bool) -> str:
    """The header that gives a browser its session, or takes it back where it is empty."""
    lasts = LASTS if session else 0
    return f"{name}={session}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")


def _machine(path: str) -> bool:
    return path.startswith(("/api/", "/static/"))


def _from_here(headers: Mapping[str, str], method: str) -> bool:
    """Whether a browser says that our own pages make this request; other programs say nothing about it.

    Another site may link to our pages, but neither post to them nor load anything of them.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if origin is not None and method not in SAFE and _place(origin) != headers.get("host", "").lower():
        return False
    link = method in SAFE and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") != "iframe"
    return site is None or site in OWN or link


def _place(origin: str) -> str | None:
    """Host and port of an origin; None where it is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _said(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    return (problem if request.scope["path"].startswith("/api/") else plain)(status, detail, headers)


def _dressed(send: Send, cookie: str | None) -> Send:
    """Adds what every answer tells the browser."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
            if cookie and message["status"] < 400:
                headers.append("set-cookie", cookie)
        await send(message)

    return dressed
