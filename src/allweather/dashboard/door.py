"""Where the page answers, under which names, and whether one must show a token."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass, field

from allweather.errors import InvalidInput, require

SHORTEST = 16
"""Characters of a token, at least."""
MAKE_ONE = "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"


@dataclass(frozen=True)
class Door:
    """An address to listen at, and who may come in.

    Example:
        >>> Door().answers_to("localhost:8080"), Door().answers_to("evil.example")
        (True, False)
        >>> Door(host="0.0.0.0")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `dashboard --host 0.0.0.0` needs --token (or ALLWEATHER_TOKEN), since others can
        reach it there; python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    """Further names that the server may be called by, such as that of a proxy in front of it."""

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, "dashboard --port", "be between 0 and 65535", self.port)
        require(bool(self.host.strip()), "dashboard --host", "be an address such as 127.0.0.1", self.host)
        if self.token is not None:
            plain = self.token.isascii() and self.token.isprintable() and " " not in self.token
            said = f"{len(self.token)} characters" if plain else "others"  # never the token itself
            fits = plain and len(self.token) >= SHORTEST
            require(fits, "dashboard --token", f"be at least {SHORTEST} plain characters ({MAKE_ONE})", said)
        elif not self.local:
            raise InvalidInput(
                f"`dashboard --host {self.host}` needs --token (or ALLWEATHER_TOKEN), since others can reach it there; "
                f"{MAKE_ONE}"
            )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        number = _number(self.host)
        return self.host == "localhost" if number is None else number.is_loopback

    @property
    def cookie(self) -> str:
        """The name of the session's cookie: a browser gives its cookies to every port of a host."""
        return f"allweather-{self.port}"

    def answers_to(self, host: str) -> bool:
        """Whether a request for this host is meant for us: a foreign name that leads here is an attack on browsers.

        Args:
            host: what the request calls us, with or without a port.
        """
        called = _without_port(host).lower().rstrip(".")
        known = {"127.0.0.1", "localhost", "[::1]", self.host.lower(), f"[{self.host.lower()}]"}
        if called in known | {name.lower() for name in self.names}:
            return True
        bound, number = _number(self.host), _number(called.strip("[]"))
        # Where every address of the machine is listened at, a number is one of them: no foreign name leads to it.
        return bound is not None and bound.is_unspecified and number is not None

    def opens(self, token: str) -> bool:
        """Whether this is the token; how long the answer takes tells nothing about it."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and (not name.count(":") or name.endswith("]")) else host
