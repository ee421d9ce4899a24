"""Samples of a linear model on random Fourier features in place of the surrogate (Rahimi and Recht 2007).

The published code of bocu and subsets samples in this way. The model has as many degrees of freedom as it has weights:
once data determine most of them, its samples vary less than the posterior (variance starvation). `matheron` avoids it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from allweather.surrogates.base import Paths
from allweather.surrogates.posteriors.field import Data
from allweather.surrogates.samples.paths import Waves


class Pairs(NamedTuple):
    """Cosine and sine of each frequency, without phases: two weights for each, as in the published code."""

    waves: Waves
    """Phases are 0."""

    @property
    def weights(self) -> int:
        """Number of weights."""
        return 2 * len(self.waves.phase)

    @classmethod
    def draw(cls, data: Data, features: int, generator: Generator) -> Pairs:
        """Draw the features of a kernel.

        Args:
            data: the posterior whose kernel is approximated.
            features: number of frequencies, half the number of weights.
            generator: the source of randomness.
        """
        drawn = Waves.draw(data, features, generator)
        # A cosine of random phase has half the variance of a pair.
        return cls(Waves(drawn.decision, drawn.context, torch.zeros_like(drawn.phase), drawn.amplitude / math.sqrt(2)))

    def at(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """(t, weights) the features at joint points, given as decisions (t, d_x) and contexts (t, d_c)."""
        angle = decisions @ self.waves.decision.T + contexts @ self.waves.context.T
        return self.waves.amplitude * torch.cat([angle.cos(), angle.sin()], -1)

    def functions(self, weights: Tensor, contexts: Tensor, average: Tensor | None = None) -> Paths:
        """The functions with weights (samples, weights), bound to contexts (n, d_c) or averaged over them.

        Args:
            weights: of the features.
            contexts: where values are wanted.
            average: (n,) of sum 1, where only the mean over the contexts is wanted: then values are (samples, b, 1).
        """
        of_cosine, of_sine = weights[..., None].chunk(2, -2)  # (samples, F, 1)
        bound = self.waves.of_contexts(contexts).T  # (2F, n)
        cosine, minus_sine = (bound if average is None else (bound @ average)[:, None]).chunk(2)
        # cos(a + b) and sin(a + b), sorted by cos(a) and sin(a)
        right = torch.cat([of_cosine * cosine - of_sine * minus_sine, of_sine * cosine + of_cosine * minus_sine], -2)
        return lambda decisions: self.waves.of_decisions(decisions) @ right


def weight_space(
    data: Data,
    targets: Tensor,
    contexts: Tensor,
    count: int,
    generator: Generator,
    features: int = 1024,
    average: Tensor | None = None,
) -> Paths:
    """`count` samples of Bayesian linear regression on random Fourier features, bound to contexts (n, d_c).

    As `matheron`, but the data correct the weights of the features instead of adding kernels: good while the weights
    far outnumber the data.

    Args:
        data: the posterior; this and what follows is as in `matheron`.
        targets: (t,)
        contexts: (n, d_c)
        count: of samples.
        generator: of random numbers.
        features: number of frequencies.
        average: (n,)
    """
    basis = Pairs.draw(data, features, generator)
    device = data.points.device
    weights = torch.randn(count, basis.weights, generator=generator, dtype=torch.float64).to(device)
    split = data.kernel.split
    at_data = basis.at(data.points[:, :split], data.points[:, split:])  # (t, weights)
    noise = torch.randn(count, len(at_data), generator=generator, dtype=torch.float64).to(device)
    missing = targets - data.mean - weights @ at_data.T - data.deviations * noise
    variance = data.noise
    if data.variances is not None:  # in units of each outcome's own noise
        at_data, missing, variance = at_data / data.deviations[:, None], missing / data.deviations, 1.0
    fewer = len(at_data) > basis.weights  # the same by the matrix inversion lemma, in the smaller dimension
    gram = at_data.T @ at_data if fewer else at_data @ at_data.T
    gram.diagonal().add_(variance)
    if fewer:
        correction = torch.linalg.solve(gram, (missing @ at_data).T).T
    else:
        correction = torch.linalg.solve(gram, missing.T).T @ at_data
    functions = basis.functions(weights + correction, contexts, average)
    return lambda decisions: data.shift + data.scale * (data.mean + functions(decisions))
