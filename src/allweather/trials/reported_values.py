"""Standard errors of outcomes, and occasions, as a user reports them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from allweather.errors import InvalidInput, is_number, require

TEXT = (str, bytes, bytearray, memoryview)
MAX_OUTCOME = 1e150
"""The largest outcome whose square is finite."""
MIN_REPEATS = 3
"""Repeated outcomes whose spread is a standard error."""
StandardErrors = float | Sequence[float | None] | str | None
"""One for all outcomes, one each (None where not known), or `"repeats"`."""


def outcomes(value: Any, where: str = "Study.tell(value=...)") -> tuple[float, ...]:
    """Return one outcome or several as floats; refuse what is not a finite number.

    Example:
        >>> outcomes(3), outcomes([1.0, 2.0])
        ((3.0,), (1.0, 2.0))
    """
    several = value.tolist() if hasattr(value, "tolist") else value
    listed = list(several) if isinstance(several, Sequence) and not isinstance(several, TEXT) else [several]
    require(len(listed) > 0, where, "be a number or several", value)
    for each in listed:
        require(is_number(each), where, "be a number", each)
        fits = -MAX_OUTCOME <= each <= MAX_OUTCOME
        require(fits, where, "be finite, below 1e150", each, "report a trial without outcome with `failed=True`")
    return tuple(float(each) for each in listed)


def reported_outcomes(value: Any, where: str) -> tuple[float, ...]:
    """Return one outcome or several; a pair, which may be a value and its standard error, is refused with a question.

    Example:
        >>> reported_outcomes([1.0, 0.1], "Study.tell(value=...)")
        (1.0, 0.1)
        >>> reported_outcomes((1.0, 0.1), "Study.tell(value=...)")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `Study.tell(value=...)` has two numbers: two outcomes, or a value and its
        standard error?, got (1.0, 0.1); for two outcomes give a list, [1.0, 0.1]; for a standard error, `sd=0.1`
    """
    if isinstance(value, tuple) and len(value) == 2:
        first, second = value
        problem = "has two numbers: two outcomes, or a value and its standard error?"
        remedy = f"for two outcomes give a list, [{first}, {second}]; for a standard error, `sd={second}`"
        raise InvalidInput(problem, where=where, received=value, remedy=remedy)
    return () if value is None else outcomes(value, where)


def standard_errors(sd: StandardErrors, values: tuple[float, ...], where: str) -> tuple[float | None, ...]:
    """Return the standard error of each outcome, None where it is not known; empty where none is.

    Args:
        sd: one for all outcomes, one each, or `"repeats"` for the standard deviation of the outcomes themselves.
        values: the outcomes.
        where: what errors call it.

    Example:
        >>> standard_errors(0.1, (1.0, 1.2), "sd"), standard_errors("repeats", (1.0, 1.2, 1.4), "sd")
        ((0.1, 0.1), (0.2, 0.2, 0.2))
    """
    if sd is None:
        return ()
    require(len(values) > 0, where, "be told with the outcome", sd)
    if isinstance(sd, str):
        fits = sd == "repeats" and len(values) >= MIN_REPEATS
        require(fits, where, f'be numbers, or "repeats" for {MIN_REPEATS} or more outcomes', sd)
        spread = round(statistics.stdev(values), 15)
        return (spread,) * len(values)
    listed: Any = sd.tolist() if hasattr(sd, "tolist") else sd
    errors = list(listed) if isinstance(listed, Sequence) else [listed] * len(values)
    require(len(errors) == len(values), where, f"be one number, or one for each of {len(values)} outcomes", sd)
    for each in errors:
        fits = each is None or (is_number(each) and 0 <= each <= MAX_OUTCOME)
        require(fits, where, "be a finite number, at least 0", each, "leave it out where it is not known")
    return () if all(each is None for each in errors) else tuple(None if e is None else float(e) for e in errors)


def occasion_name(occasion: Any, where: str) -> str | None:
    """Return the name of an occasion, such as a date, as text; None where there is none."""
    if occasion is None:
        return None
    text = str(occasion).strip()
    named = isinstance(occasion, str | int) or hasattr(occasion, "isoformat")
    fits = named and not isinstance(occasion, bool) and 0 < len(text) <= 200 and text.isprintable()
    require(fits, where, "be a name, a number or a date", occasion)
    return text
