"""The closed forms that phi prints for chi-squared and total variation, and wasserstein's bound, under their own names.

They are lower bounds of the worst case: phi's are exact only while no probability would turn negative (errata E25).
`DRO` with the distance itself is exact; these stay so that the published methods can be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING
from allweather.contexts import Reference
from allweather.errors import InvalidInput, require_number
from allweather.objectives.base import Band, Objective, checked
from allweather.objectives.risk import mean_and_variance
from allweather.schedules import Schedule


@dataclass(frozen=True)
class VarianceRegularised(Objective):
    """`mean - sqrt(radius * variance)` (phi, Ex. 2).

    Example:
        >>> import torch
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> VarianceRegularised(0.25)(torch.tensor([1.0, 3.0]), reference).item()
        1.5
    """

    concave: ClassVar[bool] = True

    radius: float | Schedule

    def __post_init__(self) -> None:
        _require_radius(self)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The mean less some standard deviations."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        mean, variance = mean_and_variance(values, weights)
        tiny = 1e-300  # the root of zero has no gradient
        return mean - (_number(self) * variance + tiny).sqrt()

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The mean of the upper bound less the deviation of the middle (phi, Eq. 4)."""
        return self(band.mean, reference) + (band.upper - band.mean) @ reference.weights


@dataclass(frozen=True)
class RangeRegularised(Objective):
    """`mean - radius / 2 * (max - min)` (phi, Ex. 3).

    Example:
        >>> import torch
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> RangeRegularised(0.5)(torch.tensor([1.0, 3.0]), reference).item()
        1.5
    """

    concave: ClassVar[bool] = True

    radius: float | Schedule

    def __post_init__(self) -> None:
        _require_radius(self)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The mean less a share of the range, over every point of the reference."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        return values @ weights - _number(self) / 2 * (values.amax(-1) - values.amin(-1))

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The mean of the upper bound less the range of the middle (phi, Eq. 5)."""
        return self(band.mean, reference) + (band.upper - band.mean) @ reference.weights


@dataclass(frozen=True)
class LipschitzRegularised(Objective):
    """`mean - radius * L`, with L the steepest slope in the context (wasserstein, Eq. 13).

    A lower bound of `DRO(Wasserstein(radius))`. Of values alone L is the steepest line between two points; under a
    surrogate it is the largest norm of the gradient at the reference's points, of weight zero or not.

    Example:
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> LipschitzRegularised(0.25)(torch.tensor([1.0, 3.0]), reference).item()
        1.5
    """

    concave: ClassVar[bool] = True

    radius: float | Schedule

    def __post_init__(self) -> None:
        _require_radius(self)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The mean less the steepest line between two points."""
        values, reference = checked(self, values, reference)
        mean = values @ reference.weights
        n = values.shape[-1]
        if n < 2:
            return mean
        if reference.points.shape[1] == 1:  # on a line the steepest chord joins neighbours
            order = reference.points[:, 0].argsort()
            first, second = order[:-1], order[1:]
        else:
            first, second = torch.triu_indices(n, n, offset=1, device=values.device)
        apart = torch.linalg.vector_norm(reference.points[first] - reference.points[second], dim=-1)
        rows = values.reshape(-1, n).split(max(1, 2**22 // len(first)))
        lines = [(row[:, first] - row[:, second]).abs() / apart.clamp_min(ROUNDING) for row in rows]
        steepest = [block.amax(-1) for block in lines]
        return mean - _number(self) * torch.cat(steepest).reshape(values.shape[:-1])

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The mean of the upper bound less the steepest gradient of the upper bound."""
        if band.steepness is None:
            return self(band.upper, reference)
        return band.upper @ reference.weights - _number(self) * band.steepness()


def _require_radius(objective: VarianceRegularised | RangeRegularised | LipschitzRegularised) -> None:
    if not isinstance(objective.radius, Schedule):
        require_number(objective.radius, f"{type(objective).__name__}(radius=...)", low=0)


def _number(objective: VarianceRegularised | RangeRegularised | LipschitzRegularised) -> float:
    if isinstance(objective.radius, Schedule):
        raise InvalidInput("changes with the step", where=f"{objective!r}", remedy="take `.at(progress)` of it first")
    return objective.radius
