"""`recommend` and `policy`: the best decision, and the best for each context that is known before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from allweather._utils.formatting import brief, clean
from allweather.cli.app import app, console, print_line
from allweather.cli.files import read_lines
from allweather.cli.objective_options import (
    DistanceOption,
    LevelOption,
    ObjectiveOption,
    RadiusOption,
    read_objective,
)
from allweather.cli.options import Known, SharedOptions, assigned, with_study_options
from allweather.errors import InvalidInput, require
from allweather.space import Box
from allweather.space.variables import Variable
from allweather.trials import Row
from allweather.trials.rows import OBSERVED, find_columns, read_contexts
from allweather.trials.suspicious import Suspicion
from allweather.trials.text import in_terminal

if TYPE_CHECKING:
    from allweather.engine.policy import Policy
    from allweather.engine.recommendation import Recommendation

MAX_CONTEXTS = 200
"""Contexts of one policy: each takes the time of a recommendation."""
MAX_CONTEXT_CHARACTERS = 1_000_000


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
    suspicious = study.suspicious()
    shared.print(best.to_dict(), lambda: _print_recommendation(best, suspicious, shared.again))


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


def _print_recommendation(best: Recommendation, suspicious: Sequence[Suspicion], options: str) -> None:
    print_line(str(best))
    for each in suspicious:
        print_line(f"trial {each.trial}: {in_terminal(each, options)}")
    if best.cost is not None:
        print_line(f"Control {', '.join(best.control)} at a cost of {brief(best.cost)}; do not control the others.")


def _rows(file: Path, variables: Mapping[str, Variable]) -> list[Row]:
    """Return the contexts of a table; columns that name no context are refused."""
    lines = read_lines(file, MAX_CONTEXT_CHARACTERS)
    require(len(lines) <= MAX_CONTEXTS, str(file), f"have 1 to {MAX_CONTEXTS} rows", len(lines))
    found = find_columns(list(variables), list(lines[0].cells))
    strange = [header for header in lines[0].cells if header not in found.values()]
    require(not strange, f"{file.name}: header", f"name contexts ({', '.join(variables)})", ", ".join(strange))
    named = tuple((name, variable) for name, variable in variables.items() if found[name] is not None)
    try:
        return [dict(row) for row in read_contexts(lines, Box("context", named))]
    except InvalidInput as error:
        raise error.at(error.where.removeprefix(OBSERVED).strip()).within(file.name) from None


def _print_policy(found: Policy, plot: Path | None) -> None:
    names = {"value": "objective", "low": "90% from", "high": "to"}
    units = {name: f"{name} ({unit})" for name, unit in found.units.items()}
    table = Table(*(escape(clean({**names, **units}.get(str(name), str(name)))) for name in found.table))
    for row in found.table.to_dict("records"):
        table.add_row(*(Text(f"{cell:.4g}" if isinstance(cell, float) else clean(str(cell))) for cell in row.values()))
    console.print(table)
    if plot is not None:
        print_line(f"Figure written to {plot}")
