"""`recommend` and `policy`: the best decision, and the best for each context that is known before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from allweather._utils.formatting import brief, clean, parsed_number
from allweather.cli.app import app, console, print_line
from allweather.cli.files import read_file
from allweather.cli.objective_options import (
    DistanceOption,
    LevelOption,
    ObjectiveOption,
    RadiusOption,
    read_objective,
)
from allweather.cli.options import Known, SharedOptions, assigned, with_study_options
from allweather.errors import InvalidInput, require
from allweather.space.text import value
from allweather.space.variables import Variable
from allweather.trials import Row, read_csv
from allweather.trials.tables import DecimalMarks

if TYPE_CHECKING:
    from allweather.engine.policy import Policy
    from allweather.engine.recommendation import Recommendation

MAX_CONTEXTS = 200
"""Contexts of one policy: each takes the time of a recommendation."""


@app.command()
@with_study_options
def recommend(
    shared: SharedOptions,
    context: Known = None,
    objective: ObjectiveOption = None,
    distance: DistanceOption = None,
    radius: RadiusOption = None,
    level: LevelOption = None,
    tolerance: Annotated[
        float | None,
        typer.Option(metavar="X", help="also print how far each variable may be changed to lose at most X"),
    ] = None,
) -> None:
    """Print the decision with the best objective under the current model.

    The study's own objective, unless another one is given: by name (expectation, worst-case, ...), by the radius of a
    worst shift of the contexts, by the level of a tail, or as a table with all settings, as in a spec:
    --objective "{ name = 'mean-variance', penalty = 0.5 }".

    Example: allweather recommend --radius 0.2
    """
    study = shared.study()
    chosen = read_objective(study.spec.fields, objective, distance, radius, level)
    known = assigned(context, study.space.variables, "--context")
    best = study.recommend(objective=chosen, context=known, tolerance=tolerance)
    shared.print(best.to_dict(), lambda: _print_recommendation(best))


@app.command()
@with_study_options
def policy(
    shared: SharedOptions,
    variable: Annotated[
        str | None, typer.Argument(help="a context variable, spread over its range; default: the only one")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--contexts", metavar="FILE", help="a CSV file with the contexts, one per row")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="also draw it: ends in .png, .pdf, .svg or .html")
    ] = None,
    objective: ObjectiveOption = None,
    distance: DistanceOption = None,
    radius: RadiusOption = None,
    level: LevelOption = None,
) -> None:
    """Print the best decision for each of several contexts that are known before the decision.

    Context variables that are not in the file follow their estimated distribution.

    Example: allweather policy lot
    """
    study = shared.study()
    require(variable is None or file is None, "policy", "have a variable or --contexts, not both", variable)
    variables = study.space.variables if study.spec.controlled else study.space.contexts
    names = list(variables)
    named = variable in names or (variable is None and (file is not None or len(names) == 1))
    require(named, "policy VARIABLE", f"be a context: {', '.join(names) or 'there is none'}", variable or "none")
    chosen = read_objective(study.spec.fields, objective, distance, radius, level)
    contexts = variable if file is None else _rows(file, variables)
    found = study.policy(contexts, objective=chosen)
    if plot is not None:
        from allweather import plots

        plots.policy(study, contexts, chosen).save(plot)
    shared.print(found.to_dict(), lambda: _print_policy(found, plot))


def _print_recommendation(best: Recommendation) -> None:
    print_line(str(best))
    if best.cost is not None:
        print_line(f"Control {', '.join(best.control)} at a cost of {brief(best.cost)}; do not control the others.")


def _rows(file: Path, variables: Mapping[str, Variable]) -> list[Row]:
    """Return the contexts of a CSV file; columns that name no context are refused."""
    lines = read_csv(read_file(file, 1_000_000))
    require(0 < len(lines) <= MAX_CONTEXTS, str(file), f"have 1 to {MAX_CONTEXTS} rows", len(lines))
    rows: list[Row] = []
    marks = DecimalMarks()
    for line in lines:
        strange = [name for name in line.cells if name not in variables]
        require(not strange, f"{file.name}: header", f"name contexts ({', '.join(variables)})", ", ".join(strange))
        try:
            cells = {name: _pointed(text, line.decimal_comma) for name, text in line.cells.items()}
            for name, text in line.cells.items():
                if parsed_number(cells[name]) is not None:
                    marks.note(text, name, line)
            rows.append({name: value(text, variables[name], name) for name, text in cells.items()})
        except InvalidInput as error:
            raise error.within(f"{file.name}: {line.where}") from None
    marks.check(str(file))
    return rows


def _pointed(text: str, decimal_comma: bool) -> str:
    """Return a number with a decimal point, where it has a comma."""
    return text.replace(",", ".") if decimal_comma and parsed_number(text.replace(",", ".")) is not None else text


def _print_policy(found: Policy, plot: Path | None) -> None:
    names = {"value": "objective", "low": "90% from", "high": "to"}
    units = {name: f"{name} ({unit})" for name, unit in found.units.items()}
    table = Table(*(escape(clean({**names, **units}.get(str(name), str(name)))) for name in found.table))
    for row in found.table.to_dict("records"):
        table.add_row(*(Text(f"{cell:.4g}" if isinstance(cell, float) else clean(str(cell))) for cell in row.values()))
    console.print(table)
    if plot is not None:
        print_line(f"Figure written to {plot}")
