"""The questions that make a recipe."""

from __future__ import annotations

from typing import Any

import typer

from allweather._utils.formatting import number
from allweather.errors import AllweatherError

WANTED: dict[str, Any] = {
    "mean": "expectation",
    "shift": None,  # the study's own default
    "tail": {"name": "cvar", "level": 0.2},
    "worst": "worst-case",
}
"""What people want of a decision, in a word, and the objective it is called."""


def asked_for() -> dict[str, Any]:
    """The fields of a recipe, asked for one by one."""
    name = _told("Name of the study (letters, digits, _)", _word)
    better = _one_of("Which outcomes are better", ["larger", "smaller"])
    fields: dict[str, Any] = {"name": name, "direction": "maximize" if better == "larger" else "minimize", "seed": 0}
    variables: dict[str, Any] = {}
    while True:
        said = "First variable" if not variables else "Next variable (empty when there are no more)"
        each = _told(said, lambda text: _word(text) if text or not variables else "")
        if not each:
            break
        variables[each] = _variable()
    if any(table.get("context") for table in variables.values()):
        typer.echo("Wanted: a good mean, a good mean even if contexts shift, few bad outcomes, or no bad outcome?")
        wanted = WANTED[_one_of("Wanted", list(WANTED), "shift")]
        fields |= {} if wanted is None else {"objective": wanted}
    return {**fields, "variables": variables}


def _variable() -> dict[str, Any]:
    happens = _one_of("  Is it decided, or does it happen", ["decided", "happens"]) == "happens"
    kind = _one_of("  What is it", ["real", "integer", "choice"])
    table: dict[str, Any] = {"type": kind}
    if kind == "choice":
        table["options"] = _told("  Options, separated by commas", _options)
    else:
        table["lower"] = _told("  From", lambda text: _number(text, kind))
        table["upper"] = _told("  To", lambda text: _number(text, kind))
    return {**table, "context": True} if happens else table


def _told(question: str, read: Any) -> Any:
    """An answer that can be read; the question is asked again until there is one."""
    while True:
        answer = typer.prompt(question, default="", show_default=False)
        try:
            return read(answer.strip())
        except (AllweatherError, ValueError) as mistake:
            typer.echo(f"  {mistake}")


def _one_of(question: str, options: list[str], default: str | None = None) -> str:
    def read(text: str) -> str:
        found = [option for option in options if text and option.startswith(text)]
        if not text:
            return default or options[0]
        if len(found) != 1:
            raise ValueError(f"one of {', '.join(options)}, please")
        return found[0]

    return str(_told(f"{question}? {'/'.join(options)} [{default or options[0]}]", read))


def _word(text: str) -> str:
    if not text.isidentifier():
        raise ValueError("letters, digits and _, a letter first, please")
    return text


def _number(text: str, kind: str) -> float:
    found = number(text, "the answer")
    if kind == "integer" and not found.is_integer():
        raise ValueError("a whole number, please")
    return int(found) if found.is_integer() else found


def _options(text: str) -> list[str]:
    found = [each.strip() for each in text.split(",") if each.strip()]
    if len(found) < 2:
        raise ValueError("two options at least, please")
    return found
