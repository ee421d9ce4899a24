"""With control sets: what more money buys, and what was bought."""

from __future__ import annotations

import pandas as pd

from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.plots.axes import short, worded
from allweather.plots.marks import BLUE, PALETTE, VERMILLION, Dots, Line, Panel
from allweather.plots.picture import Picture
from allweather.study import Study

STATES = ("withdrawn",)
"""Trials that do not count."""


def frontier(study: Study, objective: Objective | None = None) -> Picture:
    """The best decision of every control set against its cost, and which set was played as money was spent.

    Args:
        study: with control sets, and at least one complete trial.
        objective: shown and recommended for, instead of the study's.

    Example:
        >>> from allweather import Control, ControlSet, Real, Space, Uniform
        >>> sets = Control([ControlSet(("ph",), 1), ControlSet(("ph", "light"), 3)], budget=20)
        >>> study = Study(Space(ph=Real(4, 9), light=Real(0, 1)), control=sets, context=Uniform(), seed=3)
        >>> for _ in range(5):
        ...     trial = study.ask()
        ...     left = {name: 0.5 for name in trial.left}
        ...     _ = study.tell(trial, -abs(trial.decision["ph"] - 6), context=left)
        >>> [panel.title for panel in frontier(study).panels]
        ['What each set is worth', 'What was played']
    """
    outlook = study.outlook(objective=objective)
    if outlook.frontier is None:
        raise InvalidInput("`plots.frontier(study=...)` needs control sets; this study has none")
    table, wanted = outlook.frontier, worded(outlook.belief.objective)
    best = table[table["frontier"]]
    worth = Panel(
        "What each set is worth",
        "cost of a trial",
        wanted,
        (
            Line(
                best["cost"].to_numpy(), best["value"].to_numpy(), "nothing as cheap is better", VERMILLION, steps=True
            ),
            Dots(
                table["cost"].to_numpy(),
                table["value"].to_numpy(),
                "best decision of a set",
                BLUE,
                "circle",
                list(table["control"]),
                True,
            ),
        ),
    )
    says = (
        f"The best is to decide {', '.join(outlook.control)} at a cost of {short(float(outlook.cost or 0.0))} a trial; "
        f"for {len(best)} of {len(table)} control sets nothing that costs as little is better."
    )
    return Picture("Control sets", says, (worth, _played(study.trials(), list(table["control"]))))


def _played(trials: pd.DataFrame, sets: list[str]) -> Panel:
    """The set of every trial, against what had been spent after it."""
    paid = trials[trials["cost"].notna() & ~trials["state"].isin(STATES)]
    spent = paid["cost"].cumsum()
    variables = [name for name in paid.columns if name not in ("state", "left", "cost", "value")]
    marks = []
    for place, control in enumerate(sets):
        names = set(control.split(", "))
        played = [set(variables) - set(filter(None, left.split(", "))) == names for left in paid["left"]]
        texts = [f"trial {number}" for number in paid.index[played]]
        at = spent[played].to_numpy()
        marks.append(Dots(at, [control] * len(at), control, PALETTE[place % len(PALETTE)], "square", texts))
    return Panel("What was played", "cost spent", "control set", tuple(marks))
