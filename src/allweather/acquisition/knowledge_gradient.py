"""The knowledge gradient: what one more trial is expected to add to the objective of the best decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.acquisition.coming_contexts import coming_contexts
from allweather.acquisition.expected_maximum import expected_maximum
from allweather.acquisition.outcome_quadrature import QuadratureGain
from allweather.errors import require_count
from allweather.objectives import Expectation

ROUGH_CONTEXTS, ROUGH_DECISIONS = 4, 24
"""Coming contexts, and decisions compared, of the rough score."""
MAX_QUADRATURE_DECISIONS = 12
"""Decisions compared where the objective is computed at nodes."""


@dataclass(frozen=True)
class KnowledgeGradient(Acquisition):
    """The logarithm of what a trial is expected to add to the largest posterior mean of the objective.

    After a trial at decision x and context c the posterior mean of the objective of every decision is a line in the
    standardised outcome Z; the expectation of the largest line is exact (Frazier, Powell and Dayanik 2009). The
    context to come is averaged over the context distribution; where it is chosen, as in a simulator, the best one
    counts. Lines are exact for means; for transformed outcomes they are tangents. For other objectives the mean
    function after the trial is a line at every context, and the objective of it is computed at nodes of Z, on at most
    32 contexts and 12 decisions (`QuadratureGain`); where worst cases take long (MMD, Wasserstein) tangents are used.

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
    nodes: int = 12
    """Nodes of the quadrature in the outcome, for objectives that are not means; 0 for tangents, which are faster."""

    def __post_init__(self) -> None:
        require_count(self.contexts, "KnowledgeGradient(contexts=...)", low=1)
        require_count(self.decisions, "KnowledgeGradient(decisions=...)", low=1)
        require_count(self.nodes, "KnowledgeGradient(nodes=...)")

    def build(self, belief: Belief) -> Score:
        """The score, and a rough one with fewer contexts and decisions."""
        return self._gain(belief)

    def _gain(self, belief: Belief) -> StepGain | QuadratureGain:
        tangents = isinstance(belief.objective, Expectation) or belief.objective.slow or not self.nodes
        score: StepGain | QuadratureGain = StepGain(belief, self.decisions, self.contexts)
        if not tangents:
            score = QuadratureGain(belief, min(self.decisions, MAX_QUADRATURE_DECISIONS), self.contexts, self.nodes)
        score.rough = StepGain(belief, ROUGH_DECISIONS, ROUGH_CONTEXTS)
        return score

    def together(self, beliefs: Sequence[Belief]) -> list[Score]:
        """What counts is the gain over the best of all beliefs; what a trial says about the others is left out."""
        scores = [self._gain(belief) for belief in beliefs]
        rough = [score.rough for score in scores if score.rough is not None]
        for each in (scores, rough):
            for place, score in enumerate(each):
                others = [other.best for other in each[:place] + each[place + 1 :]]
                score.elsewhere = torch.stack(others).max() if others else None
        return list(scores)


class StepGain(HintedScore):
    """The logarithm of the expected gain of one trial."""

    rough: StepGain | None = None
    elsewhere: Tensor | None = None
    """The objective of the best decision of other beliefs, where there are any."""

    def __init__(self, belief: Belief, decisions: int, contexts: int) -> None:
        compared = belief.incumbents(decisions) if belief.compared is None else belief.compared[:decisions]
        self._belief = belief
        with torch.no_grad():
            weights = belief.weights(compared)
            coming = coming_contexts(belief, weights, contexts)
            self._step = belief.field.step(compared, weights, coming)
            self._heights = belief.expected(compared)  # (M,)
            self.best = self._heights.max()

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        belief = self._belief
        slopes = self._step(decisions)  # (b, m, M)
        own = self._step.own(decisions, belief.weights(decisions))  # (b, m)
        height = belief.expected(decisions)
        heights = torch.cat([self._heights.expand(len(decisions), -1), height[:, None]], 1)  # (b, M + 1)
        slopes = torch.cat([slopes, own[..., None]], -1)
        if self.elsewhere is not None:  # it stays where it is
            heights = torch.cat([heights, self.elsewhere.expand(len(heights), 1)], 1)
            slopes = torch.cat([slopes, torch.zeros_like(slopes[..., :1])], -1)
        gains = expected_maximum(heights[:, None].expand_as(slopes), slopes)
        return ((gains.amax(-1) if belief.chooses else gains.mean(-1)) + 1e-300).log()
