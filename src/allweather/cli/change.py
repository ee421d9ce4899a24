"""`change`: other bounds, options, objective, costs or budget of an existing study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from allweather._utils.formatting import number
from allweather.cli import objective_options as of_objective
from allweather.cli.app import app, print_line
from allweather.cli.options import SharedOptions, with_study_options
from allweather.errors import require
from allweather.space.text import changes, split_assignment

if TYPE_CHECKING:
    from allweather.serialization.changes import Difference

Pairs = list[str] | None


def _repeatable(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{text} (repeatable)")


@app.command()
@with_study_options
def change(
    shared: SharedOptions,
    lower: Annotated[Pairs, _repeatable("NAME=X", "the new lower bound of a variable")] = None,
    upper: Annotated[Pairs, _repeatable("NAME=X", "the new upper bound of a variable")] = None,
    option: Annotated[Pairs, _repeatable("NAME=OPTION", "one more option of a choice")] = None,
    remove: Annotated[Pairs, _repeatable("NAME=OPTION", "an option not to try any more")] = None,
    unit: Annotated[Pairs, _repeatable("NAME=UNIT", "the unit of a variable")] = None,
    objective: of_objective.ObjectiveOption = None,
    distance: of_objective.DistanceOption = None,
    radius: of_objective.RadiusOption = None,
    level: of_objective.LevelOption = None,
    cost: Annotated[Pairs, _repeatable("NAMES=X", "the cost of a control set by its variables: ph,nh3=0.5")] = None,
    budget: Annotated[float | None, typer.Option(metavar="X", help="the budget of all trials together")] = None,
) -> None:
    """Change a study from now on: bounds, options, objective, radius, costs or budget.

    All trials stay and inform the model, also those outside narrower bounds.

    Example: allweather change --upper order=200 --option wood=elm
    """
    log = shared.log()
    pairs = {"lower": lower, "upper": upper, "unit": unit, "add": option, "remove": remove}
    entries = [
        (key, *split_assignment(pair, log.space.variables, "--option" if key == "add" else f"--{key}"))
        for key, given in pairs.items()
        for pair in given or []
    ]
    tables = changes(entries, log.space.variables)
    costs = {names: number(text, "--cost") for names, text in map(_cost, cost or [])}
    parts = any(each is not None for each in (objective, distance, radius, level))
    given = bool(tables or costs or parts) or budget is not None
    require(given, "change", "name something to change, such as --upper order=200", "nothing")
    only_radius = objective is None and distance is None and level is None
    chosen = None if only_radius else of_objective.read_objective(log.spec.fields, objective, distance, radius, level)
    found = log.change(
        tables, objective=chosen, radius=radius if only_radius else None, costs=costs or None, budget=budget
    )
    shared.print({"changes": [each.to_dict() for each in found]}, lambda: _print(found))


def _cost(pair: str) -> tuple[tuple[str, ...], str]:
    names, equals, text = pair.rpartition("=")
    require(bool(equals), "--cost", "be NAMES=X, such as ph,nh3=0.5", pair)
    return tuple(name.strip() for name in names.split(",")), text


def _print(found: list[Difference]) -> None:
    for each in found:
        print_line(str(each))
    if not found:
        print_line("Nothing is different.")
