"""The server: its address, host names and token, and the loop that serves the application until a signal."""

from __future__ import annotations

import logging
import re
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from allweather._utils.logs import set_up_logs
from allweather._utils.machine import ip_address, without_port
from allweather.dashboard.auth import CREATE_TOKEN, User
from allweather.dashboard.tasks import is_computing
from allweather.errors import InvalidInput, require, require_count, require_number

if TYPE_CHECKING:
    from fastapi import FastAPI

log = logging.getLogger("allweather")
HEADER_SECONDS = 15.0
"""Seconds for the headers of a connection's first request to arrive."""
MAX_CONNECTIONS = 256
"""Connections or requests that are open at once; further requests are answered with 503."""
PREFIX = re.compile(r"(?!/(studies|new|api|static|login|logout|health)(/|$))(/[A-Za-z0-9._~-]*[A-Za-z0-9_~-])+")
"""A path of letters and digits that cannot be confused with one of the server's own."""
SHUTDOWN_SECONDS = 2
"""Seconds for open requests to finish when the server shuts down."""


@dataclass(frozen=True)
class ServerConfig:
    """The address to listen on, the host names to accept, and the access token.

    Args:
        host: address to bind; an address that other machines can reach requires a token.
        port: port to bind; 0 takes any free port.
        token: secret that every request must present, if any.
        names: further host names to accept, such as that of a reverse proxy.
        memory: bytes that computations may use together; half of the machine's memory if not given.
        computations: of each kind (asks, recommendations, figures) that run at once.
        users: people and programs with tokens of their own.
        certificate: file with the certificate, for HTTPS.
        key: file with the certificate's private key.
        prefix: path under which a reverse proxy shows the pages, such as `/lab`.
        json_log: whether log lines are JSON objects, with one for each request.

    Example:
        >>> ServerConfig().accepts_host("localhost:8080"), ServerConfig().accepts_host("evil.example")
        (True, False)
        >>> ServerConfig(host="0.0.0.0")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `dashboard --host 0.0.0.0` needs --token (or ALLWEATHER_TOKEN), because other
        machines can reach this address; create one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    memory: float | None = None
    computations: int = 1
    users: tuple[User, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    prefix: str = ""
    json_log: bool = False

    def reads_only(self, user: str) -> bool:
        """Return whether a user may change nothing.

        Args:
            user: the name of one with a token; empty where tokens have no names.
        """
        return any(each.read_only for each in self.users if each.name == user)

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, "dashboard --port", "be between 0 and 65535", self.port)
        require_count(self.computations, "dashboard --computations", low=1)
        if self.memory is not None:
            require_number(self.memory, "dashboard --memory", above=0)
        require(bool(self.host.strip()), "dashboard --host", "be an address such as 127.0.0.1", self.host)
        pair = (self.certificate is None) == (self.key is None)
        require(pair, "dashboard --certificate", "be given with --key", "one of the two")
        for file in (self.certificate, self.key):
            require(file is None or file.is_file(), "dashboard --certificate, --key", "be files", str(file))
        if self.certificate is not None and self.key is not None:
            _require_pair(self.certificate, self.key)
        path = self.prefix == "" or PREFIX.fullmatch(self.prefix) is not None
        require(path, "dashboard --prefix", "be a path such as /lab, and not one of the server's own", self.prefix)
        if self.token is not None:
            User("", self.token)
        elif not self.local and not self.users:
            raise InvalidInput(
                "needs --token (or ALLWEATHER_TOKEN), because other machines can reach this address",
                where=f"dashboard --host {self.host}",
                remedy=CREATE_TOKEN,
            )

    @property
    def guarded(self) -> bool:
        """Whether requests need a token."""
        return bool(self.accounts)

    @property
    def accounts(self) -> tuple[User, ...]:
        """All who have a token: whoever has the shared one, and the users."""
        shared = () if self.token is None else (User("", self.token),)
        return (*shared, *self.users)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the address."""
        address = ip_address(self.host)
        return self.host == "localhost" if address is None else address.is_loopback

    @property
    def cookie(self) -> str:
        """Name of the session cookie; it holds the port, because browsers send cookies to every port of a host."""
        return f"allweather-{self.port}"

    @property
    def url(self) -> str:
        """The address to open in a browser.

        Example:
            >>> ServerConfig(host="::1", port=8000).url
            'http://[::1]:8000/'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}/"

    def accepts_host(self, host: str) -> bool:
        """Return whether the Host header names this server; other names indicate DNS rebinding.

        Args:
            host: the header, with or without a port.
        """
        name = without_port(host).lower().rstrip(".")
        known = {"127.0.0.1", "localhost", "[::1]", self.host.lower(), f"[{self.host.lower()}]"}
        if name in known | {each.lower() for each in self.names}:
            return True
        bound, address = ip_address(self.host), ip_address(name.strip("[]"))
        # A server bound to every address accepts every IP address: rebinding needs a name.
        return bound is not None and bound.is_unspecified and address is not None


def _require_pair(certificate: Path, key: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except (ssl.SSLError, OSError, ValueError):
        files = f"{certificate.name}, {key.name}"
        requirement = "be a certificate in PEM and its private key, without password"
        raise InvalidInput(where="dashboard --certificate, --key", requirement=requirement, received=files) from None


def serve(storage: str, config: ServerConfig, ready: Callable[[str], None] = lambda address: None) -> bool:
    """Serve the studies of a database until SIGINT or SIGTERM.

    Args:
        storage: the database's address, such as `sqlite:///kiosk.db`.
        config: address, host names and token; port 0 takes any free port.
        ready: called with the URL once the server accepts connections.

    Returns:
        Whether a computation is still running in a background thread; the process should then exit with `os._exit`.
    """
    from allweather.dashboard.app import create_app

    with _bind(config) as listening, _handling_signals() as stopped:
        config = replace(config, port=listening.getsockname()[1])
        app = create_app(storage, config)
        _Server(app, lambda: ready(config.url), stopped).run(sockets=[listening])
    return is_computing()


def uvicorn_config(app: FastAPI) -> uvicorn.Config:
    """Return the configuration of the server: limits of time and connections, and few log lines."""
    config: ServerConfig = app.state.config
    set_up_logs(config.json_log)
    files: dict[str, Any] = {"ssl_certfile": config.certificate, "ssl_keyfile": config.key}
    common: dict[str, Any] = {
        "log_level": "warning",
        "ws": "none",
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
        "limit_concurrency": MAX_CONNECTIONS,
        "server_header": False,
    }
    common |= files if config.certificate else {}
    common |= {"log_config": None} if config.json_log else {}
    return uvicorn.Config(app, http=TimedProtocol, **common)


class TimedProtocol(H11Protocol):
    """HTTP that closes a connection whose first request does not arrive in time.

    uvicorn itself closes connections that are idle after a request, and waits for the first one without limit.
    """

    def connection_made(self, transport: Any) -> None:
        """Accept a connection."""
        super().connection_made(transport)
        self.loop.call_later(HEADER_SECONDS, self._close_unused)

    def _close_unused(self) -> None:
        if self.cycle is None:
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that reports when it accepts connections, and cancels waiting tasks when it shuts down."""

    def __init__(self, app: FastAPI, ready: Callable[[], None], stopped: threading.Event) -> None:
        super().__init__(uvicorn_config(app))
        self._studies, self._ready, self._stopped = app.state.studies, ready, stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.should_exit = self.should_exit or self._stopped.is_set()
        if self.started and not self.should_exit:
            log.info("dashboard started")
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._studies.cancel()
        await super().shutdown(sockets)
        log.info("dashboard stopped")


@contextmanager
def _handling_signals() -> Iterator[threading.Event]:
    """Note signals that come before uvicorn handles them, and ignore those that it raises again when it has ended."""
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    stopped = threading.Event()
    before = [signal.signal(each, lambda *_: stopped.set()) for each in signals]
    try:
        yield stopped
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def _bind(config: ServerConfig) -> socket.socket:
    """Return a socket that listens on the configured address."""
    try:
        found = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "this is not a host name"
        raise InvalidInput(
            f"the dashboard cannot listen on {config.host}:{config.port}: {reason}",
            remedy="choose another port with --port",
        ) from None
    return listening
