"""The typer application: command order, error messages and exit codes."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from allweather._utils.formatting import clean
from allweather.errors import AllweatherError, BudgetSpent
from allweather.storage import Conflict, StorageError

INVALID, STORAGE, BUDGET = 2, 3, 4
"""Exit codes; 0 is success, 1 an unexpected error."""
MAX_MESSAGE = 600
"""Characters of an error message."""
HELP = """Bayesian optimization under uncertain contexts.

Example: allweather init kiosk.toml; allweather ask; allweather tell 0 42.5 --context demand=31; allweather recommend

Exit codes: 0 success, 1 unexpected error, 2 invalid input, 3 storage error, 4 budget spent.
"""
ORDER = (
    *("init", "ask", "tell", "correct", "add", "recommend", "check", "show", "dashboard", "plot", "report", "run"),
    *("export", "import"),
    *("methods", "problems", "bench", "figures", "reproduce"),
)
console, error_console = Console(), Console(stderr=True)


class ErrorHandlingGroup(TyperGroup):
    """A group of commands that prints expected errors on standard error, without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of typical use."""
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an `AllweatherError` becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except AllweatherError as error:
            print_error(str(error))
            raise typer.Exit(exit_code(error)) from None


def exit_code(error: AllweatherError) -> int:
    """Return the exit code of a command that ended with `error`.

    Example:
        >>> exit_code(StorageError("the disk is full"))
        3
    """
    if isinstance(error, StorageError | Conflict):
        return STORAGE
    return BUDGET if isinstance(error, BudgetSpent) else INVALID


def print_error(message: str) -> None:
    """Print a message on standard error, on one line and cut to `MAX_MESSAGE` characters."""
    text = " ".join(clean(message).split())
    text = text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + "..."
    error_console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def print_line(text: str) -> None:
    """Print a line on standard output."""
    console.print(clean(text), markup=False, highlight=False, soft_wrap=True)


app = typer.Typer(cls=ErrorHandlingGroup, no_args_is_help=True, help=HELP, pretty_exceptions_show_locals=False)
