"""The command line: methods, problems, and the papers' figures by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from allweather.benchmark import reproduce as run_figure
from allweather.benchmark.catalogue import CATALOGUE
from allweather.errors import AllweatherError
from allweather.methods import methods as known_methods
from allweather.problems import problems as known_problems

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Decisions that must hold in all weather.")
console, trouble = Console(), Console(stderr=True)


@app.command()
def methods() -> None:
    """List the published methods by name.

    Example: allweather methods
    """
    table = Table("method", "what it is")
    for name, what in known_methods().items():
        table.add_row(name, what)
    console.print(table)


@app.command()
def problems() -> None:
    """List the papers' test problems by name.

    Example: allweather problems
    """
    for name in known_problems():
        console.print(name)


@app.command()
def figures() -> None:
    """List the figures and tables that can be reproduced, with what the papers claim.

    Example: allweather figures
    """
    table = Table("name", "from", "claim")
    for name, known in CATALOGUE.items():
        table.add_row(name, known.source, known.claim)
    console.print(table)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="a figure or table, see `allweather figures`")],
    seeds: Annotated[int | None, typer.Option(help="how many; the paper's number if not given")] = None,
    iterations: Annotated[int | None, typer.Option(help="steps or plays of a run; the paper's if not given")] = None,
    problem: Annotated[list[str] | None, typer.Option(help="only this problem (may be repeated)")] = None,
    method: Annotated[list[str] | None, typer.Option(help="only this method (may be repeated)")] = None,
    quick: Annotated[bool, typer.Option(help="in miniature: one problem, one seed, three iterations")] = False,
    workers: Annotated[int, typer.Option(help="processes")] = 1,
    output: Annotated[Path, typer.Option(help="folder for journals, tables and figures")] = Path("reproductions"),
) -> None:
    """Reproduce a figure or table of the papers; a run that was stopped goes on where it was.

    Example: allweather reproduce kde-fig1 --problem ackley --seeds 5 --iterations 60 --workers 2
    """
    try:
        found = run_figure(name, seeds, iterations, quick, problem, method, workers, None if quick else output)
    except AllweatherError as mistake:
        trouble.print(f"[red]{mistake}[/]", markup=True, highlight=False)
        raise typer.Exit(2) from None
    console.print(f"[bold]{found.name}[/] ({found.source})\nThe paper: {found.claim}")
    if found.verdict:
        console.print(f"Here: {found.verdict}.")
    table = Table()
    for column in found.table.columns:
        table.add_column(str(column).replace("_", " "), overflow="fold")
    for row in found.table.itertuples(index=False):
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(table)
    if found.figure is not None:
        console.print(f"The figure is {found.figure}, the results are beside it.")


if __name__ == "__main__":
    app()
