"""Interactive prompts for the fields of a study's spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import typer

from allweather._utils.formatting import number
from allweather.errors import AllweatherError
from allweather.serialization.drafts import OBJECTIVES
from allweather.space.proposal import split_unit
from allweather.space.space import MAX_NAME_CHARACTERS

EXPLANATION = (
    "Objective: mean (average outcome), shift (worst average if a tenth of the contexts changes), "
    "tail (average of the worst fifth), worst (worst case)."
)
T = TypeVar("T")


def prompt_spec() -> dict[str, Any]:
    """Prompt for the fields of a spec, one by one."""
    name = _prompt("Name of the study (letters, digits, _)", _identifier)
    better = _choose("Which outcomes are better", ["larger", "smaller"])
    fields: dict[str, Any] = {"name": name, "direction": "maximize" if better == "larger" else "minimize", "seed": 0}
    variables: dict[str, Any] = {}
    while True:
        question = "First variable" if not variables else "Next variable (empty to finish)"
        each, unit = _prompt(question, lambda text: _name_and_unit(text) if text or not variables else ("", ""))
        if not each:
            break
        variables[each] = _prompt_variable(unit)
    if any(table.get("context") for table in variables.values()):
        typer.echo(EXPLANATION)
        fields["objective"] = OBJECTIVES[_choose("Objective", list(OBJECTIVES))]
    return {**fields, "variables": variables}


def prompt_columns(headers: Sequence[str]) -> tuple[str, list[str]]:
    """Prompt for the outcome among the columns of a table, and for those that are not controlled.

    Args:
        headers: of the table.
    """
    typer.echo(f"Columns: {', '.join(headers)}")
    outcome = _prompt("Column of the outcome", lambda text: _header(text, headers))
    question = "Columns that you do not control, separated by commas (empty for none)"
    return outcome, _prompt(question, lambda text: [_header(each, headers) for each in text.split(",") if each.strip()])


def _prompt_variable(known_unit: str) -> dict[str, Any]:
    is_context = _choose("  Decision, or uncontrolled context", ["decision", "context"]) == "context"
    kind = _choose("  Type", ["real", "integer", "choice"])
    table: dict[str, Any] = {"type": kind}
    if kind == "choice":
        table["options"] = _prompt("  Options, separated by commas", _options)
    else:
        table["lower"] = _prompt("  Lower bound", lambda text: _number(text, kind))
        table["upper"] = _prompt("  Upper bound", lambda text: _number(text, kind))
        unit = known_unit or _prompt("  Unit (empty for none)", lambda text: text)
        table |= {"unit": unit} if unit else {}
    return {**table, "context": True} if is_context else table


def _prompt(question: str, parse: Callable[[str], T]) -> T:
    """Return the first answer that can be parsed; an invalid one is prompted for again."""
    while True:
        answer = typer.prompt(question, default="", show_default=False)
        try:
            return parse(answer.strip())
        except (AllweatherError, ValueError) as error:
            typer.echo(f"  {error}")


def _choose(question: str, options: list[str], default: str | None = None) -> str:
    def parse(text: str) -> str:
        found = [option for option in options if text and option.startswith(text)]
        if not text:
            return default or options[0]
        if len(found) != 1:
            raise ValueError(f"enter one of {', '.join(options)}")
        return found[0]

    return _prompt(f"{question}? {'/'.join(options)} [{default or options[0]}]", parse)


def _identifier(text: str) -> str:
    if not text.isidentifier():
        raise ValueError("use letters, digits and _, beginning with a letter")
    return text


def _name_and_unit(text: str) -> tuple[str, str]:
    """Read `Dose rate (mg/h)` as a name and its unit."""
    name, unit = split_unit(text)
    if not name or not name.isprintable() or len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f"enter up to {MAX_NAME_CHARACTERS} printable characters, such as Dose rate (mg/h)")
    return name, unit


def _header(text: str, headers: Sequence[str]) -> str:
    simple = split_unit(text)[0].casefold()
    alike = [header for header in headers if text.strip() == header] or [
        header for header in headers if split_unit(header)[0].casefold() == simple
    ]
    if len(alike) != 1:
        raise ValueError(f"enter one of {', '.join(headers)}")
    return alike[0]


def _number(text: str, kind: str) -> float:
    found = number(text, "the answer")
    if kind == "integer" and not found.is_integer():
        raise ValueError("enter a whole number")
    return int(found) if found.is_integer() else found


def _options(text: str) -> list[str]:
    found = [each.strip() for each in text.split(",") if each.strip()]
    if len(found) < 2:
        raise ValueError("enter at least two options")
    return found
