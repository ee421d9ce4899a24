"""What all f-divergences `sum p phi(q/p)` share.

The worst distribution has ratios `q/p = (phi*)'(c - f/lam)`, with phi* the convex conjugate, lam the multiplier of the
radius and c such that the mass is one. Differentiating the two conditions (mass one, divergence equal to the radius)
gives the gradient of the slope `-lam` from the curvatures `p (phi*)''` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from allweather.errors import InvalidInput, require

Function = Callable[[Tensor], Tensor]
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


def require_conjugates(phi: Function, conjugate: Function, recession: float) -> None:
    """Check on a grid that phi(1) = 0 and that the two functions belong together (Fenchel-Young)."""
    where = "Phi(phi=..., conjugate=...)"
    at_one = float(phi(torch.ones((), dtype=torch.float64)))
    require(abs(at_one) <= 1e-9, "Phi(phi=...)", "be zero at 1", at_one)
    if math.isfinite(recession):
        far = torch.tensor(1e12, dtype=torch.float64)
        price = float(phi(far) / far)
        near = abs(price - recession) <= 1e-3 * recession
        require(near, "Phi(recession=...)", f"be the limit of phi(u)/u, which is about {price:.4g}", recession)
    u = torch.cat([torch.zeros(1), torch.logspace(-7, 7, 4001)]).to(torch.float64)
    s = torch.linspace(-10, min(10.0, recession - 1e-3), 41, dtype=torch.float64)
    claimed = conjugate(s)
    largest = (s[:, None] * u - phi(u)).amax(-1)
    wrong = ~((claimed - largest).abs() <= 1e-2 * (1 + largest.abs()))
    if bool(wrong.any()):
        at, given, reached = (part[wrong][0].item() for part in (s, claimed, largest))
        raise InvalidInput(
            f"must be convex conjugates, but at s = {at:g} the conjugate is {given:.4g} and s u - phi(u) "
            f"reaches {reached:.4g}",
            where=where,
            remedy="if phi grows only linearly, give its `recession`",
        )
