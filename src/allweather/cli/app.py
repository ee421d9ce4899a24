"""The typer application: command order, error messages and exit codes."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from allweather._utils.formatting import clean
from allweather.errors import AllweatherError, BudgetSpent, InvalidInput
from allweather.storage import Conflict, StorageError

UNEXPECTED, INVALID, STORAGE, BUDGET, FAILED = 1, 2, 3, 4, 5
"""Exit codes; 0 is success."""
MAX_MESSAGE = 600
"""Characters of an error message."""
HELP = """Bayesian optimization under uncertain contexts.

Example: allweather init kiosk.toml; allweather ask; allweather tell 0 42.5 --context demand=31; allweather recommend

Exit codes: 0 success, 1 unexpected error, 2 invalid input, 3 storage error, 4 budget spent, 5 all trials failed.
"""
ORDER = (
    *("demo", "init", "ask", "tell", "correct", "add", "observe", "change", "recommend", "policy", "check", "show"),
    *("dashboard", "plot", "report", "run"),
    *("export", "import", "backup", "restore", "verify"),
    *("methods", "problems", "bench", "figures", "reproduce"),
)
EXPECTED: tuple[type[BaseException], ...] = (
    *(typer.Exit, typer.Abort),
    *(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"),
)
"""Raised by typer, which prints what they say."""
console, error_console = Console(), Console(stderr=True)


class ErrorHandlingGroup(TyperGroup):
    """A group of commands that prints expected errors on standard error, without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of typical use; those without a place come last."""
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; every error becomes a message and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except AllweatherError as error:
            for line in error.lines if isinstance(error, InvalidInput) else [str(error)]:
                print_error(line)
            raise typer.Exit(exit_code(error)) from None
        except EXPECTED:
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has enough
                raise
            print_error(f"{error.filename or 'output'}: {error.strerror or error}")
            _discard_output()
            raise typer.Exit(STORAGE if error.errno in (errno.ENOSPC, errno.EIO) else INVALID) from None
        except Exception as error:
            print_error(f"unexpected error, which should not happen: {type(error).__name__}: {error}{_details()}")
            raise typer.Exit(UNEXPECTED) from None


def _details() -> str:
    """Write the traceback of the present error to a file, and say where it is."""
    try:
        handle, name = tempfile.mkstemp(prefix="allweather-error-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(traceback.format_exc())
    except OSError:
        return ""
    return f"; the details are in {Path(name)}"


def _discard_output() -> None:
    """Send what is left in the buffer of standard output nowhere, so that it cannot fail once more at the end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    indent = "  " if message.startswith("  ") else ""
    text = indent + " ".join(clean(message).split())
    text = text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + "..."
    error_console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


def print_line(text: str) -> None:
    """Print a line on standard output."""
    console.print(clean(text), markup=False, highlight=False, soft_wrap=True)


app = typer.Typer(cls=ErrorHandlingGroup, no_args_is_help=True, help=HELP, pretty_exceptions_show_locals=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_line(f"allweather {importlib.metadata.version('allweather')}")
        raise typer.Exit


@app.callback(help=HELP)
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version, and end")
    ] = False,
) -> None:
    """Options of the program itself."""
