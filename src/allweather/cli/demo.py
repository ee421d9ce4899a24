"""`demo`: forty days of a stall that learns what to order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from allweather.cli.app import app
from allweather.cli.options import JsonOption, SharedOptions

MAX_WIDTH = 110
"""Columns of text that reads well."""


@app.command()
def demo(
    days: Annotated[int, typer.Option(min=2, max=400, help="days that the stall learns from")] = 40,
    output: Annotated[Path, typer.Option(help="folder for the study, the figure and the report")] = Path("demo-output"),
    as_json: JsonOption = False,
) -> None:
    """Run a stall that must order before it knows the demand: progress, the recommended order, a figure and a report.

    A demo that was stopped resumes. Example: allweather demo
    """
    from allweather.cli.newsvendor import tell  # here, since it needs torch

    best = tell(Console(width=min(Console().width, MAX_WIDTH), quiet=as_json), output, days)
    if as_json:
        SharedOptions(None, None, as_json).print({**best.to_dict(), "folder": str(output)}, lambda: None)
