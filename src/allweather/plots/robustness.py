"""How a decision fares as the contexts shift: v(radius), and where each objective reads it (bocu, Fig. 1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from allweather.engine.posterior_view import Outlook
from allweather.errors import require_number
from allweather.objectives import Expectation, Objective
from allweather.plots.axes import measured, require_contexts, short, told
from allweather.plots.marks import AMBER, BLUE, GREEN, GREY, PURPLE, VERMILLION, Dash, Dots, Line, Mark, Panel, Rule
from allweather.plots.picture import Picture
from allweather.space import Row
from allweather.study import Study

POINTS = 121
COLOURS: tuple[tuple[str, Dash], ...] = ((VERMILLION, "solid"), (BLUE, "dash"), (GREEN, "dashdot"))


def robustness(
    study: Study, objective: Objective | None = None, decision: Row | None = None, target: float | None = None
) -> Picture:
    """The worst mean outcome of decisions when the context distribution shifts by a radius.

    Marked on the recommended decision's curve: the mean without a shift (SO), the worst within the objective's radius
    (DRO), the worst context of all (RO), and as slopes of straight lines how fast the mean falls at first (WCS) and
    how much must be given up per unit of shift to be sure of a target (RS).

    Args:
        study: with at least one complete trial.
        objective: recommended for, instead of the study's.
        decision: one more decision to compare with.
        target: of RS; by default halfway between SO and DRO.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> [line.name for line in robustness(study).panels[0].marks[:2]]
        ['recommended', 'best without a shift']
    """
    outlook = study.outlook(objective=objective)
    require_contexts(outlook, "plots.robustness(study=...)")
    decisions = {
        "recommended": outlook.decision,
        "best without a shift": study.outlook(objective=Expectation()).decision,
    }
    if outlook.control:
        decisions.pop("best without a shift")  # it may decide other variables
    if decision is not None:
        decisions[told(outlook.space.decisions.decode(outlook.space.decisions.encode(decision))[0])] = dict(decision)
    radii = _radii(outlook)
    marks: list[Mark] = []
    for (name, row), (colour, dash) in zip(decisions.items(), COLOURS, strict=False):
        marks.append(Line(radii, outlook.worst(row, radii).value.numpy(), name, colour, dash))
    marks += _read(outlook, radii, target)
    distance = outlook.distance
    kind = measured(distance)
    start, end = outlook.worst(outlook.decision, [0.0, distance.number]).value.tolist()
    panel = Panel(
        "Mean outcome when contexts shift",
        f"how far the contexts' distribution shifts ({kind})",
        "mean outcome",
        tuple(marks),
    )
    says = (
        f"The recommended decision, {told(outlook.decision)}, has a mean outcome of {short(start)} if the contexts are "
        f"as believed, and of {short(end)} after the worst shift by {short(float(distance.number))} in {kind}."
    )
    return Picture("Robustness", says, (panel,))


def _radii(outlook: Outlook) -> np.ndarray:
    """From no shift to beyond the radius, at most to where the worst context of all has all the weight."""
    radius = outlook.distance.number
    reach = outlook.distance.to_points(outlook.reference)
    values = outlook.sign * outlook.at_contexts(outlook.decision)
    farthest = float(reach[int(values.argmin())])
    wanted = 4 * radius if radius > 0 else min(farthest, 1.0)
    return np.linspace(0, min(wanted, 1.1 * farthest) or 1.0, POINTS)


def _read(outlook: Outlook, radii: np.ndarray, target: float | None) -> Iterator[Mark]:
    """What objectives read off the recommended decision's curve."""
    sign, distance, decision = outlook.sign, outlook.distance, outlook.decision
    values = torch.from_numpy(sign * outlook.at_contexts(decision))
    mean, robust = (float(each) for each in outlook.worst(decision, [0.0, distance.number]).value)
    lowest = float(values.min())
    top = float(radii[-1])
    if distance.rate == 1:
        slope = float(distance.sensitivity(values, outlook.reference))
        yield _falling(sign * mean, slope, lowest, top, sign, f"WCS: slope {short(sign * slope)} at 0", AMBER)
    aim = _target(outlook, target, mean, robust)
    loss = float(distance.fragility(values, outlook.reference, sign * aim))
    if np.isfinite(loss):
        yield _falling(
            sign * aim, -loss, lowest, top, sign, f"RS: slope {short(-sign * loss)} from {short(aim)}", PURPLE
        )
    yield Rule(sign * lowest, f"RO: worst context {short(sign * lowest)}", GREY, "dot", "y")
    read = {"SO": (0.0, mean), "DRO": (float(distance.number), robust)}
    texts = [f"{name} {short(value)}" for name, (_, value) in read.items()]
    x, y = zip(*read.values(), strict=True)
    yield Dots(x, y, "SO: mean as believed; DRO: at the radius", VERMILLION, "diamond", texts, labelled=True)


def _target(outlook: Outlook, target: float | None, mean: float, robust: float) -> float:
    if target is not None:
        require_number(target, "robustness(target=...)")
        return target
    own = getattr(outlook.belief.objective, "target", None)
    return outlook.sign * own if isinstance(own, int | float) else (mean + robust) / 2


def _falling(start: float, slope: float, lowest: float, top: float, sign: int, name: str, colour: str) -> Line:
    """A straight line from radius 0 until it leaves what can be seen."""
    end = top if slope >= 0 else min(top, (start - lowest) / -slope)
    return Line([0.0, end], [sign * start, sign * (start + slope * end)], name, colour, "dot")
