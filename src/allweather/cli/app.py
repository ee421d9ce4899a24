"""The application: one place where errors become words and exit codes."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from allweather._utils.formatting import clean
from allweather.errors import AllweatherError, BudgetSpent
from allweather.storage import Conflict, StorageError

INVALID, STORAGE, BUDGET = 2, 3, 4
"""Exit codes; 0 is fine, 1 is unexpected."""
LONGEST = 600
"""Characters of an error message."""
HELP = """Decisions that must hold in all weather.

Example: allweather init kiosk.toml; allweather ask; allweather tell 0 42.5 --context demand=31; allweather recommend

Exit codes: 0 done, 1 unexpected, 2 a mistake in what was given, 3 the storage, 4 the budget is spent.
"""
ORDER = (
    *("init", "ask", "tell", "correct", "add", "recommend", "show", "dashboard", "plot", "report", "run"),
    *("export", "import"),
    *("methods", "problems", "bench", "figures", "reproduce"),
)
console, trouble = Console(), Console(stderr=True)


class Careful(TyperGroup):
    """Commands whose expected errors are told on standard error in a line or two."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which a person needs them."""
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        """The command; no traceback for a user's mistake."""
        try:
            return super().invoke(ctx)
        except AllweatherError as mistake:
            complain(str(mistake))
            raise typer.Exit(exit_code(mistake)) from None


def exit_code(mistake: AllweatherError) -> int:
    """What the command ends with.

    Example:
        >>> exit_code(StorageError("the disk is full"))
        3
    """
    if isinstance(mistake, StorageError | Conflict):
        return STORAGE
    return BUDGET if isinstance(mistake, BudgetSpent) else INVALID


def complain(message: str) -> None:
    """A message on standard error, on one line and not too long."""
    text = " ".join(clean(message).split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    trouble.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def speak(text: str) -> None:
    """A line on standard output."""
    console.print(clean(text), markup=False, highlight=False, soft_wrap=True)


app = typer.Typer(
    cls=Careful, no_args_is_help=True, add_completion=False, help=HELP, pretty_exceptions_show_locals=False
)
