"""Options that name an objective: `--objective`, `--distance`, `--radius` and `--level`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allweather.serialization.toml import parse_toml

if TYPE_CHECKING:
    from allweather.objectives import Objective

ObjectiveOption = Annotated[
    str | None,
    typer.Option("--objective", metavar="NAME", help="another objective than the study's, named as in a spec"),
]
DistanceOption = Annotated[
    str | None, typer.Option("--distance", metavar="NAME", help="distance of the shifts; default: the study's, or tv")
]
RadiusOption = Annotated[
    float | None, typer.Option("--radius", metavar="X", help="the worst shift of the contexts by up to X")
]
LevelOption = Annotated[float | None, typer.Option("--level", metavar="P", help="the mean of the worst share P")]


def read_objective(
    spec: Mapping[str, Any] | None,
    name: str | None = None,
    distance: str | None = None,
    radius: float | None = None,
    level: float | None = None,
) -> Objective | None:
    """Return the objective that the options of a command name; None for the study's own.

    Args:
        spec: of the study, whose distance is used where none is named.
        name: as in a spec, or a table in braces with further settings.
        distance: of an objective that has one, by name.
        radius: of the distance; without a name, the objective is `dro`.
        level: of an objective that has one; without a name, the objective is `cvar`.

    Example:
        >>> read_objective(None, radius=0.2)
        DRO(distance=TotalVariation(radius=0.2))
        >>> read_objective(None, level=0.1)
        CVaR(level=0.1)
        >>> read_objective(None, "{ name = 'mean-variance', penalty = 0.5 }")
        MeanVariance(penalty=0.5)
    """
    from allweather.serialization import decode_part  # here, since parts need torch

    if name is None and distance is None and radius is None and level is None:
        return None
    where = "--objective" if name is not None else "--level" if level is not None else "--radius"
    implied = "cvar" if level is not None and radius is None else "dro"
    braces = name is not None and name.lstrip().startswith("{")
    table = parse_toml(f"objective = {name}", where)["objective"] if braces else {"name": name or implied}
    if distance is not None or radius is not None:
        inner = {"name": distance or _own_distance(spec), "radius": radius}
        table["distance"] = {key: value for key, value in inner.items() if value is not None}
    if level is not None:
        table["level"] = level
    found: Objective = decode_part("objective", table, where)
    return found


def _own_distance(spec: Mapping[str, Any] | None) -> str:
    """The distance of the study's objective, if it has one."""
    objective = (spec or {}).get("objective")
    inner = objective.get("distance") if isinstance(objective, Mapping) else None
    found = inner.get("name") if isinstance(inner, Mapping) else inner
    return found if isinstance(found, str) else "tv"
