"""Monotone transforms of outcomes: a GP fits heavy-tailed outcomes better on another scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

NORMAL = 1.4826
"""The standard deviation of a normal law in units of its median absolute deviation."""
HEAVY = 4.0
"""Outcomes so many robust deviations from their median have heavy tails."""


@dataclass(frozen=True)
class Warp:
    """`asinh((outcome - centre) / scale)`: linear in the middle, logarithmic far out, on both sides.

    Example:
        >>> warp = Warp(centre=0.0, scale=1.0)
        >>> round(float(warp.inverse(warp(torch.tensor(1e6, dtype=torch.float64)))))
        1000000
    """

    centre: float
    scale: float

    @classmethod
    def of(cls, values: Tensor) -> Warp | None:
        """The warp for outcomes (t,) with heavy tails; None where they have none.

        Example:
            >>> Warp.of(torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0])) is None
            True
        """
        if len(values) < 5:
            return None
        centre = float(values.median())
        apart = (values - centre).abs()
        scale = NORMAL * float(apart.median())
        farthest = float(apart.max())
        heavy = scale > 1e-12 * farthest and math.isfinite(farthest) and farthest > HEAVY * scale
        return cls(centre, scale) if heavy else None

    def __call__(self, values: Tensor) -> Tensor:
        """Outcomes on the warped scale."""
        return torch.asinh((values - self.centre) / self.scale)

    def inverse(self, warped: Tensor) -> Tensor:
        """Warped outcomes in their own units."""
        return self.centre + self.scale * torch.sinh(warped)

    def slope(self, warped: Tensor) -> Tensor:
        """The derivative of the inverse."""
        return self.scale * torch.cosh(warped)

    def log_jacobian(self, values: Tensor) -> Tensor:
        """The logarithm (t,) of the warp's derivative at outcomes: what densities gain by it."""
        away = (values - self.centre) / self.scale
        return -0.5 * torch.log1p(away.square()) - math.log(self.scale)
