"""Authentication: the token check, browser sessions, and the login and logout routes."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from cachetools import TTLCache
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from allweather.dashboard.forms import Form, form_fields, posted_form
from allweather.dashboard.responses import render
from allweather.errors import require

if TYPE_CHECKING:
    from allweather.dashboard.server import ServerConfig

SESSION_SECONDS = 12 * 3600
"""Seconds that a session lasts."""
MIN_TOKEN_CHARACTERS = 16
"""Characters of a token, at least."""
GUESS_SECONDS = 1.0
"""Seconds before an invalid token is answered."""
MAX_WAITING_GUESSES = 8
"""Requests with invalid tokens that may wait at once."""
CREATE_TOKEN = "create one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`"  # nosec B105
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class User:
    """A person or program with a token of its own.

    Args:
        name: written into the journal with what it reports.
        token: its secret.
        read_only: whether it may change nothing.
    """

    name: str
    token: str = field(repr=False)
    read_only: bool = False

    def __post_init__(self) -> None:
        plain = self.token.isascii() and self.token.isprintable() and " " not in self.token
        received = f"{len(self.token)} characters" if plain else "other characters"  # never the token itself
        fits = plain and len(self.token) >= MIN_TOKEN_CHARACTERS
        requirement = f"be at least {MIN_TOKEN_CHARACTERS} ASCII characters without spaces"
        where = f"token of {self.name}" if self.name else "dashboard --token"
        require(fits, where, requirement, received, CREATE_TOKEN)


def check_token(token: str, users: Iterable[User]) -> User | None:
    """Return whose token this is, None if nobody's; the comparison takes constant time.

    Args:
        token: what a request presents.
        users: those that the server knows.

    Example:
        >>> check_token("sixteen-letters!", [User("ada", "sixteen-letters!")]).name
        'ada'
    """
    found = [each for each in users if _same(token, each.token)]
    return found[0] if found else None


class GuessLimit:
    """Delays responses to invalid tokens, and rejects them when too many wait: at most eight guesses per second.

    Requests with the right token are never delayed.

    Args:
        seconds: the delay.
    """

    def __init__(self, seconds: float = GUESS_SECONDS) -> None:
        self.seconds, self.waiting = seconds, 0

    async def wait(self) -> bool:
        """Wait, and return True; return False at once if too many requests are waiting."""
        if self.waiting >= MAX_WAITING_GUESSES:
            return False
        self.waiting += 1
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.waiting -= 1
        return True


class Sessions:
    """Browser sessions: signed cookies without secrets, and form tokens against cross-site request forgery.

    Sessions end with the server, since the key is drawn when it starts.

    Example:
        >>> sessions = Sessions()
        >>> mine = sessions.open()
        >>> sessions.is_valid(mine), sessions.is_valid(mine + "0"), sessions.is_valid(Sessions().open())
        (True, False, False)
        >>> token = sessions.form_token(mine)
        >>> sessions.owns_form(mine, token), sessions.owns_form(sessions.open(), token)
        (True, False)
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._ended: TTLCache[str, None] = TTLCache(math.inf, SESSION_SECONDS)  # used on the event loop only

    def open(self, user: str = "") -> str:
        """Return the cookie value of a new session of a user."""
        content = f"{secrets.token_urlsafe(18)}.{user.encode().hex()}.{int(time.time()) + SESSION_SECONDS}"
        return f"{content}.{self._sign('session', content)}"

    def user_of(self, cookie: str) -> str:
        """Return the name of the user of a valid session.

        Example:
            >>> sessions = Sessions()
            >>> sessions.user_of(sessions.open("ada"))
            'ada'
        """
        return bytes.fromhex(cookie.split(".")[1]).decode()

    def is_valid(self, cookie: str | None) -> bool:
        """Return whether a cookie was signed here, has not expired and was not logged out."""
        content, _, signature = (cookie or "").rpartition(".")
        if not content or not _same(signature, self._sign("session", content)) or cookie in self._ended:
            return False
        return int(content.rpartition(".")[2]) > time.time()

    def end(self, cookie: str) -> None:
        """End a session."""
        if self.is_valid(cookie):
            self._ended[cookie] = None

    def form_token(self, cookie: str) -> str:
        """Return the token that the forms of a session carry; other sites cannot know it."""
        return self._sign("form", cookie)

    def owns_form(self, cookie: str, token: str) -> bool:
        """Return whether a form token belongs to a session."""
        return _same(token, self.form_token(cookie))

    def _sign(self, purpose: str, content: str) -> str:
        return hmac.new(self._key, f"{purpose}:{content}".encode(), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def cookie_header(config: ServerConfig, session: str, secure: bool) -> str:
    """Return the Set-Cookie header of a session; an empty session deletes the cookie.

    Args:
        config: the name of the cookie, and the path under which browsers send it.
        session: its value.
        secure: whether the browser may send it over HTTPS only.
    """
    limits = f"Path={config.prefix or '/'}; Max-Age={SESSION_SECONDS if session else 0}; HttpOnly; SameSite=Strict"
    return f"{config.cookie}={session}; {limits}" + ("; Secure" if secure else "")


@router.get("/login")
def form(request: Request, then: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """Show the login form."""
    return render(request, "login.html", then=then, detail=None)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Open a session, if the token is right."""
    fields = await form_fields(request, 10)
    token, then = fields.get("token", ""), fields.get("then", "/")
    user = check_token(token.strip(), request.app.state.config.accounts)
    if user is None:
        if not await request.app.state.guess_limit.wait():
            return render(request, "login.html", 429, then=then, detail="Too many invalid tokens. Try again later.")
        return render(request, "login.html", 401, then=then, detail="Invalid token.")
    return _redirect(request, _local_path(then), request.app.state.sessions.open(user.name))


@router.post("/logout")
async def log_out(request: Request, posted: Annotated[Form, Depends(posted_form)]) -> Response:
    """End the session."""
    request.app.state.sessions.end(request.state.session)
    return _redirect(request, "/login", "")


def _redirect(request: Request, to: str, session: str) -> Response:
    header = cookie_header(request.app.state.config, session, request.url.scheme == "https")
    return RedirectResponse(to, 303, {"set-cookie": header})


def _local_path(then: str) -> str:
    """Return a path on this server; anything else becomes the front page."""
    local = then.startswith("/") and not then.startswith(("//", "/\\")) and then.isprintable()
    return then if local else "/"
