"""`methods`, `problems`, `figures`, `reproduce` and `bench`: the published methods, problems and results.

Problems and campaigns are imported by the commands that use them, since they need torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from allweather.cli.app import app, console, error_console
from allweather.cli.options import Output, with_json_option
from allweather.errors import require
from allweather.methods import method as checked_method
from allweather.methods import methods as known_methods

if TYPE_CHECKING:
    import pandas as pd

    from allweather.benchmark import Reproduction


@app.command()
@with_json_option
def methods() -> Output:
    """List the published methods by name.

    Example: allweather methods
    """
    table = Table("method", "description")
    for name, what in known_methods().items():
        table.add_row(name, what)
    return Output(known_methods(), lambda: console.print(table))


@app.command()
@with_json_option
def problems() -> Output:
    """List the test problems of the papers by name.

    Example: allweather problems
    """
    from allweather.problems import problems as known_problems

    return Output(known_problems(), lambda: console.print("\n".join(known_problems())))


@app.command()
@with_json_option
def figures() -> Output:
    """List the figures and tables that can be reproduced, with the claim of the paper.

    Example: allweather figures
    """
    from allweather.benchmark.papers import CATALOGUE

    table = Table("name", "source", "claim")
    for name, known in CATALOGUE.items():
        table.add_row(name, known.source, known.claim)
    document = {name: {"source": known.source, "claim": known.claim} for name, known in CATALOGUE.items()}
    return Output(document, lambda: console.print(table))


@app.command()
@with_json_option
def reproduce(
    name: Annotated[str, typer.Argument(help="name of a figure or table, see `allweather figures`")],
    seeds: Annotated[int | None, typer.Option(help="number of seeds; default: as in the paper")] = None,
    iterations: Annotated[int | None, typer.Option(help="steps of a run; default: as in the paper")] = None,
    problem: Annotated[list[str] | None, typer.Option(help="only this problem (repeatable)")] = None,
    method: Annotated[list[str] | None, typer.Option(help="only this method (repeatable)")] = None,
    quick: Annotated[bool, typer.Option(help="one problem, one seed, three iterations")] = False,
    workers: Annotated[int, typer.Option(min=1, max=256, help="number of processes")] = 1,
    output: Annotated[Path, typer.Option(help="folder for journals, tables and figures")] = Path("reproductions"),
) -> Output:
    """Reproduce a figure or table of the papers; a run that was stopped is resumed.

    Example: allweather reproduce kde-fig1 --problem ackley --seeds 5 --iterations 60 --workers 2
    """
    from allweather.benchmark import reproduce as run_figure

    found = run_figure(name, seeds, iterations, quick, problem, method, workers, output / "quick" if quick else output)
    figure = None if found.figure is None else str(found.figure)
    document: dict[str, object] = {"source": found.source, "claim": found.claim, "verdict": found.verdict}
    document |= {"figure": figure, "guesses": list(found.guesses), "left_out": dict(found.left_out)}
    tables = {"table": found.table.to_dict("records"), "findings": found.findings.to_dict("records")}
    return Output({**document, **tables}, lambda: _reproduced(found))


@app.command()
@with_json_option
def bench(
    problem: Annotated[str, typer.Option(help="see `allweather problems`")],
    method: Annotated[list[str], typer.Option(help="see `allweather methods` (repeatable)")],
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="runs per method")] = 3,
    iterations: Annotated[int, typer.Option(min=1, max=100_000, help="steps after the initial trials")] = 20,
    workers: Annotated[int, typer.Option(min=1, max=256, help="number of processes")] = 1,
) -> Output:
    """Compare methods on a problem by their cumulative regret.

    Example: allweather bench --problem newsvendor --method drbo-kde --method erbo --seeds 3 --iterations 20
    """
    from allweather.benchmark import Campaign, summary, summary_by_cost
    from allweather.problems import SubsetProblem
    from allweather.problems import problem as checked_problem

    chosen = checked_problem(problem)
    for each in method:
        needed, given = checked_method(each).rule is not None, isinstance(chosen, SubsetProblem)
        requirement = f"require control sets, as {problem} has them" if given else "not require control sets"
        require(needed == given, "--method", requirement, each)
    campaign = Campaign([problem], method, range(seeds), iterations)
    results = campaign.execute(workers, progress=error_console.is_terminal)
    table = summary_by_cost(results) if isinstance(chosen, SubsetProblem) else summary(results)
    return Output(table.to_dict("records"), lambda: _tabulate(table))


def _reproduced(found: Reproduction) -> None:
    console.print(f"[bold]{found.name}[/] ({found.source})\nClaim: {found.claim}")
    for guess in found.guesses:
        console.print(f"Not in the paper, chosen here: {guess}.", soft_wrap=True)
    for label, reason in found.left_out.items():
        console.print(f"Left out: {label}: {reason}.", soft_wrap=True)
    for sentence in found.sentences:
        console.print(f"Result: {sentence}.", soft_wrap=True)
    _tabulate(found.table)
    if found.figure is not None:
        console.print(f"Figure written to {found.figure}; the results are in the same folder.")


def _tabulate(found: pd.DataFrame) -> None:
    """Print a table where it fits the width, else the cells of each row below its names."""
    columns = [str(column).replace("_", " ") for column in found.columns]
    rows = [
        [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in found.itertuples(index=False)
    ]
    widths = [max(map(len, each)) for each in zip(columns, *rows, strict=True)]
    if sum(widths) + 3 * len(widths) + 1 <= console.width:
        table = Table(*columns)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
        return
    texts = [each for each in found.columns if found[each].dtype.kind not in "iuf"]
    for place, row in enumerate(rows):
        cells = dict(zip(found.columns, row, strict=True))
        name = ", ".join(cells[each] for each in texts) or f"row {place + 1}"
        numbers = ", ".join(
            f"{column} {cells[each]}" for column, each in zip(columns, found.columns, strict=True) if each not in texts
        )
        console.print(Text(name, style="bold"))
        console.print(Padding(Text(numbers), (0, 0, 0, 2)))
