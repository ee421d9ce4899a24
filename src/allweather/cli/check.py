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
        str | None, typer.Option(metavar="NAME", help="one of several outcomes; by default each in turn")
    ] = None,
) -> None:
    """Check the model and the data: how well outcomes are predicted, which look wrong, how important variables are.

    Importance is the share of the model's variation that is lost without a variable; shares may sum to more than 100%.

    Example: allweather check
    """
    study = shared.study()
    if outcome is not None or not study.spec.outcome_names:
        found = study.check(outcome)
        shared.print(found.to_dict(), lambda: _print_check(found, shared.again))
        return
    each = {name: study.check(name) for name in study.spec.outcome_names}
    document = {"outcomes": {name: found.to_dict() for name, found in each.items()}}
    shared.print(document, lambda: _print_checks(each, shared.again))


def _print_checks(each: dict[str, Check], options: str) -> None:
    """Print the checks of several outcomes, and what looks wrong once."""
    for name, found in each.items():
        print_line(f"{name}: {found.verdict}")
        _print_importance(found)
    print_suspicious(next(iter(each.values())).suspicious, options)


def _print_check(found: Check, options: str) -> None:
    print_line(found.verdict)
    print_suspicious(found.suspicious, options)
    _print_importance(found)


def _print_importance(found: Check) -> None:
    if not found.importance:
        return
    table = Table("variable", "importance")
    for name, share in found.ranked:
        table.add_row(Text(clean(name)), f"{share:.0%}")
    console.print(table)
