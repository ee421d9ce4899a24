"""Outcomes on the command line: numbers, or NAME=VALUE where a study has several outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from allweather._utils.formatting import numbers
from allweather.errors import require

FailedOutcomes = Annotated[
    list[str] | None,
    typer.Option("--failed-outcome", metavar="NAME", help="one of several outcomes failed alone (repeatable)"),
]


def read_values(given: list[str] | None, outcomes: Sequence[str], where: str = "VALUE") -> Any:
    """Return the outcomes that were given: a list of numbers, or lists by name where there are several outcomes.

    Args:
        given: arguments such as `42.5`, or `yield=93.1`.
        outcomes: the names of several outcomes; empty where there is one.
        where: what errors call them.

    Example:
        >>> read_values(["42.5", "41"], [])
        [42.5, 41.0]
        >>> read_values(["yield=93.1", "purity=0.97"], ["yield", "purity"])
        {'yield': [93.1], 'purity': [0.97]}
    """
    if not outcomes:
        return numbers(given, where)
    found: dict[str, list[float]] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        named = bool(equals) and name in outcomes
        require(named, where, f"be NAME=VALUE with a name among {', '.join(outcomes)}", text)
        found.setdefault(name, []).extend(numbers([value], where) or [])
    return found or None


def read_errors(given: list[str] | None, outcomes: Sequence[str]) -> Any:
    """Return the standard errors, one for all repeated values or one each; by name where there are several outcomes.

    Args:
        given: arguments such as `0.1`, or `yield=0.1`.
        outcomes: the names of several outcomes; empty where there is one.
    """
    found = read_values(given, outcomes, "--sd")
    if isinstance(found, dict):
        return {name: each[0] if len(each) == 1 else each for name, each in found.items()}
    return found[0] if found is not None and len(found) == 1 else found
