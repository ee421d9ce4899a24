"""Distances, objectives and limits in words: in messages, tables, reports, figures and pages alike."""

from __future__ import annotations

from typing import TypeGuard

from allweather._utils.registry import kebab
from allweather.distances import Distance
from allweather.objectives.base import Objective


def distance_label(distance: Distance | str) -> str:
    """Return the name of a distance in plain words.

    Args:
        distance: itself, or the name of its class.

    Example:
        >>> from allweather import KL, TotalVariation, Wasserstein
        >>> [distance_label(each) for each in (TotalVariation(0.2), KL(1), Wasserstein(0.1))]
        ['total variation', 'KL', 'Wasserstein distance']
    """
    name = distance if isinstance(distance, str) else type(distance).__name__
    known = {"Wasserstein": "Wasserstein distance", "ChiSquared": "chi-squared divergence"}
    return name if name.isupper() else known.get(name, kebab(name).replace("-", " "))


def objective_label(objective: Objective, outcome: str = "") -> str:
    """Return an objective and its settings in a few words.

    Args:
        objective: what makes a decision good.
        outcome: the name of the outcome it is about, where there are several.

    Example:
        >>> from allweather import DRO, CVaR, Expectation, TotalVariation
        >>> objective_label(DRO(TotalVariation(0.2))), objective_label(Expectation(), "yield")
        ('worst mean within 0.2 in total variation', 'mean of yield')
        >>> objective_label(CVaR(0.1), "yield"), objective_label(DRO(TotalVariation(0.2)), "yield")
        ('mean of the worst 10% of yield', 'worst mean of yield within 0.2 in total variation')
    """
    kind, distance = type(objective).__name__, getattr(objective, "distance", None)
    of = f" of {outcome}" if outcome else ""
    if kind == "Expectation":
        return f"mean{of}"
    if kind == "WorstCase":
        return f"worst context{of}" if not outcome else f"{outcome} in the worst context"
    if kind == "CVaR" and (level := getattr(objective, "level", None)) is not None:
        return f"mean of the worst {100 * level:.3g}%{of}"
    if kind == "DRO" and distance is not None:
        return f"worst mean{of} within {radius_label(distance)}"
    settings = [f"{name} {_short(each)}" for name, each in vars(objective).items() if _is_setting(each)]
    radius = [] if distance is None else [radius_label(distance)]
    return ", ".join([f"{kind}{of}", *settings, *radius])


def radius_label(distance: Distance) -> str:
    """Return the radius of a distance, and what it is measured in.

    Example:
        >>> from allweather import TotalVariation
        >>> radius_label(TotalVariation(0.2))
        '0.2 in total variation'
    """
    radius = getattr(distance, "radius", None)
    known = isinstance(radius, int | float)
    return f"{_short(float(distance.number)) if known else 'a radius that changes'} in {distance_label(distance)}"


def _short(value: float | str) -> str:
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)


def _is_setting(value: object) -> TypeGuard[float | str]:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
