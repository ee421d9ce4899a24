"""The probability that the outcome reaches a threshold, and its worst case over shifted context distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.distances import Distance
from allweather.errors import require_number
from allweather.objectives.base import Band, Objective, checked, require_distance

SOFTNESS = 0.05
"""In the score that is climbed, the step at the threshold is this wide, in units of the outcomes' spread."""
TIE = 1e-3
"""What the distance from the threshold adds to that score, so that certain decisions are told apart too."""


@dataclass(frozen=True)
class Probability(Objective):
    """The probability over contexts that the outcome is at least `threshold`, or at most where it is minimized.

    With a distance it is the least probability under any distribution within its radius. The indicator takes two
    values: with mass P of contexts that reach the threshold, total variation gives `max(0, P - radius / 2)`, an
    f-divergence the least P' with `P phi(P'/P) + (1-P) phi((1-P')/(1-P)) <= radius`; MMD and Wasserstein depend on
    where the contexts lie. `Probability(h) >= p` is the chance constraint `VaR(1 - p) >= h`.

    Example:
        >>> from allweather import TotalVariation
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
        >>> values = torch.tensor([1.0, 2.0, 3.0])
        >>> Probability(2.0)(values, reference).item(), Probability(2.0, TotalVariation(0.2))(values, reference).item()
        (0.5, 0.4)
    """

    weighted: ClassVar[bool] = True
    signed: ClassVar[bool] = False

    threshold: float
    """What the outcome should reach."""
    distance: Distance | None = None
    """How far the context distribution may shift; None where it does not."""

    def __post_init__(self) -> None:
        require_number(self.threshold, "Probability(threshold=...)")
        if self.distance is not None:
            require_distance(self, self.distance)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The mass of the contexts that reach the threshold, or the least mass within the radius."""
        values, reference = checked(self, values, reference)
        return self._mass(self._reached(values), reference)

    def under(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """The probabilities around each law."""
        reached = self._reached(values)
        if self.distance is None:
            return torch.einsum("kbn,kn->kb", reached, laws[torch.arange(len(values)) % len(laws)])
        return self.distance.worst_cases(reached, points, laws).value.clamp(0, 1)

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """A score with a slope everywhere, close to the probability at the upper bound."""
        values, reference = checked(self, band.upper, reference)
        above = values - self.threshold
        mean = values.detach() @ reference.weights
        spread = ((values.detach() - mean[..., None]).square() @ reference.weights).sqrt()
        unit = abs(self.threshold) or 1.0
        width = (SOFTNESS * spread).clamp_min(1e-9 * unit)[..., None]
        soft = torch.special.ndtr((above / width).clamp(-30, 30))
        return self._mass(soft, reference) + TIE * torch.asinh(above / unit) @ reference.weights

    def tangent(self, values: Tensor, reference: Reference) -> Tensor:
        """The gradient (..., n) of that score: the probability itself has none."""
        with torch.enable_grad():
            moved = values.detach().requires_grad_()
            (weights,) = torch.autograd.grad(self.upper(Band(moved), reference).sum(), moved)
        return weights

    def facing(self, sign: int) -> Self:
        """A cost is at most the threshold where its negative is at least minus the threshold."""
        return replace(self, threshold=sign * self.threshold)

    def _reached(self, values: Tensor) -> Tensor:
        """1 where the threshold is reached, 0 elsewhere, with a gradient of zero."""
        return (values >= self.threshold).to(values.dtype) + 0 * values

    def _mass(self, reached: Tensor, reference: Reference) -> Tensor:
        if self.distance is None:
            return reached @ reference.weights
        return self.distance.worst_case(reached, reference).value.clamp(0, 1)
