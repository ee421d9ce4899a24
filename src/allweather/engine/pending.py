"""Pending and failed trials: what a batch assumes about them, and how it keeps away from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

from allweather.acquisition import Belief
from allweather.acquisition.base import Score
from allweather.acquisition.optimize import Search


def keep_apart(decision: Tensor, pending: Tensor, score: Score, search: Search, generator: Generator) -> Tensor:
    """Return the decision (d_x,), or where it repeats a pending one (m, d_x), the best one elsewhere."""
    if not len(pending) or not bool(((pending - decision).abs().amax(-1) < 1e-3).any()):
        return decision
    elsewhere = PendingPenalty.of(score, pending, search.sample(64, generator))
    return search.best(elsewhere, generator).decision


@dataclass(frozen=True, eq=False)
class PendingPenalty:
    """A score with a penalty near pending decisions, so that a batch does not try one decision twice."""

    score: Score
    pending: Tensor
    """(m, d_x) decisions to keep away from."""
    height: float
    """The penalty at a pending decision."""

    @classmethod
    def of(cls, score: Score, pending: Tensor, spread: Tensor) -> PendingPenalty:
        """A penalty as high as the score's range over some spread points."""
        with torch.no_grad():
            values = score(spread)
        values = values[torch.isfinite(values)]
        height = float(values.max() - values.min()) if len(values) else 0.0
        return cls(score, pending, height or 1.0)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score, lowered within some hundredths of the cube of a pending decision."""
        squared = (decisions[:, None, :] - self.pending).square().mean(-1)
        return self.score(decisions) - self.height * (-squared / (2 * 0.03**2)).exp().sum(-1)


def condition_on_pending(belief: Belief, pending: Tensor, failed: Tensor) -> Belief:
    """Return the belief given pending trials at their expected outcome, and failed ones at the worst outcome seen."""
    surrogate = belief.surrogate
    if len(pending):
        surrogate = surrogate.given(pending)
    if len(failed):
        surrogate = surrogate.given(failed, belief.observations.values.min().expand(len(failed)))
    return belief if surrogate is belief.surrogate else replace(belief, surrogate=surrogate)
