"""The body of a request, read up to a limit before anything is made of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import Message, Receive

LARGEST = 2_000_000
"""Bytes: more than an event of a journal can hold, and little enough to be kept in memory."""


async def limited(request: Request) -> Receive | None:
    """The body as the application will receive it; None where it is too large."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > LARGEST:
        return None
    body, more = bytearray(), True
    while more:
        message = await request.receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def receive() -> Message:
        return whole.pop() if whole else await request.receive()

    return receive
