"""Figure of the control sets: objective versus cost, and the sets that were used."""

from __future__ import annotations

import pandas as pd

from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.plots.labels import format_value, objective_label
from allweather.plots.marks import BLUE, PALETTE, VERMILLION, Dots, Line, Panel
from allweather.plots.picture import Picture
from allweather.study import Study


def control_sets(study: Study, objective: Objective | None = None) -> Picture:
    """Plot the best objective of every control set against its cost, and the set of each trial.

    Args:
        study: with control sets, and at least one complete trial.
        objective: instead of that of the study.

    Example:
        >>> from allweather import Control, ControlSet, Real, Space, Uniform
        >>> sets = Control([ControlSet(("ph",), 1), ControlSet(("ph", "light"), 3)], budget=20)
        >>> study = Study(Space(ph=Real(4, 9), light=Real(0, 1)), control=sets, context=Uniform(), seed=3)
        >>> for _ in range(5):
        ...     trial = study.ask()
        ...     left = {name: 0.5 for name in trial.left}
        ...     _ = study.tell(trial, -abs(trial.decision["ph"] - 6), context=left)
        >>> [panel.title for panel in control_sets(study).panels]
        ['Objective versus cost', 'Control sets used']
    """
    outlook = study.outlook(objective=objective)
    if outlook.frontier is None:
        raise InvalidInput("needs a study with control sets", where="plots.control_sets(study=...)")
    table, label = outlook.frontier, objective_label(outlook.belief.objective)
    best = table[table["frontier"]]
    worth = Panel(
        "Objective versus cost",
        "cost per trial",
        label,
        (
            Line(best["cost"].to_numpy(), best["value"].to_numpy(), "Pareto frontier", VERMILLION, steps=True),
            Dots(
                table["cost"].to_numpy(),
                table["value"].to_numpy(),
                "best decision of a control set",
                BLUE,
                "circle",
                list(table["control"]),
                True,
            ),
        ),
    )
    says = (
        f"The recommended control set is {', '.join(outlook.control)}, at a cost of "
        f"{format_value(float(outlook.cost or 0.0))} per trial; {len(best)} of {len(table)} control sets are on the "
        "Pareto frontier of objective and cost."
    )
    return Picture("Control sets", says, (worth, _used(study.trials(), list(table["control"]))))


def _used(trials: pd.DataFrame, sets: list[str]) -> Panel:
    """Return the control set of each trial against the cost spent so far."""
    charged = trials[trials["cost"].notna() & (trials["state"] != "withdrawn")]
    spent = charged["cost"].cumsum()
    variables = [name for name in charged.columns if name not in ("state", "left", "cost", "value")]
    marks = []
    for place, control in enumerate(sets):
        names = set(control.split(", "))
        used = [set(variables) - set(filter(None, left.split(", "))) == names for left in charged["left"]]
        texts = [f"trial {number}" for number in charged.index[used]]
        at = spent[used].to_numpy()
        marks.append(Dots(at, [control] * len(at), control, PALETTE[place % len(PALETTE)], "square", texts))
    return Panel("Control sets used", "cost spent", "control set", tuple(marks))
