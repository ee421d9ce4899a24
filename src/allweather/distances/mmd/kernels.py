"""Kernels that MMD has by name, and the lengthscale that contexts suggest for them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from allweather._utils.matern import Matern
from allweather._utils.tensors import pairwise
from allweather.contexts import Reference
from allweather.distances.mmd.low_rank import MAX_TABLED_CONTEXTS

Kernel = Callable[[Tensor, Tensor], Tensor]


KERNELS: dict[str, Callable[[Tensor], Tensor]] = {name: Matern.named(name).of_distances for name in ("rbf", "matern52")}
"""From distances in lengthscales to correlations, by name."""


def median_distance(reference: Reference) -> float:
    """The median distance of two distinct contexts drawn from the reference.

    Args:
        reference: the points and their weights.

    Example:
        >>> median_distance(Reference.checked([[0.0], [0.5]], [0.5, 0.5]))
        0.5
    """
    points, weights = _some(reference)
    distances, pairs = pairwise(points, points), weights[:, None] * weights
    if bool((weights == weights[0]).all()):
        return _median(distances, float(pairs[0, 0]))
    apart = (distances > 0) & (pairs > 0)
    ordered, order = distances[apart].sort()
    share = pairs[apart][order].cumsum(0)
    return float(ordered[(share < share[-1] / 2).sum()]) if len(share) else 1.0


def _median(distances: Tensor, weight: float) -> float:
    """The median of a symmetric table (n, n) of distances, all pairs of which have one weight.

    As for other weights: of an even number of distances, rounding of the sum of weights tells which of the middle two.
    """
    below = torch.triu_indices(len(distances), len(distances), 1, device=distances.device)
    each = distances[below[0], below[1]]  # half of the table, which holds every distance twice
    each = each[each > 0]
    if not len(each):
        return 1.0
    share = each.new_full((2 * len(each),), weight).cumsum(0)
    place = int((share < share[-1] / 2).sum())
    return float(each.kthvalue(place // 2 + 1).values)


def _some(reference: Reference) -> Reference:
    """All contexts, or 2,048 equally likely ones of more: enough for a median of their distances."""
    points, weights = reference
    if len(points) <= MAX_TABLED_CONTEXTS:
        return reference
    levels = (torch.arange(MAX_TABLED_CONTEXTS, dtype=weights.dtype, device=weights.device) + 0.5) / MAX_TABLED_CONTEXTS
    chosen = torch.searchsorted(weights.cumsum(0) / weights.sum(), levels).clamp_max(len(points) - 1)
    return Reference(points[chosen], torch.full_like(levels, 1 / MAX_TABLED_CONTEXTS))
