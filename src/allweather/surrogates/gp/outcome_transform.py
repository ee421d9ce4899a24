"""Monotone transforms of outcomes: a GP fits heavy-tailed outcomes better on another scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

DEVIATIONS_PER_MAD = 1.4826
"""The standard deviation of a normal law over its median absolute deviation (MAD)."""
HEAVY_TAIL_DEVIATIONS = 4.0
"""Tails are heavy with an outcome more than this many robust standard deviations from the median."""


PLACES = ("middle", "top", "bottom")
"""Centres of a transform: the median, the largest or the smallest outcome."""


def heavy_tails(values: Tensor) -> tuple[bool, bool]:
    """Whether some of the outcomes (t,) are far below and far above their median, in robust standard deviations.

    Example:
        >>> heavy_tails(torch.tensor([0.0, 1.0, 2.0, 3.0, 40.0]))
        (False, True)
    """
    if len(values) < 5:
        return False, False
    apart = values - values.median()
    limit = HEAVY_TAIL_DEVIATIONS * DEVIATIONS_PER_MAD * apart.abs().median()
    return bool(-apart.min() > limit), bool(apart.max() > limit)


def places_for(values: Tensor) -> tuple[str, ...]:
    """Centres of the transforms that shorten the heavy tails of outcomes (t,); none where no tail is heavy.

    A transform around the end that a heavy tail leads to stretches that tail.

    Example:
        >>> places_for(torch.tensor([0.0, 1.0, 2.0, 3.0, 40.0]))
        ('middle', 'bottom')
    """
    low, high = heavy_tails(values)
    wanted = {"middle": low or high, "top": low, "bottom": high}
    return tuple(place for place in PLACES if wanted[place])


@dataclass(frozen=True)
class OutcomeTransform:
    """`asinh((outcome - centre) / scale)`: linear in the middle, logarithmic far out, on both sides.

    Example:
        >>> transform = OutcomeTransform(centre=0.0, scale=1.0)
        >>> round(float(transform.inverse(transform(torch.tensor(1e6, dtype=torch.float64)))))
        1000000
    """

    centre: float
    scale: float

    @classmethod
    def around(cls, place: str, values: Tensor) -> OutcomeTransform | None:
        """The transform around a place of outcomes (t,); None where too many of them are equal.

        Args:
            place: `middle` for their median, `top` or `bottom` for their largest or smallest.
            values: the outcomes.
        """
        centre = {"middle": values.median(), "top": values.max(), "bottom": values.min()}[place]
        apart = (values - centre).abs()
        scale = float(DEVIATIONS_PER_MAD * apart.median() if place == "middle" else apart.quantile(0.25))
        sound = math.isfinite(scale) and scale > 1e-9 * float(apart.max())
        return cls(float(centre), scale) if sound else None

    def __call__(self, values: Tensor) -> Tensor:
        """Outcomes on the transformed scale."""
        return torch.asinh((values - self.centre) / self.scale)

    def inverse(self, transformed: Tensor) -> Tensor:
        """Transformed outcomes in their own units."""
        return self.centre + self.scale * torch.sinh(transformed)

    def slope(self, transformed: Tensor) -> Tensor:
        """The derivative of the inverse."""
        return self.scale * torch.cosh(transformed)

    def log_jacobian(self, values: Tensor) -> Tensor:
        """The logarithm (t,) of the transform's derivative at outcomes: what densities gain by it."""
        away = (values - self.centre) / self.scale
        return -0.5 * torch.log1p(away.square()) - math.log(self.scale)
