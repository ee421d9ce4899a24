"""Figure of the worst-case mean v(radius) of a decision under context shift (bocu, Fig. 1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from allweather.engine.outlook import Outlook
from allweather.errors import require_number
from allweather.objectives import Expectation, Objective
from allweather.plots.axes import require_contexts
from allweather.plots.labels import distance_label, format_row, format_value, noted
from allweather.plots.marks import AMBER, BLUE, GREEN, GREY, PURPLE, VERMILLION, Dash, Dots, Line, Mark, Panel, Rule
from allweather.plots.picture import Picture
from allweather.space import Row
from allweather.study import Study

INITIAL_RADII, MAX_REFINEMENTS = 13, 5
"""Radii that a curve is computed at to begin with, and how often others are put between them, at most."""
BEND_FRACTION = 0.2
"""Of an interval: where its tangents meet before this, the curve bends at the start of it."""
CURVE_TOLERANCE = 1 / 400
"""Of a curve's range: straight lines between computed radii are off by less."""
COLOURS: tuple[tuple[str, Dash], ...] = ((VERMILLION, "solid"), (BLUE, "dash"), (GREEN, "dashdot"))


def robustness(
    study: Study, objective: Objective | None = None, decision: Row | None = None, target: float | None = None
) -> Picture:
    """Plot the worst-case mean outcome of decisions against the shift of the context distribution.

    On the curve of the recommended decision, marks show the mean without a shift (stochastic optimization, SO), the
    worst mean within the objective's radius (DRO), the worst context (robust optimization, RO), and as slopes of
    straight lines the sensitivity at radius 0 (worst-case sensitivity, WCS) and the loss per unit of shift from a
    target (robust satisficing, RS).

    Args:
        study: with at least one complete trial.
        objective: instead of that of the study.
        decision: a further decision to compare with.
        target: of robust satisficing; by default halfway between the means without a shift and at the radius.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> [line.name for line in robustness(study).panels[0].marks[:2]]
        ['recommended', 'best mean without shift']
    """
    outlook = study.outlook(objective=objective)
    require_contexts(outlook, "plots.robustness(study=...)")
    decisions = {
        "recommended": outlook.decision,
        "best mean without shift": study.outlook(objective=Expectation()).decision,
    }
    if outlook.control:
        decisions.pop("best mean without shift")  # it may have other variables
    if decision is not None:
        decisions[format_row(outlook.space.decisions.decode(outlook.space.decisions.encode(decision))[0])] = dict(
            decision
        )
    top = _top(outlook)
    marks: list[Mark] = []
    for (name, row), (colour, dash) in zip(decisions.items(), COLOURS, strict=False):
        marks.append(Line(*_curve(outlook, row, top), name, colour, dash))
    marks += _objective_marks(outlook, top, target)
    distance = outlook.distance
    kind = distance_label(distance)
    start, end = outlook.worst(outlook.decision, [0.0, distance.number]).value.tolist()
    panel = Panel(
        "Worst-case mean under context shift",
        f"shift of the context distribution ({kind})",
        "worst-case mean outcome",
        tuple(marks),
    )
    says = (
        f"The recommended decision, {format_row(outlook.decision, outlook.space)}, has a mean outcome of "
        f"{format_value(start)} under the reference distribution, and of {format_value(end)} under the worst shift by "
        f"{format_value(float(distance.number))} in {kind}."
    )
    return Picture("Robustness", noted(says, outlook), (panel,))


def _top(outlook: Outlook) -> float:
    """Return a radius beyond the objective's, at most a little more than gives all weight to the worst context."""
    radius = outlook.distance.number
    reach = outlook.distance.to_points(outlook.reference)
    values = outlook.sign * outlook.at_contexts(outlook.decision)
    farthest = float(reach[int(values.argmin())])
    wanted = 4 * radius if radius > 0 else min(farthest, 1.0)
    return min(wanted, 1.1 * farthest) or 1.0


