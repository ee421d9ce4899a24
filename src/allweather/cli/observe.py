"""`observe`: contexts that occurred without a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allweather.cli.app import app, print_line
from allweather.cli.ask_tell import MAX_TABLE, headers_of
from allweather.cli.files import read_file
from allweather.cli.options import SharedOptions, with_study_options
from allweather.errors import InvalidInput, require
from allweather.trials import read_csv


@app.command()
@with_study_options
def observe(
    shared: SharedOptions,
    file: Annotated[Path, typer.Argument(help="a CSV file with a column per context variable")],
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=HEADER]", help="read this column, under the given header (repeatable)"),
    ] = None,
) -> None:
    """Report contexts that occurred without a trial, from which their distribution is learned: all rows, or none.

    In studies of a simulator it is learned from these alone. Example: allweather observe loads.csv --column load=kN
    """
    log = shared.log()
    try:
        lines = read_csv(read_file(file, MAX_TABLE))
        require(len(lines) > 0, f"observe {file}", "have rows below its header", "no rows")
        observed = log.observe_contexts(lines, columns=headers_of(column))
    except InvalidInput as error:
        raise error.within(file.name) from None
    shared.print({"observed": observed}, lambda: print_line(f"{observed} contexts observed"))
