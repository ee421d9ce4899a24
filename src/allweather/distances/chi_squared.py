"""The chi-squared divergence `sum (q - p)^2 / p`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.distances.base import Distance, Worst
from allweather.distances.f_divergence import lowest_on_support, tilt_gradient
from allweather.tensors import ascending, with_gradient


@dataclass(frozen=True)
class ChiSquared(Distance):
    """`d(q, p) = sum (q - p)^2 / p`: the adversary pays for variance and cannot reach points of weight zero.

    The ratios q/p fall linearly with the value until they reach zero. phi, Ex. 2 stops at the line and may then use
    negative probabilities (ERRATA); here the points beyond its end drop out, which makes the worst case exact.

    Example:
        >>> from allweather import worst_case
        >>> worst_case([1.0, 2.0, 3.0], [0.5, 0.25, 0.25], ChiSquared(0.2)).weights.round(3)
        array([0.702, 0.216, 0.081])
    """

    aliases = ("chi2",)
    rate: ClassVar[float] = 0.5

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The divergence; infinite where mass lies on points of weight zero."""
        p = reference.weights
        terms = torch.where(p > 0, (weights - p).square() / p, torch.where(weights > 0, torch.inf, 0.0))
        return terms.sum(-1)

    def sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        """Minus the standard deviation: v falls like `mean - sqrt(radius * variance)`."""
        p = reference.weights
        mean = (p * values).sum(-1, keepdim=True)
        return -(p * (values - mean).square()).sum(-1).sqrt()

    def to_points(self, reference: Reference) -> Tensor:
        """`1/p - 1`."""
        return 1 / reference.weights - 1

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        f, p = values.detach(), reference.weights
        height, mass = ascending(f, p)
        floor = lowest_on_support(f, p)
        height -= floor
        size = radius[:, None]
        first = mass * height
        below, first_below, second_below = mass.cumsum(-1), first.cumsum(-1), (first * height).cumsum(-1)
        # Ratios q/p proportional to max(t - height, 0) diverge from 1 the less the larger t is: a point has mass left
        # if the line that ends just there would still diverge by more than the radius.
        ratios = height * below - first_below
        squares = (ratios - first_below).mul_(height).add_(second_below)
        last = (squares >= ratios.square_().mul_(1 + size)).sum(-1, keepdim=True) - 1

        total, first, second = (sums.gather(-1, last) for sums in (below, first_below, second_below))
        mean = first / total
        variance = (second / total - mean * mean).clamp_min(0)
        slack = (size * total - (below[:, -1:] - total)).clamp_min(0)  # exactly the radius while every point is inside
        # Beyond the last point the line is negative; with no spread it falls off behind the lowest value.
        spread = variance > 0
        tilt = torch.where(spread, (slack / variance).sqrt(), 1e300)
        weights = (f - floor - mean).mul_(-tilt).add_(1).mul_(p).clamp_(min=0).div_(total)
        value = floor + mean - (slack * variance).sqrt()
        slope = torch.where(spread, -0.5 * total * (variance / slack).sqrt(), 0.0).squeeze(-1)

        def gradient() -> Tensor:
            return tilt_gradient(slope, f, p * (weights > 0))

        return Worst(value.squeeze(-1), with_gradient(slope, gradient, values), weights)