def _curve(outlook: Outlook, decision: Row, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Return radii and worst means between which straight lines are as good as the curve.

    The worst mean is convex in the radius: between two radii it lies below their chord and above both tangents, and
    where these are too far apart it is computed in between as well.
    """
    radii, found = np.zeros(0), np.zeros((2, 0))
    fresh = np.linspace(0, top, INITIAL_RADII)
    for _ in range(MAX_REFINEMENTS):
        worst = outlook.worst(decision, fresh)
        added = outlook.sign * torch.stack([worst.value, worst.slope]).numpy()
        order = np.argsort(radii := np.concatenate([radii, fresh]))
        radii, found = radii[order], np.concatenate([found, added], axis=1)[:, order]
        fresh = _between(radii, *found)
        if not len(fresh):
            break
    return radii, outlook.sign * found[0]


def _between(radii: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return radii within the intervals in which a convex curve may be further from its chord than a line is wide."""
    lengths, rises = np.diff(radii), np.diff(values)
    steepest, gentlest = slopes[:-1], slopes[1:]
    vertical = np.isinf(steepest)
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = (rises - gentlest * lengths) / ((steepest - gentlest) * lengths)  # as a share of the interval
        gaps = np.where(vertical, gentlest * lengths - rises, meeting * (rises - steepest * lengths))
    wide = np.nan_to_num(gaps) > CURVE_TOLERANCE * np.ptp(values)
    early = wide & (vertical | (meeting < BEND_FRACTION))
    places = [(wide & ~early, 1 / 2), *((early, share) for share in (1 / 64, 1 / 16, 1 / 4))]
    return np.concatenate([radii[:-1][rows] + share * lengths[rows] for rows, share in places])


def _objective_marks(outlook: Outlook, top: float, target: float | None) -> Iterator[Mark]:
    """Yield the values and slopes that objectives take from the curve of the recommended decision."""
    sign, distance, decision = outlook.sign, outlook.distance, outlook.decision
    values = torch.from_numpy(sign * outlook.at_contexts(decision))
    mean, robust = (float(each) for each in outlook.worst(decision, [0.0, distance.number]).value)
    lowest = float(values.min())
    if distance.rate == 1:
        slope = float(distance.sensitivity(values, outlook.reference))
        name = f"slope without shift: {format_value(sign * slope)} per unit of shift"
        yield _slope(sign * mean, slope, lowest, top, sign, name, AMBER)
    aim = _target(outlook, target, mean, robust)
    loss = float(distance.fragility(values, outlook.reference, sign * aim))
    if np.isfinite(loss):
        name = f"from a target of {format_value(aim)}: {format_value(-sign * loss)} per unit of shift"
        yield _slope(sign * aim, -loss, lowest, top, sign, name, PURPLE)
    yield Rule(sign * lowest, f"worst context: {format_value(sign * lowest)}", GREY, "dot", "y")
    radius = float(distance.number)
    points = {"no shift": (0.0, mean), f"radius {format_value(radius)}": (radius, robust)}
    texts = [f"{name}: {format_value(value)}" for name, (_, value) in points.items()]
    x, y = zip(*points.values(), strict=True)
    name = "mean without shift, and at the radius"
    yield Dots(x, y, name, VERMILLION, "diamond", texts, labelled=True, below=sign < 0)


def _target(outlook: Outlook, target: float | None, mean: float, robust: float) -> float:
    if target is not None:
        require_number(target, "plots.robustness(target=...)")
        return target
    own = getattr(outlook.belief.objective, "target", None)
    return outlook.sign * own if isinstance(own, int | float) else (mean + robust) / 2


def _slope(start: float, slope: float, lowest: float, top: float, sign: int, name: str, colour: str) -> Line:
    """Return a straight line from radius 0 to the edge of the panel."""
    end = top if slope >= 0 else min(top, (start - lowest) / -slope)
    return Line([0.0, end], [sign * start, sign * (start + slope * end)], name, colour, "dot")
