"""Checksums: what was changed since it was written is noticed, also where it can still be read."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def checksum(*parts: object) -> str:
    """Return 16 hexadecimal digits that follow from all parts; texts and numbers, or None.

    Example:
        >>> checksum("told", 7), checksum("told", 8)
        ('fdea27493b476ac9', '05cd2814f21c0937')
    """
    text = "\0".join(map(str, parts))
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def event_checksum(number: object, kind: object, trial: object, at: Any, worker: object, payload: str) -> str:
    """Return the checksum of an event.

    Args:
        number: its place in the journal.
        kind: of the event.
        trial: it is about, or None.
        at: in seconds since 1970.
        worker: that wrote it.
        payload: as it is stored.
    """
    return checksum(number, kind, trial, repr(float(at) + 0.0), worker, payload)  # a database may store -0.0 as 0.0


def json_text(document: dict[str, Any]) -> str:
    """Return plain data as it is stored and as checksums are made of it; NaN and infinities raise `ValueError`."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
