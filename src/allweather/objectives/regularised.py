"""The closed forms that phi prints for chi-squared and total variation, under their own names.

They are lower bounds of the worst case, exact only while no probability would turn negative (ERRATA). `DRO` with
`ChiSquared` or `TotalVariation` is exact at the same cost; these stay so that the published method can be run.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from allweather.contexts import Reference
from allweather.errors import InvalidInput, require_number
from allweather.objectives.base import Objective, checked
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


@dataclass(frozen=True)
class RangeRegularised(Objective):
    """`mean - radius / 2 * (max - min)` (phi, Ex. 3).

    Example:
        >>> import torch
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> RangeRegularised(0.5)(torch.tensor([1.0, 3.0]), reference).item()
        1.5
    """

    radius: float | Schedule

    def __post_init__(self) -> None:
        _require_radius(self)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The mean less a share of the range, over every point of the reference."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        return values @ weights - _number(self) / 2 * (values.amax(-1) - values.amin(-1))


def _require_radius(objective: VarianceRegularised | RangeRegularised) -> None:
    if not isinstance(objective.radius, Schedule):
        require_number(objective.radius, f"{type(objective).__name__}(radius=...)", low=0)


def _number(objective: VarianceRegularised | RangeRegularised) -> float:
    if isinstance(objective.radius, Schedule):
        raise InvalidInput(f"`{objective!r}` changes with the step: take `.at(progress)` of it first")
    return objective.radius
