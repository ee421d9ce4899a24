"""Figure of the probability that limits are kept, along each decision variable."""

from __future__ import annotations

from typing import Any

from allweather.engine.outlook import Outlook
from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.plots.axes import chosen, grid, is_log, is_numeric, place, places
from allweather.plots.labels import format_row
from allweather.plots.marks import DASHES, PALETTE, VERMILLION, Line, Mark, Panel, Rule, segments, spread
from allweather.plots.picture import Picture
from allweather.plots.profile import MAX_PANELS
from allweather.space.text import heading
from allweather.study import Study

POINTS = 25


def feasibility(study: Study, objective: Objective | None = None, variable: str | None = None) -> Picture:
    """Plot the probability that each limit is kept along each decision variable, the others as recommended.

    Args:
        study: with limits on outcomes, and at least one complete trial.
        objective: instead of that of the study, for the recommended decision.
        variable: show only this one; by default the first six.

    Example:
        >>> from allweather import AtLeast, Maximize, Real, Space
        >>> study = Study(Space(heat=Real(0, 1)), outcomes={"gain": Maximize(), "purity": AtLeast(0.5)})
        >>> _ = study.add([{"heat": h / 4, "gain": h / 4, "purity": 1 - h / 4} for h in range(5)])
        >>> [mark.name for mark in feasibility(study).panels[0].marks]
        ['mean of purity at least 0.5', 'recommended']
    """
    outlook = study.outlook(objective=objective)
    if not outlook.limits:
        raise InvalidInput("needs a study with limits on outcomes", where="plots.feasibility(study=...)")
    names = chosen(outlook.space.decisions, variable, "plots.feasibility(variable=...)")[:MAX_PANELS]
    share = 100 * outlook.feasible([outlook.decision])[0]
    says = (
        "The probability that each limit is kept along each decision variable, the others as recommended; all hold "
        f"with {share:.0f}% probability at the recommended decision, {format_row(outlook.decision)}."
    )
    return Picture("Feasibility", says, tuple(_panel(outlook, name) for name in names))


def _panel(outlook: Outlook, name: str) -> Panel:
    variable = outlook.space.decisions[name]
    values = grid(variable, POINTS)
    rows = [{**outlook.decision, name: value} for value in values]
    x: Any = places(variable, values)
    names: tuple[str, ...] = ()
    if not is_numeric(variable):  # a segment for each option
        names, x = tuple(x), segments(len(x))
    texts = [each for option in names for each in (option, option, "")]
    marks = list[Mark]()
    for number, limit in enumerate(outlook.limits):
        said, colour = outlook.wants[limit].describe(limit), PALETTE[number % len(PALETTE)]
        kept = outlook.keeps(limit, rows)
        marks.append(Line(x, spread(kept) if names else kept, said, colour, DASHES[number % len(DASHES)], texts=texts))
    marks.append(Rule(place(variable, outlook.decision[name]), "recommended", VERMILLION, "dash"))
    title, log = f"Feasibility versus {name}", is_log(variable)
    return Panel(title, heading(name, variable), "probability", tuple(marks), log_x=log, ticks=names)
