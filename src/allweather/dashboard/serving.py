"""Answering at an address until somebody ends it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import uvicorn

from allweather.dashboard.app import create_app
from allweather.dashboard.aside import running
from allweather.dashboard.door import Door
from allweather.errors import InvalidInput

GRACE = 2
"""Seconds that open requests are given when the server ends."""


def serve(storage: str, door: Door, ready: Callable[[str], None] = lambda address: None) -> bool:
    """Show the studies of a database until the process is told to end.

    Args:
        storage: the database's address.
        door: where to answer, and who may come in; port 0 takes any that is free.
        ready: called with the page's address once it answers.

    Returns:
        Whether a computation still goes on, for nobody: a process that ends in order would crash within it.
    """
    with _listen(door) as listening, _ending_quietly():
        door = replace(door, port=listening.getsockname()[1])
        app = create_app(storage, door)
        config = uvicorn.Config(
            app, log_level="warning", ws="none", timeout_graceful_shutdown=GRACE, server_header=False
        )
        _Announcing(config, lambda: ready(address_of(door)), app.state.shelf.end).run(sockets=[listening])
    return running()


def address_of(door: Door) -> str:
    """What to type into a browser.

    Example:
        >>> address_of(Door(host="::1", port=8000))
        'http://[::1]:8000/'
    """
    host = f"[{door.host}]" if ":" in door.host else door.host
    return f"http://{host}:{door.port}/"


class _Announcing(uvicorn.Server):
    """A server that says when it answers, and lets go of those who wait when it ends."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready, self._ending = ready, ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)


@contextmanager
def _ending_quietly() -> Iterator[None]:
    """Being told to end is no failure: uvicorn ends in order, and what it passes on afterwards does nothing."""
    told = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = [signal.signal(each, lambda *_: None) for each in told]
    try:
        yield
    finally:
        for each, handler in zip(told, before, strict=True):
            signal.signal(each, handler)


def _listen(door: Door) -> socket.socket:
    try:
        found = socket.getaddrinfo(door.host, door.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise InvalidInput(
            f"the dashboard cannot answer at {door.host}:{door.port}: {reason}; --port names another"
        ) from None
    return listening
