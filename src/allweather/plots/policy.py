"""The decision for each context."""

from __future__ import annotations

from typing import Any

from allweather.objectives import Objective
from allweather.plots.axes import is_log, is_numeric, places
from allweather.plots.marks import BLUE, Dots, Line, Mark, Panel
from allweather.plots.picture import Picture
from allweather.space.text import heading
from allweather.study import Study


def policy(study: Study, contexts: Any = None, objective: Objective | None = None) -> Picture:
    """Draw the best decision for each of several known contexts, one panel per decision variable.

    Args:
        study: with at least one complete trial.
        contexts: rows of context variables, or the name of one; by default the only one.
        objective: another objective than the study's, for the variables that are not known.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> policy(study, [{"demand": 0.2}, {"demand": 0.6}]).panels[0].y
        'order'
    """
    found = study.policy(contexts, objective=objective)
    variables, (first, *further) = study.space.variables, found.contexts
    alone = not further and is_numeric(variables[first])
    x: list[Any] = (
        places(variables[first], found.table[first])
        if not further
        else [", ".join(f"{name} = {row[name]}" for name in found.contexts) for row in found.table.to_dict("records")]
    )
    panels = []
    for name in found.decisions:
        y = places(variables[name], found.table[name])
        marks: tuple[Mark, ...] = (Dots(x, y, "recommended", BLUE),)
        if alone and is_numeric(variables[name]):
            marks = (Line(x, y, "recommended", BLUE), *marks)
        axis = heading(first, variables[first]) if not further else "context"
        log = alone and is_log(variables[first])
        panels.append(Panel(f"{name} by context", axis, heading(name, variables[name]), marks, log_x=log))
    says = f"The decision that is best under the posterior where {', '.join(found.contexts)} is known before it."
    return Picture("Decision by context", says, tuple(panels))
