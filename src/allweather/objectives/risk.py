"""Risk measures of the outcome under the reference, all weighted; small levels mean much caution.

BoTorch's risk measures weigh all samples equally. With equal weights our VaR agrees with its (alpha is 1 - level); its
CVaR averages one sample too many, ours exactly the worst `level`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, argsort, ascending, nth_place
from allweather.contexts import Reference
from allweather.errors import is_number, require, require_number
from allweather.objectives.base import Band, Objective, checked


@dataclass(frozen=True)
class CVaR(Objective):
    """The mean of the worst `level` of all outcomes: the worst case over densities of at most 1/level.

    Example:
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.2, 0.3, 0.5])
        >>> round(CVaR(0.4)(torch.tensor([1.0, 2.0, 3.0]), reference).item(), 12)
        1.5
    """

    weighted: ClassVar[bool] = True
    concave: ClassVar[bool] = True

    level: float
    """Share of the outcomes that counts; 1 is the mean."""

    def __post_init__(self) -> None:
        _require_level(self)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """Mass `level` of the smallest values, averaged."""
        values, reference = checked(self, values, reference)
        height, mass = self._sorted(values, reference.weights)
        before = mass.cumsum(-1) - mass
        counted = torch.minimum(mass, (self.level - before).clamp_min(0))
        return (counted * height).sum(-1) / self.level

    def _sorted(self, values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Values (..., n) in ascending order and their weights; without gradient by a sort that keeps no order."""
        if values.requires_grad:
            order = argsort(values)
            return values.gather(-1, order), weights[order]
        height, mass = ascending(values.reshape(-1, values.shape[-1]), weights)
        return height.reshape(values.shape), mass.reshape(values.shape)


@dataclass(frozen=True)
class VaR(Objective):
    """The largest s that is reached or exceeded with probability at least `1 - level` (kde, Sec. 2.2).

    Example:
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.2, 0.3, 0.5])
        >>> VaR(0.25)(torch.tensor([1.0, 2.0, 3.0]), reference).item()
        2.0
    """

    weighted: ClassVar[bool] = True
    level: float
    """Probability of doing worse."""

    def __post_init__(self) -> None:
        _require_level(self)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The upper quantile at `level`."""
        values, reference = checked(self, values, reference)
        return values.gather(-1, self._place(values, reference.weights)).squeeze(-1)

    def _place(self, values: Tensor, weights: Tensor) -> Tensor:
        """Where (..., 1) among the values (..., n) the quantile is."""
        if bool((weights == weights[0]).all()):  # the same rank whatever the order
            return nth_place(values, min(int((weights.cumsum(-1) <= self.level + ROUNDING).sum()), len(weights) - 1))
        order = argsort(values)
        ordered = weights[order]
        passed = (ordered.cumsum(-1) <= self.level + ROUNDING).sum(-1, keepdim=True)
        last = (ordered > 0).long().cumsum(-1).argmax(-1, keepdim=True)
        return order.gather(-1, torch.minimum(passed, last))


@dataclass(frozen=True)
class MeanVariance(Objective):
    """`mean - penalty * variance`.

    Example:
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> MeanVariance(0.5)(torch.tensor([1.0, 3.0]), reference).item()
        1.5
    """

    weighted: ClassVar[bool] = True
    concave: ClassVar[bool] = True

    penalty: float

    def __post_init__(self) -> None:
        require_number(self.penalty, "MeanVariance(penalty=...)", low=0)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """Mean and variance under the reference."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        mean, variance = mean_and_variance(values, weights)
        return mean - self.penalty * variance

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """The mean of the upper bound less the variance of the middle: variance does not rise with the values."""
        return self(band.mean, reference) + (band.upper - band.mean) @ reference.weights


@dataclass(frozen=True)
class EntropicRisk(Objective):
    """`-log E[exp(-aversion * f)] / aversion`: the certainty equivalent of an exponential utility.

    At `aversion = 1/lam` it is phi, Ex. 15 with its multiplier held at lam, up to the constant `lam * radius`.

    Example:
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> round(EntropicRisk(1.0)(torch.tensor([1.0, 3.0]), reference).item(), 4)
        1.5662
    """

    weighted: ClassVar[bool] = True
    concave: ClassVar[bool] = True

    aversion: float

    def __post_init__(self) -> None:
        require_number(self.aversion, "EntropicRisk(aversion=...)", above=0)

    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """A weighted log-sum-exp."""
        values, reference = checked(self, values, reference)
        weights = reference.weights
        mean = values @ weights
        exponent = -self.aversion * (values - mean[..., None])
        # While exponents are small, log1p keeps the digits that a sum of exponentials loses.
        small = torch.log1p((weights * exponent.clamp_max(1).expm1()).sum(-1).clamp_min(-0.9))
        large = torch.logsumexp(weights.log() + exponent, -1)
        return mean - torch.where(exponent.abs().amax(-1) < 1, small, large) / self.aversion


def mean_and_variance(
    values: Tensor,  # (..., n)
    weights: Tensor,  # (n,)
) -> tuple[Tensor, Tensor]:
    """Mean and variance (...,) under the weights."""
    mean = values @ weights
    return mean, (weights * (values - mean[..., None]).square()).sum(-1)


def _require_level(objective: CVaR | VaR) -> None:
    level = objective.level
    where = f"{type(objective).__name__}(level=...)"
    require(is_number(level) and 0 < level <= 1, where, "be a probability above 0 and at most 1", level)
