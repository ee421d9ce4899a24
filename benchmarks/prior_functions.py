"""Problems whose function is drawn from the surrogate's own prior, with hyperparameters that the benchmark knows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import betaincinv
from torch import Tensor

import allweather as aw
from allweather.problems import Problem
from allweather.surrogates import Hyperparameters

FEATURES = 4096
NOISE = 0.05
SHAPE = (2.0, 4.0)
"""Of the beta law of the context: skewed, and dense at no bound."""


@dataclass(frozen=True, eq=False)
class Cosines:
    """A sum of random cosines: to a relative error of 1/sqrt(features) a draw of a GP with a product of Materns."""

    frequencies: Tensor
    """(F, d)"""
    phase: Tensor
    """(F,)"""
    weights: Tensor
    """(F,)"""

    @classmethod
    def drawn(cls, fitted: Hyperparameters, split: int, generator: torch.Generator) -> Cosines:
        """A draw with these hyperparameters, whose first `split` columns are decisions."""
        kernel = fitted.kernel("matern52", split)
        d = len(fitted.lengthscales)
        parts = [kernel.factor.frequencies((FEATURES, columns), generator) for columns in (split, d - split)]
        phase = 2 * math.pi * torch.rand(FEATURES, generator=generator, dtype=torch.float64)
        weights = math.sqrt(2 * fitted.outputscale / FEATURES) * torch.randn(
            FEATURES, generator=generator, dtype=torch.float64
        )
        return cls(torch.cat(parts, 1) / kernel.lengthscales, phase, weights)

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Values (b, n)."""
        split = decisions.shape[1]
        first = decisions @ self.frequencies[:, :split].T + self.phase
        second = contexts @ self.frequencies[:, split:].T
        return (self.weights * first.cos()) @ second.cos().T - (self.weights * first.sin()) @ second.sin().T


def hyperparameters(seed: int) -> Hyperparameters:
    """Lengthscales between .15 and 1, log-uniform; outcomes of variance 1."""
    logs = np.random.default_rng([seed, 17]).uniform(math.log(0.15), 0.0, size=3)
    return Hyperparameters(tuple(np.exp(logs).tolist()), 1.0, NOISE**2, 0.0)


def prior_problem(seed: int) -> Problem:
    """Two decisions and a context with a beta law; the function is a draw of the prior."""
    function = Cosines.drawn(hyperparameters(seed), 2, torch.Generator().manual_seed(seed))

    def quantile(uniforms: np.ndarray) -> np.ndarray:
        return np.asarray(betaincinv(*SHAPE, uniforms))

    return Problem(
        name="prior",
        space=aw.Space(x1=aw.Real(0, 1), x2=aw.Real(0, 1), c=aw.Context(0, 1)),
        function=function,
        sample=lambda n, rng: quantile(rng.random((n, 1))),
        quantile=quantile,
        noise=NOISE,
        initial=10,
    )
