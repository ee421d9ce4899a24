"""Laws of contexts by SciPy's names, and nothing else of SciPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.stats

from allweather._utils.registry import unknown
from allweather.contexts import truncated_normal
from allweather.errors import is_number, require
from allweather.serialization.checks import explained

OURS = {"truncated_normal": truncated_normal}


@cache
def known_laws() -> tuple[str, ...]:
    """The names of the laws that a recipe may use."""
    kinds = (scipy.stats.rv_continuous, scipy.stats.rv_discrete)
    theirs = [name for name in dir(scipy.stats) if isinstance(getattr(scipy.stats, name), kinds)]
    return tuple(sorted([*theirs, *OURS]))


def law(table: Any, where: str) -> Any:
    """The law that a table names, with its parameters.

    Example:
        >>> round(float(law({"name": "gamma", "a": 4, "scale": 20}, "kiosk.toml: context.law.demand").mean()), 6)
        80.0
    """
    require(isinstance(table, dict) and isinstance(table.get("name"), str), where, "be a table with a name", table)
    parameters = {key: value for key, value in table.items() if key != "name"}
    name = table["name"]
    if name not in known_laws():
        raise unknown(f"{where}.name", name, known_laws())
    for key, value in parameters.items():
        require(is_number(value), f"{where}.{key}", "be a number", value)
    with explained(where):
        frozen = OURS[name](**parameters) if name in OURS else getattr(scipy.stats, name)(**parameters)
        middle = np.asarray(frozen.ppf([0.01, 0.5, 0.99]), dtype=np.float64)
    require(bool(np.isfinite(middle).all()), where, f"be parameters that {name} allows", parameters)
    return frozen


def laws(table: Any, where: str) -> dict[str, Any]:
    """A law for each variable, by its name."""
    require(isinstance(table, dict) and len(table) > 0, where, "be a table with a law for each variable", table)
    return {name: law(inner, f"{where}.{name}") for name, inner in table.items()}
