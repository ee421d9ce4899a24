"""What all f-divergences `sum p phi(q/p)` share.

The worst distribution has ratios `q/p = (phi*)'(c - f/lam)`, with phi* the convex conjugate, lam the multiplier of the
radius and c such that the mass is one. Differentiating the two conditions (mass one, divergence equal to the radius)
gives the gradient of the slope `-lam` from the curvatures `p (phi*)''` alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

LARGEST_LOG_TILT = 60.0
"""A tilt of exp(60) over heights in [0, 1] tells apart values that differ in their last bit."""


def lowest_on_support(
    values: Tensor,  # (b, n)
    weights: Tensor,  # (n,)
) -> Tensor:
    """The smallest value (b, 1) among points of positive weight."""
    reachable = weights > 0
    if not bool(reachable.all()):
        values = torch.where(reachable, values, torch.inf)
    return values.amin(-1, keepdim=True)


def deviation(
    values: Tensor,  # (..., n)
    weights: Tensor,  # (n,)
) -> Tensor:
    """The standard deviation (...,), with gradient 0 where it is 0."""
    mean = values @ weights
    variance = (weights * (values - mean[..., None]).square()).sum(-1)
    spread = variance > 0
    return torch.where(spread, torch.where(spread, variance, 1.0).sqrt(), 0.0)


def tilt_gradient(
    slope: Tensor,  # (b,)
    values: Tensor,  # (b, n)
    curvature: Tensor,  # (b, n), p (phi*)''
) -> Tensor:
    """Derivative (b, n) of the slope in the values; 0 where the slope is 0 or infinite."""
    mean = (curvature * values).sum(-1, keepdim=True) / curvature.sum(-1, keepdim=True)
    weighted = curvature * (values - mean)
    spread = (weighted * (values - mean)).sum(-1, keepdim=True)
    moving = torch.isfinite(slope)[:, None] & (spread > 0)
    return torch.where(moving, slope[:, None] * weighted / spread, 0.0)
