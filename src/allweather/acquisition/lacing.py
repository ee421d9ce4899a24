"""Contexts whose outcome laces the bounds of a value at risk (V-UCB, CV-UCB)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from allweather.acquisition.base import Belief
from allweather.acquisition.context_rules import ContextRule
from allweather.errors import require_number
from allweather.objectives import VaR
from allweather.schedules import Schedule, as_schedule

TAIL_LEVELS = 16
"""Levels of the tail that are compared."""


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
        with torch.no_grad():
            return self.scores(belief, decision, belief.reference.points).argmax()

    def scores(self, belief: Belief, decision: Tensor, contexts: Tensor) -> Tensor:
        """The width of the band, less much where it does not lace the objective's bounds."""
        width = as_schedule(self.width, "LacingValue(width=...)")(belief.progress)
        mean, sd = belief.field(decision[None])
        worst, best = self.bounds(belief, mean - width * sd, mean + width * sd)
        if contexts is not belief.reference.points:
            mean, sd = belief.surrogate.field(contexts)(decision[None])
        low, high = mean[0] - width * sd[0], mean[0] + width * sd[0]
        missed = (low - worst).clamp_min(0) + (best - high).clamp_min(0)
        spread = sd[0] / sd[0].max().clamp_min(1e-300)
        scale = (high.max() - low.min()).clamp_min(1e-300)
        return spread - 1e6 * missed / scale

    def bounds(self, belief: Belief, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Return the bounds () that are laced, of functions between `low` and `high` (1, n): those of the objective."""
        worst, best = (belief.objective(each, belief.reference)[0] for each in (low, high))
        return worst, best


@dataclass(frozen=True)
class LacingTail(LacingValue):
    """The context of a lacing value of the tail (Nguyen et al. 2021, CV-UCB), for conditional value at risk.

    Of the values at risk of all levels up to that of the objective, which its mean is made of, that with the widest
    bounds is laced. For objectives without a level it is `LacingValue`.

    Example:
        >>> LacingTail(width=1.5)
        LacingTail(width=1.5)
    """

    def bounds(self, belief: Belief, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Return the bounds of the value at risk in the tail that is least known."""
        level = getattr(belief.objective, "level", None)
        if level is None:
            return super().bounds(belief, low, high)
        tail = [VaR(level * (place + 1) / TAIL_LEVELS) for place in range(TAIL_LEVELS)]
        worst, best = (torch.stack([risk(each, belief.reference)[0] for risk in tail]) for each in (low, high))
        widest = (best - worst).argmax()
        return worst[widest], best[widest]
