"""Bounds of the worst expectation in a kernel ball that take no solver: which of many decisions can be the best?"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from allweather.distances.mmd.ball import KernelBall, total

LOG_TILT = 8.0
"""How much likelier the lowest value becomes than the highest, as a logarithm."""


class Bracket(NamedTuple):
    """What is known about v, a convex function of the radius, for a batch of decisions."""

    radius: float
    low: Tensor  # (b,) v is not below
    high: Tensor  # (b,) nor above
    means: Tensor  # (b, k) expectations under some distributions
    apart: Tensor  # (b, k) whose distances are these

    def ceiling(self, alpha: float, beta: float) -> Tensor:
        """`alpha v + beta delta` is not above this (b,).

        v falls, from the radius on, at least to each of the expectations further out; how steeply depends on where in
        the bracket it starts. The bound is concave in that, and highest at an end or where v meets the expectation.
        """
        if beta == 0:
            return alpha * self.high
        further = self.apart - self.radius
        low, high = self.low[:, None], self.high[:, None]
        starts = torch.stack([low.expand_as(further), high.expand_as(further), self.means.clamp(low, high)])
        slope = ((self.means - starts) / further.clamp_min(1e-300)).clamp_max(0)
        slope = torch.where(further > 1e-6, slope, 0.0)  # where it is not lost in rounding
        return (alpha * starts + beta * slope).amax(0).amin(-1)


def bracketed(ball: KernelBall, values: Tensor, p: Tensor, radius: float) -> Bracket:
    """Bounds for `values` (b, n): from below the relaxation that lets weights be negative, from above two chords.

    Chords lead to the point mass on the smallest value, and to a reference tilted towards small values.
    """
    mean, (lowest, where) = values @ p, values.min(-1)
    steepness = total(values * ball.project(values)).clamp_min(0).sqrt()[:, 0]
    height = (values - lowest[:, None]) / (values.amax(-1) - lowest).clamp_min(1e-300)[:, None]
    tilted = p * torch.exp(-LOG_TILT * height)
    tilted = tilted / total(tilted)
    offset = tilted - p
    means = torch.stack([lowest, (tilted * values).sum(-1)], -1)
    apart = torch.stack([ball.to_points(p)[where], total(offset * ball.product(offset)).clamp_min(0).sqrt()[:, 0]], -1)
    share = (radius / apart.clamp_min(1e-300)).clamp_max(1)
    high = (mean[:, None] + share * (means - mean[:, None])).amin(-1)
    low = torch.maximum(mean - radius * steepness, lowest)
    return Bracket(radius, torch.minimum(low, high), high, means, apart)
