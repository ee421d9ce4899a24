"""Figure of how limits on outcomes hold under context shift: a robustness curve for each of them."""

from __future__ import annotations

import numpy as np
import torch

from allweather.engine.outlook import Outlook
from allweather.errors import InvalidInput
from allweather.objectives import AtLeast, Expectation, Objective
from allweather.plots.axes import require_contexts
from allweather.plots.labels import distance_label, format_row, format_value
from allweather.plots.marks import BLUE, GREEN, GREY, VERMILLION, Line, Mark, Panel, Rule
from allweather.plots.picture import Picture
from allweather.plots.profile import MAX_PANELS
from allweather.study import Study

POINTS = 61


def limits(study: Study, objective: Objective | None = None) -> Picture:
    """Plot how each limit holds for the recommended decision when the context distribution shifts.

    Of a chance constraint it is the least probability that the outcome keeps its threshold, of other limits the worst
    mean outcome, within each radius: of the limit's own distance, or in total variation.

    Args:
        study: with contexts, limits on outcomes, and at least one complete trial.
        objective: instead of that of the study, for the recommended decision.

    Example:
        >>> from allweather import AtLeast, Context, Maximize, Real, Space
        >>> space = Space(heat=Real(0, 1), lot=Context(0, 1))
        >>> study = Study(space, outcomes={"gain": Maximize(), "purity": AtLeast(0.5, probability=0.9)})
        >>> told = [(heat / 4, lot) for heat in range(5) for lot in (0.2, 0.4)]
        >>> _ = study.add([{"heat": h, "lot": c, "gain": h, "purity": 1.2 - h - c} for h, c in told])
        >>> [mark.name for mark in limits(study).panels[0].marks]
        ['least probability', 'needed: 0.9']
    """
    outlook = study.outlook(objective=objective)
    where = "plots.limits(study=...)"
    if not outlook.limits:
        raise InvalidInput("needs a study with limits on outcomes", where=where)
    require_contexts(outlook, where)
    made = [_panel(outlook, name) for name in outlook.limits[:MAX_PANELS]]
    says = f"The recommended decision is {format_row(outlook.decision, outlook.space)}. " + " ".join(s for _, s in made)
    return Picture("Limits under context shift", says, tuple(panel for panel, _ in made))


def _panel(outlook: Outlook, name: str) -> tuple[Panel, str]:
    wanted, view = outlook.wants[name], outlook.views[name]
    assert isinstance(wanted, AtLeast)
    distance = view.distance if wanted.distance is None else wanted.distance
    chance = wanted.probability is not None
    with torch.no_grad():
        mean, sd = (each[0].cpu() for each in view.belief.field(view.chosen[None]))
        level = wanted.sign * wanted.threshold
        values = torch.special.ndtr((mean - level) / sd.clamp_min(1e-12)) if chance else mean
        farthest = float(distance.to_points(view.reference)[int(values.argmin())])
        radius = float(distance.number)
        radii = np.linspace(0, min(4 * radius or 1.0, 1.1 * farthest) or 1.0, POINTS)
        shifts = torch.from_numpy(radii)
        worst = distance.worst_case(values.expand(POINTS, -1), view.reference, shifts).value.numpy()
    y = worst if chance else wanted.sign * worst
    need = float(wanted.probability if wanted.probability is not None else wanted.threshold)
    marks: list[Mark] = [Line(radii, y, "least probability" if chance else "worst-case mean", BLUE)]
    marks.append(Rule(need, f"needed: {format_value(need)}", VERMILLION, "dash", "y"))
    if not chance and type(view.belief.objective) is not Expectation:
        value = view.chosen_objective[1]
        marks.append(
            Rule(value, f"{type(wanted.measure).__name__} without shift: {format_value(value)}", GREEN, "dot", "y")
        )
    if wanted.distance is not None:
        marks.append(Rule(radius, f"radius {format_value(radius)}", GREY, "dot"))
    kind = distance_label(distance)
    title, shift = wanted.describe(name), f"shift of the context distribution ({kind})"
    panel = Panel(title, shift, f"probability of {name}" if chance else f"worst-case mean of {name}", tuple(marks))
    return panel, _holds(title, radii, (worst >= need) if chance else (worst >= level), kind)


def _holds(title: str, radii: np.ndarray, kept: np.ndarray, kind: str) -> str:
    """Say up to which shift a limit holds."""
    if not kept[0]:
        return f"{title.capitalize()}: not kept by the model's mean, even without a shift."
    if kept.all():
        return f"{title.capitalize()}: kept up to a shift of {format_value(float(radii[-1]))} or more in {kind}."
    last = float(radii[int(np.argmin(kept)) - 1])
    return f"{title.capitalize()}: kept up to a shift of about {format_value(last)} in {kind}."
