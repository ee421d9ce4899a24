"""The Kullback-Leibler divergence `sum q log(q/p)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, increasing_root, with_gradient
from allweather.contexts import Reference
from allweather.distances.base import Distance, Worst
from allweather.distances.divergences.f_divergence import LARGEST_LOG_TILT, deviation, lowest_on_support, tilt_gradient


@dataclass(frozen=True)
class KL(Distance):
    """`d(q, p) = sum q log(q/p)`: the adversary tilts the reference exponentially; points of weight zero stay empty.

    phi, Ex. 15; the multiplier is found, not chosen by hand, and Eq. 34 is not used (errata E26).

    Example:
        >>> from allweather import worst_case
        >>> round(worst_case([1.0, 2.0, 3.0], [0.5, 0.25, 0.25], KL(0.1)).value, 4)
        1.3983
    """

    reaches_unlikely: ClassVar[bool] = False

    @property
    def rate(self) -> float:
        """One half: the worst expectation falls like the root of the radius."""
        return 0.5

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The divergence; infinite where mass lies on points of weight zero."""
        p = reference.weights
        infinite = ((weights > 0) & (p == 0)).any(-1)
        terms = torch.special.xlogy(weights, weights) - torch.special.xlogy(weights, p.clamp_min(1e-300))
        return torch.where(infinite, torch.inf, terms.sum(-1).clamp_min(0))

    def _sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        """Minus sqrt(2) standard deviations: v falls like `mean - sqrt(2 * radius * variance)`."""
        return -(2**0.5) * deviation(values, reference.weights)

    def to_points(self, reference: Reference) -> Tensor:
        """`-log p`."""
        return -reference.weights.log()

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """From the dual: the least price of a unit of divergence at which no tilt stays below the target."""
        flat, p = values.reshape(-1, values.shape[-1]), reference.weights
        f = flat.detach()
        floor = lowest_on_support(f, p)
        height = torch.where(p > 0, f - floor, 0.0)
        lowest, aim = floor.squeeze(-1), target - floor.squeeze(-1)
        between = (aim > 0) & (aim < height @ p)
        price, slope = torch.zeros_like(aim), torch.zeros_like(f)
        if bool(between.any()):
            price[between], slope[between] = _price(height[between], p, aim[between])
        price = with_gradient(price, lambda: slope, flat)
        return self._fragility(flat, reference, target, lowest, price).reshape(values.shape[:-1])

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        f, p = values.detach(), reference.weights
        floor = lowest_on_support(f, p)
        height = torch.where(p > 0, f - floor, 0.0)
        scale = height.amax(-1, keepdim=True)
        lowest = p * (height == 0)
        lowest_mass = lowest.sum(-1)
        exhausted = radius >= -lowest_mass.log() - ROUNDING
        untouched = (radius == 0) & ~exhausted

        weights = torch.where(exhausted[:, None], lowest / lowest_mass[:, None], p)
        slope = torch.where(untouched, -torch.inf, torch.zeros_like(radius))
        tilted = ~(exhausted | untouched)
        if bool(tilted.any()):
            theta, q = _tilt(height[tilted] / scale[tilted], p, radius[tilted])
            weights[tilted] = q
            slope[tilted] = -scale[tilted].squeeze(-1) / theta
        value = floor.squeeze(-1) + (weights * height).sum(-1)
        return Worst(value, with_gradient(slope, lambda: tilt_gradient(slope, f, weights), values), weights)


def _price(
    height: Tensor,  # (b, n) at least 0 on the support, 0 attained
    p: Tensor,  # (n,)
    target: Tensor,  # (b,) strictly between 0 and the mean height
) -> tuple[Tensor, Tensor]:
    """The k (b,) with `-k log E exp(-height/k) = target`, and its derivative (b, n) in the heights.

    The left side is concave in k with the tilt's divergence as slope, so Newton steps from the left never overshoot.
    """
    ceiling = -(p * (height == 0)).sum(-1).log()
    k = target / ceiling.clamp_min(1e-300)
    for _ in range(200):
        exponent = -height / k[:, None]
        log_mass = torch.log1p((p * exponent.expm1()).sum(-1).clamp_min(-1 + 1e-300))
        q = p * (exponent - log_mass[:, None]).exp()
        divergence = (q * exponent).sum(-1) - log_mass
        missing = target + k * log_mass
        step = missing / divergence.clamp_min(1e-300)
        if bool((step <= 1e-13 * k).all()):
            break
        k = k + step.clamp_min(0)
    return k, -q / divergence.clamp_min(1e-300)[:, None]


def _tilt(
    height: Tensor,  # (b, n) in [0, 1], 0 attained
    p: Tensor,  # (n,)
    radius: Tensor,  # (b,) strictly between 0 and the largest divergence
) -> tuple[Tensor, Tensor]:
    """The tilt theta (b,) at which `q ~ p exp(-theta height)` is at the radius, and that q (b, n)."""
    ceiling = -(p * (height == 0)).sum(-1).log()

    def distribution(theta: Tensor) -> tuple[Tensor, Tensor]:
        exponent = -theta[:, None] * height
        mass = (p * exponent.exp()).sum(-1, keepdim=True)
        # log1p keeps the digits that log loses when theta is tiny
        log_mass = torch.where(mass < 0.5, mass.log(), torch.log1p((p * exponent.expm1()).sum(-1, keepdim=True)))
        log_ratio = exponent - log_mass
        return log_ratio, p * log_ratio.exp()

    def excess(log_theta: Tensor) -> tuple[Tensor, Tensor]:
        theta = log_theta.exp()
        log_ratio, q = distribution(theta)
        # sum of p (r log r - r + 1), whose terms are all non-negative
        divergence = (q * log_ratio - p * log_ratio.expm1()).sum(-1).clamp(torch.finfo(p.dtype).tiny, None)
        mean = (q * height).sum(-1, keepdim=True)
        variance = (q * (height - mean).square()).sum(-1)
        # The logit of divergence/ceiling is nearly straight at both ends.
        room = (ceiling - divergence).clamp_min(1e-300)
        value = divergence.log() - room.log() - target
        return value, theta.square() * variance * (1 / divergence + 1 / room)

    target = radius.log() - (ceiling - radius).clamp_min(1e-300).log()
    # Var <= 1/4, so the divergence is at most theta^2/8 and this is never above the root.
    low = 0.5 * (8 * radius).log()
    variance = (p * height.square()).sum(-1) - (p * height).sum(-1).square()
    start = torch.maximum(low + 1e-6, 0.5 * (2 * radius / variance.clamp_min(1e-30)).log())
    _, log_theta = increasing_root(excess, low, torch.full_like(low, LARGEST_LOG_TILT), start)
    theta = log_theta.exp()
    return theta, distribution(theta)[1]
