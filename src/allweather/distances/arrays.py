"""Worst cases of NumPy arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from allweather._utils.tensors import as_tensor
from allweather._utils.timing import one_thread
from allweather.contexts import Reference
from allweather.distances.base import Distance
from allweather.errors import InvalidInput, require


class WorstArrays(NamedTuple):
    """The worst expectation within a radius, as NumPy arrays (numbers where one decision was asked for)."""

    value: Any
    """(...,) the smallest expectation."""
    slope: Any
    """(...,) how fast it falls with the radius."""
    weights: np.ndarray
    """(..., n) the distribution that attains it."""


@one_thread
def worst_case(values: Any, weights: Any, distance: Distance, points: Any = None) -> WorstArrays:
    """The worst expectation of `values` over all distributions within `distance` of `weights`.

    Args:
        values: (..., n) a function's values over n contexts, one row per decision.
        weights: (n,) the reference distribution; zeros mark contexts that only an adversary would use.
        distance: `TotalVariation(0.2)`, `ChiSquared`, `KL`, `Phi`, `MMD`, `Wasserstein`, or one of your own.
        points: (n,) or (n, d) where the contexts lie; needed by distances that ask how far apart contexts are.

    Example:
        >>> from allweather import TotalVariation
        >>> profit = [[4.0, 4.0, 4.0], [0.0, 6.0, 8.0]]                # two decisions, three demands
        >>> worst_case(profit, [0.2, 0.5, 0.3], TotalVariation(0.4)).value
        array([4. , 3.8])
    """
    fits = isinstance(distance, Distance)
    require(fits, "worst_case(distance=...)", "be a distance such as TotalVariation(0.2)", distance)
    table = as_tensor(values, "worst_case(values=...)")
    require(
        table.ndim >= 1 and table.shape[-1] > 0,
        "worst_case(values=...)",
        "have shape (..., n) with at least one context",
        tuple(table.shape),
    )
    if points is None:
        if distance.needs_points:
            problem = f"must be given for {type(distance).__name__}"
            remedy = "pass the contexts, one row per value"
            raise InvalidInput(problem, where="worst_case(points=...)", remedy=remedy)
        points = torch.zeros(table.shape[-1], 0, dtype=torch.float64)
    places = as_tensor(points, "worst_case(points=...)")
    places = places[:, None] if places.ndim == 1 else places
    n = table.shape[-1]
    require(places.shape[0] == n, "worst_case(points=...)", f"have {n} rows, one per context", tuple(places.shape))
    worst = distance.worst_case(table.detach(), Reference.checked(places, weights, "worst_case"))
    value, slope = (part.item() if part.ndim == 0 else part.numpy() for part in (worst.value, worst.slope))
    return WorstArrays(value, slope, worst.weights.numpy())
