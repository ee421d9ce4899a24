"""Optimism about the objective itself, whose posterior is narrower than that of the outcomes it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather._utils.tensors import with_gradient
from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.errors import MAX_COUNT, require, require_count, require_number
from allweather.objectives import Band, Expectation
from allweather.schedules import Schedule, as_schedule

FEATURES = 256
"""Random cosines of each sample's prior part."""


@dataclass(frozen=True)
class ObjectiveUCB(Acquisition):
    """An upper confidence bound of the objective, from the objective's own posterior.

    `UCB` raises the outcome in every context at once; the outcomes of different contexts do not move together, so its
    bound is too high. Here the standard deviation is that of the objective:

    - of a mean in closed form (Bayesian quadrature), O(t^2) per decision however many contexts there are;
    - of a concave objective (every worst case over distributions, CVaR, entropic risk and others) that of its tangent
      at the posterior mean, which gives a bound that holds with probability `Phi(width)` at least;
    - of any other objective over `samples` posterior samples; where worst cases take long, on few contexts, and the
      bound is shifted by what the objective of the posterior mean differs by on all of them.

    Example:
        >>> ObjectiveUCB(2.0).width
        2.0
    """

    bounds_objective: ClassVar[bool] = True

    width: float | Schedule | Callable[[int], float] = 1.0
    """Multiplies the standard deviation: a number, a schedule or a function of the step."""
    samples: int = 64
    """Posterior samples, where there is no closed form."""

    def __post_init__(self) -> None:
        if not callable(self.width):
            require_number(self.width, "ObjectiveUCB(width=...)", low=0)
        require_count(self.samples, "ObjectiveUCB(samples=...)", low=2, high=MAX_COUNT)

    def build(self, belief: Belief) -> Score:
        """The bound that the objective allows for."""
        return self._bound(belief, belief.objective.slow)

    def of_limit(self, belief: Belief) -> Score:
        """The bound of a limit's objective: it only says where a decision may be tried, so few contexts are sampled."""
        return self._bound(belief, True)

    def _bound(self, belief: Belief, fewer: bool) -> Score:
        width = as_schedule(self.width, "ObjectiveUCB(width=...)")(belief.progress)
        require(width >= 0, f"ObjectiveUCB(width=...) at step {belief.step}", "be at least 0", width)
        if isinstance(belief.objective, Expectation):  # nothing to save by fewer contexts
            return MeanBound(belief, width)
        rough = belief.rough()
        if fewer and not belief.objective.concave and rough is not None:
            few = max(2, self.samples // 4)
            return CorrectedBound(belief, SampledBound(rough, width, self.samples), SampledBound(rough, width, few))
        kind = TangentBound if belief.objective.concave else SampledBound
        return with_rough(lambda known: kind(known, width, self.samples), belief)


class MeanBound(HintedScore):
    """The upper bound of a mean over contexts."""

    def __init__(self, belief: Belief, width: float) -> None:
        self._field, self._weights, self._width = belief.field, belief.reference.weights, width
        self._closed = self._field.quadrature(self._weights, width)
        if self._closed is not None:
            self.slopes = self._closed.slopes

    @property
    def closed(self) -> bool:
        """Whether there is a gradient in closed form."""
        return self._closed is not None

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        if self._closed is not None and not decisions.requires_grad:
            return torch.from_numpy(self._closed.values(decisions.numpy()))
        if self._closed is not None:  # a part of another score
            values, gradients = map(torch.from_numpy, self._closed.slopes(decisions.detach().numpy()))
            return with_gradient(values, lambda: gradients, decisions)
        return self._field.upper(decisions, self._weights, self._width)


def mean_score(belief: Belief) -> MeanBound | None:
    """The objective of the posterior mean with a gradient in closed form: that of means; None where there is none."""
    if type(belief.objective) is not Expectation:
        return None
    score = MeanBound(belief, 0.0)
    return score if score.closed else None


class TangentBound(HintedScore):
    """`v(mean) + width * sd(q . f)`, q the tangent of the objective v at the posterior mean."""

    def __init__(self, belief: Belief, width: float, samples: int = 0) -> None:
        self._belief, self._width = belief, width

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,); its gradient holds the tangent fixed."""
        belief = self._belief
        mean = belief.field.mean(decisions)
        value, weights = belief.objective.with_tangent(mean, belief.reference)
        return value + belief.field.upper(decisions, weights, self._width) - (mean * weights).sum(-1)


class SampledBound(HintedScore):
    """Mean and standard deviation of the objective over posterior samples, drawn once."""

    def __init__(self, belief: Belief, width: float, samples: int) -> None:
        self.belief, self._width = belief, width
        self._paths = belief.surrogate.paths(belief.reference.points, samples, belief.generator, FEATURES)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        sampled = self.belief.objective.upper(Band(self._paths(decisions)), self.belief.reference)
        tiny = 1e-300  # the root of zero has no gradient
        return sampled.mean(0) + self._width * (sampled.var(0) + tiny).sqrt()


class CorrectedBound(HintedScore):
    """The bound on few contexts, plus what the objective of the posterior mean differs by on all of them."""

    def __init__(self, belief: Belief, sampled: SampledBound, rough: SampledBound) -> None:
        self._belief, self._sampled, self.rough = belief, sampled, rough

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        shift = self._belief.expected(decisions) - self._sampled.belief.expected(decisions)
        return self._sampled(decisions) + shift


def with_rough(build: Callable[[Belief], TangentBound | SampledBound], belief: Belief) -> Score:
    """The score of a belief, with that of the same belief on fewer contexts as its `rough` form."""
    score, rough = build(belief), belief.rough()
    if rough is not None:
        score.rough = build(rough)
    return score
