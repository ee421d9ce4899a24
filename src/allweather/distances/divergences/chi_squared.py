"""The chi-squared divergence `sum (q - p)^2 / p`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, ascending, with_gradient
from allweather.contexts import Reference
from allweather.distances.base import Distance, Worst
from allweather.distances.divergences.f_divergence import deviation, lowest_on_support, tilt_gradient

MAX_NEWTON_STEPS = 20
"""Newton steps at most that correct a price for rounding; one is the rule."""


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

    reaches_unlikely: ClassVar[bool] = False

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

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """From the dual: the least price of a unit of divergence at which no distribution stays below the target."""
        flat, p = values.reshape(-1, values.shape[-1]), reference.weights
        f = flat.detach()
        floor, mean = lowest_on_support(f, p), (f @ p)[:, None]
        lowest = floor.squeeze(-1)
        price, slope = torch.zeros_like(lowest), torch.zeros_like(f)
        between = ((target > floor) & (target < mean)).squeeze(-1).nonzero().squeeze(-1)
        for rows in between.split(self._rows(len(p))):
            centre = mean[rows]
            price[rows], slope[rows] = _price(f[rows] - centre, p, target - centre, floor[rows] - centre)
        price = with_gradient(price, lambda: slope, flat)
        return self._fragility(flat, reference, target, lowest, price).reshape(values.shape[:-1])

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


def _price(
    height: Tensor,  # (b, n) about the mean
    p: Tensor,  # (n,)
    target: Tensor,  # (b, 1) strictly between the lowest height and 0
    lowest: Tensor,  # (b, 1) height on the support
) -> tuple[Tensor, Tensor]:
    """The k (b,) at which the least `E_q height + k divergence(q)` is the target, and its derivative in the heights.

    At a price k the ratios are `q/p = max(t - height, 0) / 2k`, and k is half of `E max(t - height, 0)`. The least
    value rises with t, by half the mass below t times the divergence.
    """
    t = _end_of_line(height, p, target, lowest)
    for _ in range(MAX_NEWTON_STEPS):
        gaps = (t - height).clamp_min_(0)
        double = (gaps * p).sum(-1, keepdim=True)
        excess = gaps.div_(double).sub_(1)  # q/p - 1
        weighted = p * excess
        divergence = (weighted * excess).sum(-1, keepdim=True)
        missing = target - (weighted * height).sum(-1, keepdim=True) - double / 2 * divergence
        mass = (p * (excess > -1)).sum(-1, keepdim=True)
        step = 2 * missing / (mass * divergence).clamp_min(1e-300)
        if bool((step.abs() <= 1e-12 * (t - lowest)).all()):
            break
        t = torch.maximum(t + step, (t + lowest) / 2)
    return double.squeeze(-1) / 2, -(p + weighted) / divergence.clamp_min(1e-300)


def _end_of_line(height: Tensor, p: Tensor, target: Tensor, lowest: Tensor) -> Tensor:
    """The t (b, 1) of `_price`, up to rounding.

    With the first and second moments m and s of `max(t - height, 0)` the least value is `t - (s / m + m) / 2`. The
    sorted heights tell which points are below t, and with these known it is the target at a root of a quadratic.
    """
    ordered, mass = ascending(height, p)
    moment = mass * ordered
    below, first, second = sums = mass.cumsum(-1), moment.cumsum(-1), (moment * ordered).cumsum(-1)
    m = ordered * below - first
    s = (m - first).mul_(ordered).add_(second)
    value = s.div_(m).add_(m).mul_(-0.5).add_(ordered)
    short = (value < target) | (ordered <= lowest) | (m <= 0)  # even were t as large as this height
    place = torch.where(short, torch.arange(len(p), device=p.device), 0).amax(-1, keepdim=True)
    total, first, second = (part.gather(-1, place) for part in sums)
    outside, half = (below[:, -1:] - total) * total, total * (target - first)
    constant = 2 * target * first - second - first.square()
    root = (half.square() - outside * constant).clamp_min(0).sqrt()
    # Of two ways to write the larger root, the one that does not subtract numbers of the same sign.
    end = torch.where(half > 0, (half + root) / outside, constant / (half - root))
    return end.nan_to_num(nan=0.0, posinf=0.0).maximum(ordered.gather(-1, place)).maximum(target)
