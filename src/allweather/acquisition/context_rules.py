"""Which context a simulator is run in, once the decision is chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from allweather._utils.registry import Named
from allweather.acquisition.base import Belief
from allweather.acquisition.knowledge_gradient import expected_maximum
from allweather.errors import require_count, require_number
from allweather.schedules import Schedule, as_schedule


class ContextRule(Named, ABC):
    """A way to choose the context of the next trial among the points of the reference."""

    @abstractmethod
    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the index () of the reference's point for a trial of `decision` (d_x,)."""


@dataclass(frozen=True)
class AmongLikely(ContextRule, ABC):
    """A rule that compares the points that count most."""

    candidates: int = 256
    """Points compared, at most: those with the largest weights of the objective's tangent, then the likeliest."""

    def __post_init__(self) -> None:
        require_count(self.candidates, f"{type(self).__name__}(candidates=...)", low=1)

    def among(self, belief: Belief, weights: Tensor) -> Tensor:
        """Return the indices (m,) of the points compared, given weights (n,) or (b, n) of tangents."""
        wide = weights.abs().amax(0) if weights.ndim > 1 else weights.abs()
        return (wide + 1e-3 * belief.reference.weights).argsort(descending=True, stable=True)[: self.candidates]


@dataclass(frozen=True)
class LargestDeviation(ContextRule):
    """The context whose outcome is most uncertain, among those that the objective may depend on.

    Example:
        >>> LargestDeviation()
        LargestDeviation()
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point with the largest posterior standard deviation."""
        with torch.no_grad():
            return belief.field(decision[None]).sd[0].argmax()


@dataclass(frozen=True)
class MostInfluential(AmongLikely):
    """The context whose outcome reduces the uncertainty of the objective most.

    The objective is replaced by its tangent at the posterior mean: for a worst case its weights are the worst
    distribution, so contexts are chosen where that distribution has mass and the outcome is uncertain. The reduction is
    exact for Gaussian processes; other surrogates use weight times standard deviation.

    Example:
        >>> MostInfluential(candidates=128)
        MostInfluential(candidates=128)
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point where one outcome explains most of the objective's variance."""
        with torch.no_grad():
            weights = belief.weights(decision[None])
            weights = weights if weights.ndim > 1 else weights[None]
            points = self.among(belief, weights)
            slopes = belief.field.step(decision[None], weights, belief.reference.points[points]).own(
                decision[None], weights
            )
            return points[slopes[0].abs().argmax()]


@dataclass(frozen=True)
class LacingValue(ContextRule):
    """The context of a lacing value (Nguyen et al. 2021, V-UCB), for value at risk and other objectives.

    The outcome there may be above the optimist's objective and below the pessimist's: its band holds both bounds of the
    objective. Among such contexts the one with the largest deviation is taken; there is at least one for value at risk.

    Example:
        >>> LacingValue(width=2.0)
        LacingValue(width=2.0)
    """

    width: float | Schedule = 2.0
    """Multiplies the standard deviation: that of the bounds."""

    def __post_init__(self) -> None:
        if not callable(self.width):
            require_number(self.width, "LacingValue(width=...)", low=0)

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the widest band that laces the objective's bounds, or the nearest to that."""
        width = as_schedule(self.width, "LacingValue(width=...)")(belief.progress)
        with torch.no_grad():
            mean, sd = belief.field(decision[None])
            low, high = mean[0] - width * sd[0], mean[0] + width * sd[0]
            worst, best = (belief.objective(each[None], belief.reference)[0] for each in (low, high))
            missed = (low - worst).clamp_min(0) + (best - high).clamp_min(0)
            spread = sd[0] / sd[0].max().clamp_min(1e-300)
            scale = (high.max() - low.min()).clamp_min(1e-300)
            return (spread - 1e6 * missed / scale).argmax()


@dataclass(frozen=True)
class FromLaw(ContextRule):
    """A context drawn from the context distribution, as nature would.

    Example:
        >>> [ContextRule.named(name).__name__ for name in ("from-law", "lacing-value")]
        ['FromLaw', 'LacingValue']
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return a random point of the reference, by its weights."""
        return torch.multinomial(belief.reference.weights, 1, generator=belief.generator)[0]


@dataclass(frozen=True)
class LargestGain(AmongLikely):
    """The context with the largest knowledge gradient, for the decision that was chosen.

    Example:
        >>> LargestGain(candidates=64)
        LargestGain(candidates=64)
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point at which a trial is expected to add most to the best objective."""
        with torch.no_grad():
            compared = belief.incumbents(64) if belief.compared is None else belief.compared
            compared = torch.cat([decision[None], compared])
            weights = belief.weights(compared)
            points = self.among(belief, weights)
            slopes = belief.field.step(compared, weights, belief.reference.points[points])(decision[None])[0]
            return points[expected_maximum(belief.expected(compared).expand(len(points), -1), slopes).argmax()]
