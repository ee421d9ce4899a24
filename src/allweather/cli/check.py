"""`check`: how well the model of a study predicts outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from allweather._utils.formatting import clean
from allweather.cli.app import app, console, print_line
from allweather.cli.options import SharedOptions, with_study_options
from allweather.cli.tell import print_suspicious

if TYPE_CHECKING:
    from allweather.engine import Check


@app.command()
@with_study_options
def check(
    shared: SharedOptions,
    outcome: Annotated[
        str | None, typer.Option(metavar="NAME", help="one of several outcomes; by default the first to improve")
    ] = None,
) -> None:
    """Check the model and the data: how well outcomes are predicted, which look wrong, how important variables are.

    Importance is the share of the model's variation that is lost without a variable; shares may sum to more than 100%.

    Example: allweather check
    """
    found = shared.study().check(outcome)
    shared.print(found.to_dict(), lambda: _print_check(found, shared.again))


def _print_check(found: Check, options: str) -> None:
    print_line(found.verdict)
    print_suspicious(found.suspicious, options)
    if not found.importance:
        return
    table = Table("variable", "importance")
    for name, share in found.ranked:
        table.add_row(Text(clean(name)), f"{share:.0%}")
    console.print(table)
