"""The chi-squared divergence `sum (q - p)^2 / p`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, ascending, with_gradient
from allweather.contexts import Reference
from allweather.distances.base import Distance, Worst
from allweather.distances.f_divergence import deviation, lowest_on_support, tilt_gradient


@dataclass(frozen=True)
class ChiSquared(Distance):
    """`d(q, p) = sum (q - p)^2 / p`: the adversary pays for variance and cannot reach points of weight zero.

    The ratios q/p fall linearly with the value until they reach zero. phi, Ex. 2 stops at the line and may then use
    negative probabilities (errata E25); here the points beyond its end drop out, which makes the worst case exact.

    Example:
        >>> from allweather import worst_case
        >>> worst_case([1.0, 2.0, 3.0], [0.5, 0.25, 0.25], ChiSquared(0.2)).weights.round(3)
        array([0.702, 0.216, 0.081])
    """

    aliases = ("chi2",)

    @property
    def rate(self) -> float:
        """One half: the worst expectation falls like the root of the radius."""
        return 0.5

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The divergence; infinite where mass lies on points of weight zero."""
        p = reference.weights
        terms = torch.where(p > 0, (weights - p).square() / p, torch.where(weights > 0, torch.inf, 0.0))
        return terms.sum(-1)

    def _sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        """Minus the standard deviation: v falls like `mean - sqrt(radius * variance)`."""
        return -deviation(values, reference.weights)

    def to_points(self, reference: Reference) -> Tensor:
        """`1/p - 1`."""
        return 1 / reference.weights - 1

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        f, p, size = values.detach(), reference.weights, radius[:, None]
        floor = lowest_on_support(f, p)
        height = f - floor
        centre = (height @ p)[:, None]
        height -= centre  # moments about the mean keep their digits
        total, outside, mean, variance = _inside(height, p, -centre, size)

        slack = (size * total - outside).clamp_min(0)  # exactly the radius while nothing is outside
        spread = variance > 0
        tilt = torch.where(spread, (slack / variance).sqrt(), 0.0)
        # Ratios q/p fall on a line; beyond the last point inside it is negative.
        weights = (height - mean).mul_(-tilt).add_(1).mul_(p).clamp_(min=0)
        weights /= weights.sum(-1, keepdim=True)
        if not bool(spread.all()):
            lowest = p * (f <= floor)
            weights = torch.where(spread, weights, lowest / lowest.sum(-1, keepdim=True))
        value = torch.where(spread, floor + centre + mean - (slack * variance).sqrt(), floor).squeeze(-1)
        slope = torch.where(spread, -0.5 * total * (variance / slack).sqrt(), 0.0).squeeze(-1)

        def gradient() -> Tensor:
            return tilt_gradient(slope, f, p * (weights > 0))

        return Worst(value, with_gradient(slope, gradient, values), weights)


def _inside(
    height: Tensor,  # (b, n)
    p: Tensor,  # (n,)
    lowest: Tensor,  # (b, 1) height on the support
    radius: Tensor,  # (b, 1)
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mass inside and outside, and mean and variance inside, (b, 1) each; inside are the points that keep some mass.

    Ratios q/p proportional to `max(t - height, 0)` diverge from 1 the less the larger t is: a point keeps some mass if
    the line that ends just there would still diverge by more than the radius.
    """
    ordered, mass = ascending(height, p)
    moment = mass * ordered
    sums = below, first_below, second_below = mass.cumsum(-1), moment.cumsum(-1), (moment * ordered).cumsum(-1)
    place = torch.zeros_like(radius, dtype=torch.long)
    if len(p) > 1:
        end, first = ordered[:, 1:], first_below[:, :-1]
        ratios = end * below[:, :-1] - first
        squares = (ratios - first).mul_(end).add_(second_below[:, :-1])
        kept = squares > ratios.square_().mul_((1 + radius) * (1 + ROUNDING))
        count = torch.arange(1, len(p), device=p.device, dtype=torch.int32)
        place = torch.where(kept, count, 0).amax(-1, keepdim=True).long()

    last = ordered.gather(-1, place).maximum(lowest)
    total, first, second = (part.gather(-1, place) for part in sums)
    mean, second = first / total, second / total
    variance = torch.where(last > lowest, second - mean * mean, 0.0)
    blurred = ((variance < 1e-6 * second) & (last > lowest)).squeeze(-1)
    if bool(blurred.any()):  # too much cancels in the differences: sum over the points themselves
        w, h = p * (height[blurred] <= last[blurred]), height[blurred]
        total[blurred] = w.sum(-1, keepdim=True)
        mean[blurred] = (w * h).sum(-1, keepdim=True) / total[blurred]
        variance[blurred] = (w * (h - mean[blurred]).square()).sum(-1, keepdim=True) / total[blurred]
    return total, below[:, -1:] - total, mean, variance
