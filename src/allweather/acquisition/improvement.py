"""Expected improvement of the objective itself, which is no Gaussian: by posterior samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.errors import MAX_COUNT, require, require_count
from allweather.objectives import Band

MAX_INCUMBENTS = 16
BLOCK_OBSERVATIONS = 64
"""Observations at which samples are evaluated at a time."""


@dataclass(frozen=True)
class ExpectedImprovement(Acquisition):
    """The logarithm of the expected gain over the best decision so far, both under the same sample (noisy EI).

    The best decision so far differs from sample to sample: no outcome is taken at face value. The logarithm keeps a
    slope where an improvement is unlikely (Ament et al. 2023).
    """

    logarithmic: ClassVar[bool] = True

    samples: int = 32
    features: int = 256
    """Random cosines of each sample's prior part."""
    best: Literal["decisions", "data"] = "decisions"
    """What a gain is measured from under each sample: the objective of the best decision so far, or the largest value
    of the function at the data (subsets, App. C.2; errata E48)."""

    def __post_init__(self) -> None:
        require_count(self.samples, "ExpectedImprovement(samples=...)", low=1, high=MAX_COUNT)
        require_count(self.features, "ExpectedImprovement(features=...)", low=1, high=MAX_COUNT)
        known = self.best in ("decisions", "data")
        require(known, "ExpectedImprovement(best=...)", "be 'decisions' or 'data'", self.best)

    def build(self, belief: Belief) -> Score:
        """Samples are drawn once; the score is a smooth function of the decision. A few samples show where to look."""
        return self._gain(belief)

    def together(self, beliefs: Sequence[Belief]) -> list[Score]:
        """What counts is the gain over the best of all beliefs, sample by sample."""
        scores = [self._gain(belief) for belief in beliefs]
        for each in (scores, [score.rough for score in scores if score.rough is not None]):
            best = torch.stack([score.best for score in each]).amax(0)
            for score in each:
                score.best = best
        return list(scores)

    def _gain(self, belief: Belief) -> _Gain:
        tried = belief.incumbents(MAX_INCUMBENTS) if self.best == "decisions" else None
        score = _Gain(belief, tried, self.samples, self.features)
        score.rough = _Gain(belief.rough() or belief, tried, -(-self.samples // 4), self.features)
        return score


class _Gain(HintedScore):
    """The logarithm of the mean gain over samples, from the best of the decisions tried, or of all data if None."""

    rough: _Gain | None = None

    def __init__(self, belief: Belief, tried: Tensor | None, samples: int, features: int) -> None:
        state = belief.generator.get_state()
        self._paths = belief.surrogate.paths(belief.reference.points, samples, belief.generator, features)
        self._belief = belief
        with torch.no_grad():
            before = _at_data(belief, samples, features, state) if tried is None else self._sampled(tried)
            self.best = before.amax(-1, keepdim=True)
            # Gains far below the spread of the sampled bests are lost in softening.
            spread = float((before - before.mean()).abs().mean() + self.best.std(correction=0))
        self._softness = max(1e-3 * spread, 1e-12 * float(self.best.abs().max()), 1e-300)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        gain = _log_softplus((self._sampled(decisions) - self.best) / self._softness)
        average: Tensor = torch.logsumexp(gain, 0) + math.log(self._softness / len(gain))
        return average

    def _sampled(self, decisions: Tensor) -> Tensor:
        """The objective (samples, b) under each sample."""
        return self._belief.objective.upper(Band(self._paths(decisions)), self._belief.reference)


def _at_data(belief: Belief, samples: int, features: int, state: Tensor) -> Tensor:
    """The values (samples, t) of the sampled functions at the observations; `state` is the generator's before them."""
    seen, parts = belief.observations, []
    for x, c in zip(seen.decisions.split(BLOCK_OBSERVATIONS), seen.contexts.split(BLOCK_OBSERVATIONS), strict=True):
        again = torch.Generator().set_state(state)
        values = belief.surrogate.paths(c, samples, again, features)(x)  # (samples, m, m)
        parts.append(values.diagonal(dim1=-2, dim2=-1))
    return torch.cat(parts, -1)


def _log_softplus(z: Tensor) -> Tensor:
    """log(log(1 + exp(z))), which is z itself where z is very negative."""
    small = z < -30
    return torch.where(small, z, torch.nn.functional.softplus(z.clamp_min(-30)).log())
