"""Figure of the trade-offs between two objectives."""

from __future__ import annotations

from allweather.errors import InvalidInput, require
from allweather.objectives import Objective
from allweather.plots.labels import format_row
from allweather.plots.marks import BLUE, VERMILLION, Dots, Line, Panel
from allweather.plots.picture import Picture
from allweather.study import Study


def front(study: Study, objective: Objective | None = None) -> Picture:
    """Plot the first objective against each other one for the decisions that no other dominates, with intervals.

    Args:
        study: with several outcomes to maximize or minimize, and at least one complete trial.
        objective: must not be given: every outcome has its own.

    Example:
        >>> from allweather import Maximize, Minimize, Real, Space
        >>> study = Study(Space(heat=Real(0, 1)), outcomes={"gain": Maximize(), "waste": Minimize()})
        >>> _ = study.add([{"heat": h / 4, "gain": h / 4, "waste": (h / 4) ** 2} for h in range(5)])
        >>> front(study).panels[0].y
        'waste'
    """
    require(objective is None, "plots.front(objective=...)", "not be given: every outcome has its own", objective)
    outlook = study.outlook()
    if len(outlook.wanted) < 2:
        needed = "needs a study with several outcomes to maximize or minimize"
        raise InvalidInput(needed, where="plots.front(study=...)")
    table = study.front()
    names = [name for name in table.columns if f"{name} low" in table.columns]
    first = names[0]
    decisions = table[list(study.space.decisions)].to_dict("records")
    texts = [format_row({str(name): value for name, value in row.items()}) for row in decisions]
    panels = []
    for name in names[1:]:
        marks = [Line(table[first].to_numpy(), table[name].to_numpy(), "front", BLUE)]
        ends = [
            Dots(table[first].to_numpy(), table[f"{name} {end}"].to_numpy(), "90% credible interval", BLUE, "tick")
            for end in ("low", "high")
        ]
        at = Dots(table[first].to_numpy(), table[name].to_numpy(), "decision", VERMILLION, "circle", texts)
        panels.append(Panel(f"{name} versus {first}", first, name, (*marks, *ends, at)))
    listed = ", ".join(names)
    says = f"{len(table)} decisions of which none is better in all objectives, {listed}, by posterior medians."
    return Picture("Trade-offs", says, tuple(panels))
