"""Text of values for people to read, and numbers parsed from what people type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from allweather.errors import require

MAX_OUTCOMES_PER_TRIAL = 1000
"""Outcomes of one trial, at most."""
UNSAFE = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a spreadsheet formula."""
MAX_LENGTH = 200
"""Characters of a number or a name."""


def number(text: str, where: str) -> float:
    """Parse a finite number.

    Example:
        >>> number("-1.5e3", "VALUE")
        -1500.0
        >>> number("twelve", "VALUE")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `VALUE` must be a number such as 3.5, got 'twelve'
    """
    found = parsed_number(text)
    require(found is not None and math.isfinite(found), where, "be a number such as 3.5", text)
    assert found is not None
    return found


def parsed_number(text: str) -> float | None:
    """Return the number that a text is, the same wherever text is read; None where it is none.

    Example:
        >>> parsed_number(" 1e3 "), parsed_number("1_000")
        (1000.0, None)
    """
    try:
        return float(text) if len(text) <= MAX_LENGTH and text.isascii() and "_" not in text else None
    except ValueError:
        return None


def numbers(texts: Sequence[str] | None, where: str = "VALUE") -> list[float] | None:
    """Parse the outcomes of a trial, if there are any."""
    given = list(texts or [])
    require(
        len(given) <= MAX_OUTCOMES_PER_TRIAL,
        f"{where}...",
        f"be at most {MAX_OUTCOMES_PER_TRIAL} outcomes of one trial",
        f"{len(given)} outcomes",
    )
    return [number(text, where) for text in given] or None


def clean(text: str) -> str:
    r"""Escape control characters that a terminal would interpret.

    Example:
        >>> clean("a\x1b[2Jb")
        'a\\x1b[2Jb'
    """
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def brief(value: Any) -> str:
    """Format a value with six digits.

    Example:
        >>> brief(0.123456789), brief("oak"), brief(None)
        ('0.123457', 'oak', '')
    """
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else clean(str(value))


def row(values: Mapping[str, Any] | None, units: Mapping[str, str] | None = None) -> str:
    """Format named values on one line, with their units where they have one.

    Example:
        >>> row({"dose": 2.5, "wood": "oak"}, {"dose": "mg"})
        'dose = 2.5 mg, wood = oak'
    """
    after = {name: f" {clean(unit)}" for name, unit in (units or {}).items()}
    return ", ".join(f"{clean(name)} = {brief(each)}{after.get(name, '')}" for name, each in (values or {}).items())


def plain(value: Any) -> Any:
    """Convert a value to plain JSON types; NaN and infinity become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def tame(cell: Any) -> Any:
    """Escape a cell that a spreadsheet would take for a formula, and one that looks escaped.

    Example:
        >>> tame("=1+1"), tame("oak"), tame(-3.0), tame("'=1+1")
        ("'=1+1", 'oak', -3.0, "''=1+1")
    """
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip("'").startswith(UNSAFE) else cell


def untamed(cell: str) -> str:
    """Return the text that `tame` escaped; other text as it is.

    Example:
        >>> untamed("'=1+1"), untamed("'oak'")
        ('=1+1', "'oak'")
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(UNSAFE) else cell
