"""Contexts that the coming trial may meet, or that are compared where its context is chosen."""

from __future__ import annotations

import torch
from torch import Tensor

from allweather.acquisition.base import Belief


def coming_contexts(belief: Belief, weights: Tensor, count: int) -> Tensor:
    """Contexts (m, d_c) that a trial is averaged over, or compared in where its context is chosen.

    Args:
        belief: what is known.
        weights: (n,) or (M, n) of the objective's tangents.
        count: how many contexts.
    """
    return _compared(belief, weights, count) if belief.chooses else _systematic(belief, count)


def _systematic(belief: Belief, count: int) -> Tensor:
    """Contexts (m, d_c) that stand for the one to come: drawn from the reference, spread over its weights."""
    points, weights = belief.reference
    if len(points) <= count and bool((weights == weights[0]).all()):
        return points
    return points[_spread(belief, weights, count)]


def _compared(belief: Belief, weights: Tensor, count: int) -> Tensor:
    """Contexts (m, d_c) among which one is chosen: half by the law, half by the weights (n,) or (M, n) of tangents."""
    points, likely = belief.reference
    if len(points) <= 2 * count:
        return points
    wide = weights.abs().mean(0) if weights.ndim > 1 else weights.abs()
    shares = (likely + wide / wide.sum().clamp_min(1e-300)) / 2
    return points[_spread(belief, shares / shares.sum(), 2 * count).unique()]


def _spread(belief: Belief, weights: Tensor, count: int) -> Tensor:
    """Indices (count,) drawn by weights (n,), spread over them."""
    start = torch.rand((), generator=belief.generator, dtype=torch.float64)
    levels = (torch.arange(count, dtype=torch.float64) + start) / count
    order = torch.randperm(len(weights), generator=belief.generator)
    places = torch.searchsorted(weights.cpu()[order].cumsum(0), levels).clamp_max(len(weights) - 1)
    return order[places]
