"""Draws of the joint posterior over the contexts of each decision, from a low-rank root of the context kernel.

A function at a decision is a combination of as many features as the root has columns, whose posterior is known; the
variance that the root lacks is drawn for each context by itself. Posteriors that differ in their constant mean only
share all of it. Of a weighted mean over contexts a draw is one number, which needs no values at the contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Generator, Tensor

from allweather.surrogates.base import Moments

if TYPE_CHECKING:
    from allweather.surrogates.posteriors.field import Data

MAX_ROOT_COLUMNS, ROOT_TOLERANCE = 64, 1e-4
"""Limits on the columns of the context kernel's root, and on the share of variance that it leaves out."""

Truncated = tuple[Tensor, Tensor]
"""A root (n + t, r) of the context kernel at contexts and those of the data, and the variances (n + t,) it lacks."""


class Noise(NamedTuple):
    """The random numbers of some draws."""

    features: Tensor
    """(k, r)"""
    alone: Tensor | None
    """(k, n) of what the root lacks; None where that is too little to matter."""

    @classmethod
    def draw(cls, count: int, truncated: Truncated, n: int, generator: Generator) -> Noise:
        """Standard normal numbers for `count` draws at n contexts."""
        root, lacking = truncated
        features = torch.randn(count, 1, root.shape[1], generator=generator, dtype=torch.float64)[:, 0]
        if float(lacking[:n].max()) <= ROOT_TOLERANCE:
            return cls(features.to(root.device), None)
        alone = torch.randn(count, 1, n, generator=generator, dtype=torch.float64)[:, 0]
        return cls(features.to(root.device), alone.to(root.device))


class Drawn(NamedTuple):
    """Posteriors that differ in their constant mean only, and the random numbers of the draws from each."""

    parts: Sequence[Data]
    noises: Sequence[Noise]
    truncated: Truncated

    def values(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Draws (k, b, n) of the outcomes of decisions (b, d_x) in contexts (n, d_c)."""
        data, (root, lacking), n = self.parts[0], self.truncated, len(contexts)
        near, correlations = _correlated(data, decisions, contexts)
        drawn = self._features(near) @ root[:n].T
        for alone, rows in zip((noise.alone for noise in self.noises), self._rows(), strict=True):
            if alone is not None:
                drawn[rows] += (data.kernel.outputscale * lacking[:n]).sqrt() * alone[:, None]
        drawn *= data.scale
        for part, rows in zip(self.parts, self._rows(), strict=True):
            drawn[rows] += data.shift + data.scale * (part.mean + (near * part.weights) @ correlations.T)
        return drawn

    def means(
        self,
        decisions: Tensor,  # (b, d_x)
        contexts: Tensor,  # (n, d_c)
        laws: Tensor,  # (k, n)
    ) -> Tensor:
        """Draws (k, b) of the means of outcomes, each under a law of its own."""
        data, (root, lacking), n = self.parts[0], self.truncated, len(contexts)
        near, correlations = _correlated(data, decisions, contexts)
        total, at_data = laws.sum(-1, keepdim=True), laws @ correlations  # (k, 1), (k, t)
        drawn = (self._features(near) @ (laws @ root[:n])[..., None])[..., 0]
        for part, noise, rows in zip(self.parts, self.noises, self._rows(), strict=True):
            drawn[rows] += part.mean * total[rows] + (at_data[rows] * part.weights) @ near.T
            if noise.alone is not None:
                deviations = (data.kernel.outputscale * lacking[:n]).sqrt()
                drawn[rows] += (laws[rows] * noise.alone) @ deviations[:, None]
        return data.shift * total + data.scale * drawn

    def _rows(self) -> list[slice]:
        """Which of the k draws are those of each part."""
        ends = torch.tensor([0, *(len(noise.features) for noise in self.noises)]).cumsum(0).tolist()
        return [slice(low, high) for low, high in pairwise(ends)]

    def _features(self, near: Tensor) -> Tensor:
        """Draws (k, b, r) of the features of each decision."""
        data, root = self.parts[0], self.truncated[0]
        at_data = root[-len(data.points) :]
        half = data.unroot @ (near[..., None] * at_data)  # (b, t, r)
        prior = data.kernel.outputscale * torch.eye(root.shape[1], dtype=torch.float64, device=root.device)
        normal = torch.cat([noise.features for noise in self.noises])
        return (_root(prior - half.mT @ half) @ normal.T).permute(2, 0, 1)


def mean_moments(
    data: Data,
    truncated: Truncated,
    decisions: Tensor,  # (b, d_x)
    contexts: Tensor,  # (n, d_c)
    laws: Tensor,  # (k, n)
) -> Moments:
    """Mean and standard deviation (k, b) of the mean outcome of decisions, under each law.

    Args:
        data: of the posterior.
        truncated: a root of its context kernel, which says how much means vary before there are data.
        decisions: in the unit cube.
        contexts: likewise.
        laws: weights of the contexts.
    """
    (root, lacking), n = truncated, len(contexts)
    near, correlations = _correlated(data, decisions, contexts)
    total, at_data = laws.sum(-1, keepdim=True), laws @ correlations  # (k, 1), (k, t)
    mean = data.mean * total + (at_data * data.weights) @ near.mT
    prior = data.kernel.outputscale * ((laws @ root[:n]).square().sum(-1) + laws.square() @ lacking[:n])
    explained = ((near * at_data[:, None]) @ data.unroot.mT).square().sum(-1)  # (k, b)
    sd = (prior[:, None] - explained).maximum(1e-12 * prior[:, None]).sqrt()
    return Moments(data.shift * total + data.scale * mean, data.scale * sd)


def _correlated(data: Data, decisions: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor]:
    """Covariances (b, t) of decisions with the data, and correlations (n, t) of contexts."""
    kernel = data.kernel
    x, c = kernel.scaled(data.points)
    near = kernel.outputscale * kernel.factor(decisions / kernel.lengthscales[: kernel.split], x)
    return near, kernel.factor(contexts / kernel.lengthscales[kernel.split :], c)


def _root(covariance: Tensor) -> Tensor:
    """A root (b, r, r) of covariances (b, r, r) that rounding may have made indefinite."""
    largest = covariance.diagonal(dim1=-2, dim2=-1).amax(-1)[:, None, None]
    jitter = 1e-9 * largest * torch.eye(covariance.shape[-1], dtype=torch.float64, device=covariance.device)
    root: Tensor
    root, failed = torch.linalg.cholesky_ex(covariance + jitter)
    broken = failed != 0
    if bool(broken.any()):
        variances, axes = torch.linalg.eigh(covariance[broken])
        root[broken] = axes * variances.clamp_min(0).sqrt()[:, None, :]
    return root
