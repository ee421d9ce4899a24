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
    """`asinh((outcome - centre) / scale)` between the outcomes seen, and the straight line that goes on beyond them.

    It is linear in the middle and logarithmic far out. Beyond the outcomes seen nothing says that the scale goes on to
    bend: its inverse, which grows exponentially, would make of a small uncertainty outcomes of any size.

    Example:
        >>> transform = OutcomeTransform.around("bottom", torch.tensor([0.0, 1.0, 2.0, 4.0, 1000.0]).double())
        >>> [round(each, 1) for each in transform.inverse(transform(torch.tensor([0.5, 1e3, 2e3]).double())).tolist()]
        [0.5, 1000.0, 2000.0]
    """

    centre: float
    scale: float
    low: float = -math.inf
    high: float = math.inf
    """The smallest and the largest outcome seen."""

    @classmethod
    def around(cls, place: str, values: Tensor) -> OutcomeTransform | None:
        """The transform around a place of outcomes (t,); None where too many of them are equal.

        Args:
            place: `middle` for their median, `top` or `bottom` for their largest or smallest.
            values: the outcomes.
        """
        low, high = float(values.min()), float(values.max())
        centre = {"middle": float(values.median()), "top": high, "bottom": low}[place]
        apart = (values - centre).abs()
        scale = float(DEVIATIONS_PER_MAD * apart.median() if place == "middle" else apart.quantile(0.25))
        sound = math.isfinite(scale) and scale > 1e-9 * float(apart.max())
        return cls(centre, scale, low, high) if sound else None

    def __call__(self, values: Tensor) -> Tensor:
        """Outcomes on the transformed scale."""
        inside = values.clamp(self.low, self.high)
        away = (inside - self.centre) / self.scale
        return torch.asinh(away) + (values - inside) / (self.scale * (1 + away.square()).sqrt())

    def inverse(self, transformed: Tensor) -> Tensor:
        """Transformed outcomes in their own units."""
        inside = transformed.clamp(*self._ends)
        return self.centre + self.scale * (torch.sinh(inside) + torch.cosh(inside) * (transformed - inside))

    def slope(self, transformed: Tensor) -> Tensor:
        """The derivative of the inverse."""
        return self.scale * torch.cosh(transformed.clamp(*self._ends))

    def log_jacobian(self, values: Tensor) -> Tensor:
        """The logarithm (t,) of the transform's derivative at outcomes: what densities gain by it."""
        away = (values.clamp(self.low, self.high) - self.centre) / self.scale
        return -0.5 * torch.log1p(away.square()) - math.log(self.scale)

    @property
    def _ends(self) -> tuple[float, float]:
        """The smallest and the largest outcome on the transformed scale."""
        return math.asinh((self.low - self.centre) / self.scale), math.asinh((self.high - self.centre) / self.scale)
