"""`methods`, `problems`, `figures`, `reproduce` and `bench`: the papers from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.table import Table

from allweather.benchmark import Campaign, Reproduction, summary, summary_by_cost
from allweather.benchmark import reproduce as run_figure
from allweather.benchmark.catalogue import CATALOGUE
from allweather.cli.app import app, console, trouble
from allweather.cli.place import Said, scripted
from allweather.errors import require
from allweather.methods import method as checked_method
from allweather.methods import methods as known_methods
from allweather.problems import SubsetProblem
from allweather.problems import problem as checked_problem
from allweather.problems import problems as known_problems


@app.command()
@scripted
def methods() -> Said:
    """List the published methods by name.

    Example: allweather methods
    """
    table = Table("method", "what it is")
    for name, what in known_methods().items():
        table.add_row(name, what)
    return Said(known_methods(), lambda: console.print(table))


@app.command()
@scripted
def problems() -> Said:
    """List the papers' test problems by name.

    Example: allweather problems
    """
    return Said(known_problems(), lambda: console.print("\n".join(known_problems())))


@app.command()
@scripted
def figures() -> Said:
    """List the figures and tables that can be reproduced, with what the papers claim.

    Example: allweather figures
    """
    table = Table("name", "from", "claim")
    for name, known in CATALOGUE.items():
        table.add_row(name, known.source, known.claim)
    document = {name: {"source": known.source, "claim": known.claim} for name, known in CATALOGUE.items()}
    return Said(document, lambda: console.print(table))


@app.command()
@scripted
def reproduce(
    name: Annotated[str, typer.Argument(help="a figure or table, see `allweather figures`")],
    seeds: Annotated[int | None, typer.Option(help="how many; the paper's number if not given")] = None,
    iterations: Annotated[int | None, typer.Option(help="steps or plays of a run; the paper's if not given")] = None,
    problem: Annotated[list[str] | None, typer.Option(help="only this problem (may be repeated)")] = None,
    method: Annotated[list[str] | None, typer.Option(help="only this method (may be repeated)")] = None,
    quick: Annotated[bool, typer.Option(help="in miniature: one problem, one seed, three iterations")] = False,
    workers: Annotated[int, typer.Option(help="processes")] = 1,
    output: Annotated[Path, typer.Option(help="folder for journals, tables and figures")] = Path("reproductions"),
) -> Said:
    """Reproduce a figure or table of the papers; a run that was stopped goes on where it was.

    Example: allweather reproduce kde-fig1 --problem ackley --seeds 5 --iterations 60 --workers 2
    """
    found = run_figure(name, seeds, iterations, quick, problem, method, workers, None if quick else output)
    figure = None if found.figure is None else str(found.figure)
    document = {"source": found.source, "claim": found.claim, "verdict": found.verdict, "figure": figure}
    return Said({**document, "table": found.table.to_dict("records")}, lambda: _reproduced(found))


@app.command()
@scripted
def bench(
    problem: Annotated[str, typer.Option(help="see `allweather problems`")],
    method: Annotated[list[str], typer.Option(help="see `allweather methods` (may be repeated)")],
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="runs of each method")] = 3,
    iterations: Annotated[int, typer.Option(min=1, max=100_000, help="steps after the initial trials")] = 20,
    workers: Annotated[int, typer.Option(min=1, max=256, help="processes")] = 1,
) -> Said:
    """Compare methods on a problem by the regret they add up.

    Example: allweather bench --problem newsvendor --method drbo-kde --method erbo --seeds 3 --iterations 20
    """
    chosen = checked_problem(problem)
    for each in method:
        rule = checked_method(each).rule is not None
        fits = rule == isinstance(chosen, SubsetProblem)
        require(fits, "--method", f"be {'' if rule else 'no '}such that {problem} has control sets", each)
    campaign = Campaign([problem], method, range(seeds), iterations)
    results = campaign.execute(workers, progress=trouble.is_terminal)
    table = summary_by_cost(results) if isinstance(chosen, SubsetProblem) else summary(results)
    return Said(table.to_dict("records"), lambda: _tabulate(table))


def _reproduced(found: Reproduction) -> None:
    console.print(f"[bold]{found.name}[/] ({found.source})\nThe paper: {found.claim}")
    if found.verdict:
        console.print(f"Here: {found.verdict}.")
    _tabulate(found.table)
    if found.figure is not None:
        console.print(f"The figure is {found.figure}, the results are beside it.")


def _tabulate(found: pd.DataFrame) -> None:
    table = Table()
    for column in found.columns:
        table.add_column(str(column).replace("_", " "), overflow="fold")
    for row in found.itertuples(index=False):
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(table)
