"""The expectation of the largest of several lines in a standard normal variable, exactly."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def expected_maximum(heights: Tensor, slopes: Tensor) -> Tensor:
    """`E max_i (a_i + b_i Z) - max_i a_i` (...,) of lines (..., M) in a standard normal Z, exactly.

    A line is the largest between its largest crossing with flatter lines and its smallest with steeper ones.

    Example:
        >>> zero = torch.zeros(2, dtype=torch.float64)
        >>> round(float(expected_maximum(zero, torch.tensor([0.0, 1.0], dtype=torch.float64))), 4)
        0.3989
    """
    with torch.no_grad():
        steeper = slopes[..., None, :] - slopes[..., :, None]  # (..., i, j) > 0 where j is steeper than i
        lower_by = heights[..., :, None] - heights[..., None, :]  # a_i - a_j
        crossing = lower_by / steeper
        infinite = slopes.new_full((), math.inf)
        upper, following = torch.where(steeper > 0, crossing, infinite).min(-1)
        lower = torch.where(steeper < 0, crossing, -infinite).amax(-1)
        place = torch.arange(heights.shape[-1], device=heights.device)
        beaten = (steeper == 0) & ((lower_by < 0) | ((lower_by == 0) & (place[None, :] < place[:, None])))
        on = (lower < upper) & ~beaten.any(-1)
        # Of lines that cross there at once the steepest follows: ties have measure zero.
        rise = torch.gather(slopes, -1, following) - slopes
        apart = upper.abs()
        value = torch.where(on & upper.isfinite(), rise * _tail(apart), 0.0).sum(-1)
        shares = torch.where(on, _cdf(upper) - _cdf(lower), 0.0)
        moments = torch.where(on, _pdf(lower) - _pdf(upper), 0.0)
        best = heights.argmax(-1, keepdim=True)
        shares = shares.scatter_add(-1, best, -torch.ones_like(best, dtype=shares.dtype))
    line = (shares * heights + moments * slopes).sum(-1)
    return value + (line - line.detach())


def _tail(z: Tensor) -> Tensor:
    """E (Z - z)^+ for z >= 0, accurate far out."""
    # phi(z) - z Q(z) loses digits for large z; erfcx does not
    scaled = torch.special.erfcx(z / math.sqrt(2)) / 2
    found: Tensor = _pdf(z) * (1 - z * scaled * math.sqrt(2 * math.pi)).clamp_min(0)
    return found


def _pdf(z: Tensor) -> Tensor:
    return torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)


def _cdf(z: Tensor) -> Tensor:
    found: Tensor = torch.special.ndtr(z)
    return found
