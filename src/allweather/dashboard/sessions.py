"""Sessions of browsers: a signed cookie that holds no secret, and a token that only our own forms carry."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

LASTS = 12 * 3600
"""Seconds."""


class Sessions:
    """Opens sessions and tells ours from forged ones; they end with the server.

    Example:
        >>> sessions = Sessions()
        >>> mine = sessions.open()
        >>> sessions.valid(mine), sessions.valid(mine + "0"), sessions.valid(Sessions().open())
        (True, False, False)
        >>> sessions.wrote(mine, sessions.form_token(mine)), sessions.wrote(sessions.open(), sessions.form_token(mine))
        (True, False)
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._ended: set[str] = set()

    def open(self) -> str:
        """A new session, as its cookie's value."""
        said = f"{secrets.token_urlsafe(18)}.{int(time.time()) + LASTS}"
        return f"{said}.{self._signed('session', said)}"

    def valid(self, cookie: str | None) -> bool:
        """Whether it is a session of ours that has not ended."""
        said, _, signature = (cookie or "").rpartition(".")
        if not said or not _same(signature, self._signed("session", said)) or cookie in self._ended:
            return False
        return int(said.rpartition(".")[2]) > time.time()

    def end(self, cookie: str) -> None:
        """Let nobody use it any more."""
        if self.valid(cookie):
            self._ended.add(cookie)

    def form_token(self, cookie: str) -> str:
        """What forms of this session carry; another site cannot know it."""
        return self._signed("form", cookie)

    def wrote(self, cookie: str, token: str) -> bool:
        """Whether a form with this token was written for this session."""
        return _same(token, self.form_token(cookie))

    def _signed(self, purpose: str, said: str) -> str:
        return hmac.new(self._key, f"{purpose}:{said}".encode(), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
