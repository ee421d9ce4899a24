"""Text of values, distances and objectives for titles, legends and captions."""

from __future__ import annotations

from collections.abc import Mapping

from allweather.engine.outlook import Outlook
from allweather.objectives.labels import distance_label, objective_label
from allweather.space import Space
from allweather.space.text import units_of
from allweather.space.variables import Value

__all__ = ["distance_label", "format_row", "format_value", "noted", "objective_label"]


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


def noted(says: str, outlook: Outlook) -> str:
    """Return a caption with a sentence about what is approximated, where something is.

    Args:
        says: the caption.
        outlook: the posterior view that the figure shows.
    """
    return f"{says} Approximation: {outlook.approximation}." if outlook.approximation else says
