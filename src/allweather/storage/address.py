"""Addresses of databases: parsed, shown without secrets, and the file behind one of SQLite."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import sqlalchemy as sa

from allweather.errors import InvalidInput

SECRET = ("pass", "secret", "token", "key", "pwd")
"""A query parameter whose name contains one of these is not shown."""


def parse_address(url: object) -> sa.URL:
    """Return the parsed address of a database; an error does not show what may be a password."""
    try:
        return sa.make_url(url)  # type: ignore[arg-type]
    except (sa.exc.ArgumentError, ValueError):
        raise malformed_address(url) from None  # what SQLAlchemy says may hold the password


def malformed_address(url: object) -> InvalidInput:
    """Return the error for an address that is none; only a scheme, or what can be a file's name, is shown."""
    text = str(url)
    scheme, separator, _ = text.partition("://")
    if re.fullmatch(r"[\w. /~-]{0,200}", text):
        shown = repr(text)
    elif separator and re.fullmatch(r"[A-Za-z][\w+.-]{0,40}", scheme):
        shown = f"{scheme}://..."
    else:
        shown = f"{len(text)} characters, not shown since they may hold a password"
    return InvalidInput(f"must be a database's address such as sqlite:///study.db, got {shown}", where="storage")


def shown_address(url: sa.URL) -> str:
    """Return an address for pages and messages, without passwords, also not those in its query.

    Example:
        >>> shown_address(sa.make_url("postgresql://ada:pw@db/studies?password=pw&connect_timeout=5"))
        'postgresql://ada:***@db/studies?connect_timeout=5&password=***'
    """
    hidden = {name: "***" for name in url.query if any(each in name.lower() for each in SECRET)}
    kept = {name: value for name, value in url.query.items() if name not in hidden}
    shown = url.set(query=kept).render_as_string(hide_password=True)
    marks = "&".join(f"{name}={mark}" for name, mark in sorted(hidden.items()))
    return shown if not marks else f"{shown}{'&' if kept else '?'}{marks}"


def sqlite_file(url: sa.URL) -> Path:
    """Return the file of a SQLite address."""
    name = url.database or ""
    if name.startswith("file:"):
        name = unquote(name.removeprefix("file:").partition("?")[0])
    return Path(name).absolute().resolve()
