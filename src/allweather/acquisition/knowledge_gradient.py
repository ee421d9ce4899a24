"""The knowledge gradient: what one more trial is expected to add to the objective of the best decision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, Score
from allweather.errors import require_count

ROUGH_CONTEXTS, ROUGH_DECISIONS = 4, 24
"""Coming contexts, and decisions compared, of the rough score."""


@dataclass(frozen=True)
class KnowledgeGradient(Acquisition):
    """The logarithm of what a trial is expected to add to the largest posterior mean of the objective.

    After a trial at decision x and context c the posterior mean of the objective of every decision is a line in the
    standardised outcome Z; the expectation of the largest line is exact (Frazier, Powell and Dayanik 2009). The
    context to come is averaged over the context distribution; where it is chosen, as in a simulator, the best one
    counts. Lines are exact for means; for other objectives, and for transformed outcomes, they are tangents at the
    posterior mean.

    Example:
        >>> KnowledgeGradient().contexts
        8
    """

    logarithmic: ClassVar[bool] = True
    compares: ClassVar[bool] = True

    contexts: int = 8
    """Coming contexts that a trial is averaged over, or that are compared where the context is chosen."""
    decisions: int = 64
    """Decisions among which the best one after the trial is looked for, besides the one that is tried."""

    def __post_init__(self) -> None:
        require_count(self.contexts, "KnowledgeGradient(contexts=...)", low=1)
        require_count(self.decisions, "KnowledgeGradient(decisions=...)", low=1)

    def build(self, belief: Belief) -> Score:
        """The score, and a rough one with fewer contexts and decisions."""
        score = StepGain(belief, self.decisions, self.contexts)
        score.rough = StepGain(belief, ROUGH_DECISIONS, ROUGH_CONTEXTS)
        return score


class StepGain:
    """The logarithm of the expected gain of one trial."""

    rough: StepGain

    def __init__(self, belief: Belief, decisions: int, contexts: int) -> None:
        compared = belief.incumbents(decisions) if belief.compared is None else belief.compared[:decisions]
        self._belief = belief
        with torch.no_grad():
            weights = belief.weights(compared)
            self._coming = _compared(belief, weights, contexts) if belief.chooses else _systematic(belief, contexts)
            self._step = belief.field.step(compared, weights, self._coming)
            self._heights = belief.expected(compared)  # (M,)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        belief = self._belief
        slopes = self._step(decisions)  # (b, m, M)
        own = self._step.own(decisions, belief.weights(decisions))  # (b, m)
        height = belief.expected(decisions)
        heights = torch.cat([self._heights.expand(len(decisions), -1), height[:, None]], 1)  # (b, M + 1)
        slopes = torch.cat([slopes, own[..., None]], -1)
        gains = expected_maximum(heights[:, None].expand_as(slopes), slopes)
        return ((gains.amax(-1) if belief.chooses else gains.mean(-1)) + 1e-300).log()


def expected_maximum(heights: Tensor, slopes: Tensor) -> Tensor:
    """`E max_i (a_i + b_i Z) - max_i a_i` (...,) of lines (..., M) in a standard normal Z, exactly.

    A line is the largest between its largest crossing with flatter lines and its smallest with steeper ones.

    Example:
        >>> zero = torch.zeros(2, dtype=torch.float64)
        >>> round(float(expected_maximum(zero, torch.tensor([0.0, 1.0], dtype=torch.float64))), 4)
        0.3989
    """
    with torch.no_grad():
        steeper = slopes[..., None, :] - slopes[..., :, None]  # (..., i, j) > 0 where j is steeper than i
        lower_by = heights[..., :, None] - heights[..., None, :]  # a_i - a_j
        crossing = lower_by / steeper
        infinite = torch.full((), math.inf, dtype=torch.float64)
        upper, following = torch.where(steeper > 0, crossing, infinite).min(-1)
        lower = torch.where(steeper < 0, crossing, -infinite).amax(-1)
        place = torch.arange(heights.shape[-1])
        beaten = (steeper == 0) & ((lower_by < 0) | ((lower_by == 0) & (place[None, :] < place[:, None])))
        on = (lower < upper) & ~beaten.any(-1)
        # Of lines that cross there at once the steepest follows: ties have measure zero.
        rise = torch.gather(slopes, -1, following) - slopes
        apart = upper.abs()
        value = torch.where(on & upper.isfinite(), rise * _tail(apart), torch.zeros(())).sum(-1)
        shares = torch.where(on, _cdf(upper) - _cdf(lower), torch.zeros(()))
        moments = torch.where(on, _pdf(lower) - _pdf(upper), torch.zeros(()))
        best = heights.argmax(-1, keepdim=True)
        shares = shares.scatter_add(-1, best, -torch.ones_like(best, dtype=shares.dtype))
    line = (shares * heights + moments * slopes).sum(-1)
    return value + (line - line.detach())


def _tail(z: Tensor) -> Tensor:
    """E (Z - z)^+ for z >= 0, accurate far out."""
    # phi(z) - z Q(z) loses digits for large z; erfcx does not
    scaled = torch.special.erfcx(z / math.sqrt(2)) / 2
    found: Tensor = _pdf(z) * (1 - z * scaled * math.sqrt(2 * math.pi)).clamp_min(0)
    return found


def _pdf(z: Tensor) -> Tensor:
    return torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)


def _cdf(z: Tensor) -> Tensor:
    found: Tensor = torch.special.ndtr(z)
    return found


def _systematic(belief: Belief, count: int) -> Tensor:
    """Contexts (m, d_c) that stand for the one to come: drawn from the reference, spread over its weights."""
    points, weights = belief.reference
    if len(points) <= count and bool((weights == weights[0]).all()):
        return points
    return points[_spread(belief, weights, count)]


def _compared(belief: Belief, weights: Tensor, count: int) -> Tensor:
    """Contexts (m, d_c) among which one is chosen: half by the law, half by the weights (n,) or (M, n) of tangents."""
    points, likely = belief.reference
    if len(points) <= 2 * count:
        return points
    wide = weights.abs().mean(0) if weights.ndim > 1 else weights.abs()
    shares = (likely + wide / wide.sum().clamp_min(1e-300)) / 2
    return points[_spread(belief, shares / shares.sum(), 2 * count).unique()]


def _spread(belief: Belief, weights: Tensor, count: int) -> Tensor:
    """Indices (count,) drawn by weights (n,), spread over them."""
    start = torch.rand((), generator=belief.generator, dtype=torch.float64)
    levels = (torch.arange(count, dtype=torch.float64) + start) / count
    order = torch.randperm(len(weights), generator=belief.generator)
    places = torch.searchsorted(weights[order].cumsum(0), levels).clamp_max(len(weights) - 1)
    return order[places]
