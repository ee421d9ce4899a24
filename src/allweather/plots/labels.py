"""Text of values, distances and objectives for titles, legends and captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from allweather._utils.registry import kebab
from allweather.distances import Distance
from allweather.engine.outlook import Outlook
from allweather.objectives import Objective
from allweather.space import Space
from allweather.space.text import units_of
from allweather.space.variables import Value


def format_value(value: Value) -> str:
    """Format a value with four significant digits.

    Example:
        >>> format_value(0.123456), format_value("oak"), format_value(3)
        ('0.1235', 'oak', '3')
    """
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)  # adding 0.0 turns -0.0 into 0.0


def format_row(row: Mapping[str, Value], space: Space | None = None) -> str:
    """Format named values on one line.

    Args:
        row: values by variable.
        space: of the variables, for their units.

    Example:
        >>> from allweather import Real
        >>> format_row({"order": 0.25, "wood": "oak"}, Space(order=Real(0, 1, unit="kg")))
        'order = 0.25 kg, wood = oak'
    """
    units = {} if space is None else units_of(space.variables)
    after = {name: f" {unit}" for name, unit in units.items()}
    return ", ".join(f"{name} = {format_value(value)}{after.get(name, '')}" for name, value in row.items())


def distance_label(distance: Distance) -> str:
    """Return the name of a distance in plain words.

    Example:
        >>> from allweather import KL, TotalVariation, Wasserstein
        >>> [distance_label(each) for each in (TotalVariation(0.2), KL(1), Wasserstein(0.1))]
        ['total variation', 'KL', 'Wasserstein distance']
    """
    name = type(distance).__name__
    known = {"Wasserstein": "Wasserstein distance", "ChiSquared": "chi-squared divergence"}
    return name if name.isupper() else known.get(name, kebab(name).replace("-", " "))


def objective_label(objective: Objective) -> str:
    """Return an objective and its settings in a few words.

    Example:
        >>> from allweather import DRO, CVaR, Expectation, TotalVariation
        >>> objective_label(DRO(TotalVariation(0.2))), objective_label(Expectation()), objective_label(CVaR(0.1))
        ('worst mean within 0.2 in total variation', 'mean', 'mean of the worst 10%')
    """
    kind, distance = type(objective).__name__, getattr(objective, "distance", None)
    if kind == "Expectation":
        return "mean"
    if kind == "WorstCase":
        return "worst context"
    if kind == "CVaR" and (level := getattr(objective, "level", None)) is not None:
        return f"mean of the worst {100 * level:.3g}%"
    if kind == "DRO" and distance is not None:
        return f"worst mean within {format_value(float(distance.number))} in {distance_label(distance)}"
    settings = [f"{name} {format_value(each)}" for name, each in vars(objective).items() if _is_setting(each)]
    radius = [] if distance is None else [f"{format_value(float(distance.number))} in {distance_label(distance)}"]
    return ", ".join([kind, *settings, *radius])


def noted(says: str, outlook: Outlook) -> str:
    """Return a caption with a sentence about what is approximated, where something is.

    Args:
        says: the caption.
        outlook: the posterior view that the figure shows.
    """
    return f"{says} Approximation: {outlook.approximation}." if outlook.approximation else says


def _is_setting(value: object) -> TypeGuard[Value]:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
