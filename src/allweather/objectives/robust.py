"""Objectives built on the worst case v(radius) and its slope delta(radius) (bocu, Sec. 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.distances import Distance, TotalVariation
from allweather.distances.base import Ceiling
from allweather.errors import require, require_number
from allweather.objectives.base import Band, Objective, checked, require_distance


@dataclass(frozen=True)
class General(Objective):
    """`alpha * v + beta * delta` at the distance's radius (bocu, Eq. 7).

    Example:
        >>> import torch
        >>> from allweather import TotalVariation
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
        >>> General(1, 0.5, TotalVariation(0.5))(torch.tensor([1.0, 2.0, 3.0]), reference).item()
        1.0
    """

    alpha: float
    """Weight of the worst expectation."""
    beta: float
    """Weight of how fast it falls with the radius."""
    distance: Distance

    def __post_init__(self) -> None:
        require_number(self.alpha, "General(alpha=...)", low=0)
        require_number(self.beta, "General(beta=...)", low=0)
        require(
            self.alpha + self.beta > 0,
            "General(alpha=..., beta=...)",
            "not both be 0",
            (self.alpha, self.beta),
        )
        require_distance(self, self.distance)
        falls_vertically = self.beta > 0 and self.distance.rate < 1 and self.distance.radius == 0
        name = f"{type(self.distance).__name__}(radius=...)"
        require(not falls_vertically, name, f"be > 0 when General has beta > 0 (beta={self.beta})", 0)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The weighted sum; a term of weight zero is left out."""
        worst = self.distance.worst_case(values, reference)
        if self.beta == 0:
            return self.alpha * worst.value
        return self.alpha * worst.value + self.beta * worst.slope

    def under(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """The weighted sums around each law."""
        worst = self.distance.worst_cases(values, points, laws)
        if self.beta == 0:
            return self.alpha * worst.value
        return self.alpha * worst.value + self.beta * worst.slope

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """`alpha * v(upper) + beta * (the most delta can be in the band)`: exact for each term in total variation."""
        if self.beta == 0 or band.spread is None:
            return self(band.upper, reference)
        most = self.distance.worst_case(band.upper, reference).value
        flattest = self.distance.worst_case(flattened(self.distance, band), reference).slope
        return self.alpha * most + self.beta * flattest

    @property
    def mean_factor(self) -> float | None:
        """V is never above the mean, and delta never above 0."""
        return self.alpha or None

    def ceiling(self, reference: Reference) -> Callable[[Band], Tensor] | None:
        """That of the distance, at the upper bound."""
        return _of_upper(self.distance.ceiling(reference, self.alpha, self.beta, self.distance.number))


@dataclass(frozen=True)
class DRO(Objective):
    """The worst expectation within the distance's radius of the reference (bocu, Eq. 2).

    Example:
        >>> import torch
        >>> from allweather import TotalVariation
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
        >>> DRO(TotalVariation(0.5))(torch.tensor([1.0, 2.0, 3.0]), reference).item()
        1.25
    """

    weighted: ClassVar[bool] = True
    concave: ClassVar[bool] = True

    distance: Distance

    def __post_init__(self) -> None:
        require_distance(self, self.distance)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The worst expectation."""
        return self.distance.worst_value(values, reference)

    def tangent(self, values: Tensor, reference: Reference) -> Tensor:
        """The worst distribution."""
        return self.distance.worst_case(values.detach(), reference).weights

    def with_tangent(self, values: Tensor, reference: Reference) -> tuple[Tensor, Tensor]:
        """The worst expectation and the worst distribution, found once."""
        worst = self.distance.worst_case(values, reference)
        return worst.value, worst.weights

    def under(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """The worst expectations around each law."""
        return self.distance.worst_values(values, points, laws)

    @property
    def mean_factor(self) -> float:
        """The worst mean is never above the mean."""
        return 1.0

    def ceiling(self, reference: Reference) -> Callable[[Band], Tensor] | None:
        """That of the distance, at the upper bound."""
        return _of_upper(self.distance.ceiling(reference, 1.0, 0.0, self.distance.number))


@dataclass(frozen=True)
class WorstCaseSensitivity(Objective):
    """How fast the worst expectation falls at radius 0 (bocu, Eq. 4): 0 is best, and only for constant functions.

    For divergences whose v falls like a square root (chi-squared, KL) it is the derivative in the root of the radius,
    minus a multiple of the standard deviation. The distance's own radius plays no part.

    Example:
        >>> import torch
        >>> from allweather import TotalVariation
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
        >>> WorstCaseSensitivity(TotalVariation(0))(torch.tensor([1.0, 2.0, 3.0]), reference).item()
        -1.0
    """

    concave: ClassVar[bool] = True

    distance: Distance

    def __post_init__(self) -> None:
        require_distance(self, self.distance)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """delta(0)."""
        values, reference = checked(self, values, reference)
        return self.distance.sensitivity(values, reference)

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The least sensitive function in the band, in total variation; that of the upper bound elsewhere."""
        return self(flattened(self.distance, band), reference)


@dataclass(frozen=True)
class MeanRisk(Objective):
    """The mean plus `tradeoff` times the worst-case sensitivity (bocu, Eq. 5): v to first order in radius**rate."""

    concave: ClassVar[bool] = True

    tradeoff: float
    distance: Distance

    def __post_init__(self) -> None:
        require_number(self.tradeoff, "MeanRisk(tradeoff=...)", low=0)
        require_distance(self, self.distance)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The linearisation of v at radius 0."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        return values @ weights + self.tradeoff * self.distance.sensitivity(values, reference)

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The mean of the upper bound, and the sensitivity of the least sensitive function in the band."""
        flattest = self.distance.sensitivity(flattened(self.distance, band), reference)
        return band.upper @ reference.weights + self.tradeoff * flattest


@dataclass(frozen=True)
class MinimaxApproximation(Objective):
    """The midpoint between v's tangent at radius 0 and its chord to the worst case (Tay et al. 2022; errata E10).

    With m the mean, s the sensitivity and r the distance of the point mass on the smallest value f_min, the tangent
    is `max(m + s * radius**rate, f_min)` and the chord the straight line from (0, m) to (r, f_min). It may fall when
    values rise, so its value at an upper bound is an optimist's guess, not a bound; Tay et al. use it as such.

    Example:
        >>> import torch
        >>> from allweather import TotalVariation
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
        >>> MinimaxApproximation(TotalVariation(0.5))(torch.tensor([1.0, 2.0, 3.0]), reference).item()
        1.3125
    """

    distance: Distance

    def __post_init__(self) -> None:
        require_distance(self, self.distance)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """Half the tangent and half the chord."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        radius = self.distance.number
        reach = self.distance.to_points(reference)
        reachable = torch.where(torch.isfinite(reach), values, torch.inf)
        lowest = reachable.amin(-1, keepdim=True)
        farthest = torch.where(values == lowest, reach, torch.inf).amin(-1)
        lowest = lowest.squeeze(-1)
        mean = values @ weights
        tangent = mean + self.distance.first_order(values, reference) * radius**self.distance.rate
        # A reference that is a point mass already has nothing left to fall.
        share = torch.where(farthest > 0, radius / farthest, 1.0).clamp_max(1)
        chord = mean + share * (lowest - mean)
        return (torch.maximum(tangent, lowest) + chord) / 2


def _of_upper(limit: Ceiling | None) -> Callable[[Band], Tensor] | None:
    return None if limit is None else lambda band: limit(band.upper)


def flattened(distance: Distance, band: Band) -> Tensor:
    """The function (..., n) in the band for which v falls slowest with the radius.

    For total variation with m the least upper bound it is `max(lower, m)` (brute force never beats it): below m
    no value can stay, and values above it only widen the gap. Other distances have no closed form; the upper bound
    stands in for it, as in bocu's UCB-BOCU-2.
    """
    if not isinstance(distance, TotalVariation):
        return band.upper
    return torch.maximum(band.lower, band.upper.amin(-1, keepdim=True))


@dataclass(frozen=True)
class GeneralByDifference(General):
    """`General` whose slope is bounded by a difference between upper and lower bound (UCB-BOCU-1).

    The difference is divided by a small step, so it is dominated by how uncertain the values are.
    """

    step: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.step, "GeneralByDifference(step=...)", above=0)

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """`alpha v(upper) + beta (v(upper, radius + step) - v(lower, radius)) / step`."""
        distance = self.distance
        most = distance.worst_case(band.upper, reference).value
        further = distance.worst_case(band.upper, reference, distance.number + self.step).value
        least = distance.worst_case(band.lower, reference).value
        return self.alpha * most + self.beta * (further - least) / self.step

    @property
    def mean_factor(self) -> float | None:
        """The difference may be positive: only without it."""
        return super().mean_factor if self.beta == 0 else None

    def ceiling(self, reference: Reference) -> Callable[[Band], Tensor] | None:
        """There is none."""
        return None


@dataclass(frozen=True)
class GeneralAtUpper(General):
    """`General` whose slope is taken at the upper bound itself (UCB-BOCU-2)."""

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The objective of the upper bound: for its slope no bound at all."""
        return self(band.upper, reference)
