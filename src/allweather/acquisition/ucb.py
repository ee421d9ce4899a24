"""Optimism in the face of uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.errors import require, require_number
from allweather.schedules import Schedule, as_schedule
from allweather.surrogates.posteriors.product import ProductPosterior


@dataclass(frozen=True)
class UCB(Acquisition):
    """The objective's upper bound over all functions within `width` posterior standard deviations of the mean.

    Example:
        >>> UCB(2.0).width
        2.0
    """

    bounds_objective: ClassVar[bool] = True

    width: float | Schedule | Callable[[int], float] = 1.5
    """Multiplies the standard deviation: a number, a schedule or a function of the step."""

    def __post_init__(self) -> None:
        if not callable(self.width):
            require_number(self.width, "UCB(width=...)", low=0)

    def build(self, belief: Belief) -> Score:
        """The objective's own upper bound in the band."""
        width = as_schedule(self.width, "UCB(width=...)")(belief.progress)
        require(width >= 0, f"UCB(width=...) at step {belief.step}", "be at least 0", width)

        score, rough = _Optimism(belief, width), belief.rough()
        if rough is not None:
            score.rough = _Optimism(rough, width)
        limit = belief.objective.ceiling(belief.reference)
        factor = belief.objective.mean_factor
        if limit is not None:
            score.bound = lambda decisions: limit(belief.band(decisions, width))
        elif factor is not None and isinstance(belief.surrogate, ProductPosterior):
            score.bound = lambda decisions: factor * belief.mean_bound(decisions, width)
        return score


class _Optimism(HintedScore):
    """The objective's upper bound as a function of decisions."""

    def __init__(self, belief: Belief, width: float) -> None:
        self._belief, self._width = belief, width

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        belief = self._belief
        return belief.objective.upper(belief.band(decisions, self._width), belief.reference)
