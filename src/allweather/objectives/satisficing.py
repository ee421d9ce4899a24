"""Robust satisficing: good enough, and as little loss per unit of distribution shift as possible (bocu, Eq. 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.distances import Distance
from allweather.errors import require_number
from allweather.objectives.base import Band, Objective, checked, require_distance


@dataclass(frozen=True)
class RobustSatisficing(Objective):
    """Minus the loss per unit of distance that must be accepted so that `target - loss * distance` is always reached.

    One target for all decisions, which `General` cannot express (bocu, Sec. 3.1). 0 where every context reaches the
    target, -inf where the mean under the reference does not. The distance's own radius plays no part.

    Example:
        >>> import torch
        >>> from allweather import TotalVariation
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
        >>> RobustSatisficing(1.5, TotalVariation(0))(torch.tensor([1.0, 2.0, 3.0]), reference).item()
        -0.5
    """

    target: float
    """The value that is good enough."""
    distance: Distance

    def __post_init__(self) -> None:
        require_number(self.target, "RobustSatisficing(target=...)")
        require_distance(self, self.distance)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """Minus the fragility."""
        values, reference = checked(self, values, reference)
        return -self.distance.fragility(values, reference, self.target)

    def under(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """Minus the fragilities around each law."""
        return -self.distance.fragilities(values, points, laws, self.target)

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """A finite score in the order of the objective at the upper bound.

        Between -1 and 0 where the mean reaches the target; below -1 by how far it stays behind elsewhere.
        """
        values, weights = band.upper, reference.weights
        unit = abs(self.target) or 1.0
        loss = -self(values, reference)
        reached = torch.isfinite(loss)
        # The other branch must not send its infinities into the gradient.
        loss = torch.where(reached, loss, 0.0)
        short = (self.target - values @ weights).clamp_min(0) / unit
        return torch.where(reached, -loss / (unit + loss), -1 - short)

    def facing(self, sign: int) -> Self:
        """A target for costs is a target for their negatives."""
        return replace(self, target=sign * self.target)
