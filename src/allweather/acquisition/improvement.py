"""Expected improvement of the objective itself, which is no Gaussian: by posterior samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, Score
from allweather.errors import require_count
from allweather.objectives import Band

INCUMBENTS = 16


@dataclass(frozen=True)
class ExpectedImprovement(Acquisition):
    """The logarithm of the expected gain over the best decision so far, both under the same sample (noisy EI).

    The best decision so far differs from sample to sample: no outcome is taken at face value. The logarithm keeps a
    slope where an improvement is unlikely (Ament et al. 2023).
    """

    samples: int = 32
    features: int = 256
    """Random cosines of each sample's prior part."""

    def __post_init__(self) -> None:
        require_count(self.samples, "ExpectedImprovement(samples=...)", low=1)
        require_count(self.features, "ExpectedImprovement(features=...)", low=1)

    def build(self, belief: Belief) -> Score:
        """Samples are drawn once; the score is a smooth function of the decision."""
        paths = belief.surrogate.paths(belief.reference.points, self.samples, belief.generator, self.features)

        def sampled(decisions: Tensor) -> Tensor:  # (samples, b)
            return belief.objective.upper(Band(paths(decisions)), belief.reference)

        with torch.no_grad():
            tried = sampled(_incumbents(belief))
            best = tried.amax(-1, keepdim=True)
            # Gains far below the spread of the sampled bests are lost in softening.
            spread = float((tried - tried.mean()).abs().mean() + best.std(correction=0))
        softness = max(1e-3 * spread, 1e-12 * float(best.abs().max()), 1e-300)

        def score(decisions: Tensor) -> Tensor:
            gain = _log_softplus((sampled(decisions) - best) / softness)
            average: Tensor = torch.logsumexp(gain, 0) + math.log(softness / self.samples)
            return average

        return score


def _incumbents(belief: Belief) -> Tensor:
    """The decisions so far that look best under the posterior mean: few, since each is priced under all samples."""
    tried: Tensor = belief.observations.decisions.unique(dim=0)
    if len(tried) <= INCUMBENTS:
        return tried
    expected = torch.cat([belief.expected(block) for block in tried.split(64)])
    return tried[expected.argsort(descending=True)[:INCUMBENTS]]


def _log_softplus(z: Tensor) -> Tensor:
    """log(log(1 + exp(z))), which is z itself where z is very negative."""
    small = z < -30
    return torch.where(small, z, torch.nn.functional.softplus(z.clamp_min(-30)).log())
