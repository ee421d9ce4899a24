"""The two ends of robustness: the mean under the reference, and the worst context of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from allweather.contexts import Reference
from allweather.objectives.base import Objective, checked


@dataclass(frozen=True)
class Expectation(Objective):
    """The mean under the reference distribution (bocu, Eq. 1: stochastic optimisation).

    Example:
        >>> import torch
        >>> reference = Reference.checked([[0.0], [1.0]], [0.25, 0.75])
        >>> Expectation()(torch.tensor([4.0, 8.0]), reference).item()
        7.0
    """

    weighted: ClassVar[bool] = True
    concave: ClassVar[bool] = True

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The weighted mean."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        return values @ weights

    def tangent(self, values: Tensor, reference: Reference) -> Tensor:
        """The reference's weights (n,), the same for all decisions."""
        return reference.weights

    @property
    def mean_factor(self) -> float:
        """It is the mean."""
        return 1.0


@dataclass(frozen=True)
class WorstCase(Objective):
    """The smallest value at any point of the reference, of weight zero or not (bocu, Eq. 1: robust optimisation).

    Example:
        >>> import torch
        >>> reference = Reference.checked([[0.0], [1.0]], [0.0, 1.0])
        >>> WorstCase()(torch.tensor([4.0, 8.0]), reference).item()
        4.0
    """

    concave: ClassVar[bool] = True

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The minimum."""
        values, reference = checked(self, values, reference)
        return values.amin(-1)
