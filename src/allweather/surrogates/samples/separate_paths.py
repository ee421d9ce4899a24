"""Posterior sample paths that are each evaluated at decisions of its own, all in one batch.

The samples are those of `matheron`. `Paths` have the same decisions for all samples, as scores need; to maximise every
sample by itself, each needs its own. Where hyperparameters are averaged over, samples of one draw of them form a group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from allweather.surrogates.kernels import ProductKernel
from allweather.surrogates.posteriors.product import ProductPosterior

FEATURES, ALONE_FEATURES = 128, 256
"""Random cosines of each group, and of a group that is alone."""


@dataclass(frozen=True, eq=False)
class SeparatePaths:
    """Samples in g groups of k, each group with hyperparameters of its own."""

    kernel: ProductKernel
    """Of the first group: its family and split."""
    lengthscales: Tensor
    """(g, d)"""
    frequencies: Tensor
    """(g, F, d) of the random cosines."""
    phase: Tensor
    """(g, F)"""
    points: Tensor
    """(t, d) joint points of the data."""
    weights: Tensor
    """(g, k, 2F + t) of cosines, sines and of the kernels at the data, with all amplitudes."""
    means: Tensor
    """(g,) constant means of standardised outcomes."""
    units: tuple[float, float]
    """What outcomes were shifted and scaled by."""

    @classmethod
    def drawn(cls, parts: Sequence[ProductPosterior], each: int, generator: Generator) -> SeparatePaths:
        """Draw `each` samples of every one of the posteriors, which share their data.

        Args:
            parts: the posteriors, which differ in hyperparameters only.
            each: samples of every posterior.
            generator: the source of randomness.
        """
        first, g = parts[0].data, len(parts)
        kernel, points, device = first.kernel, first.points, first.points.device
        lengthscales = torch.stack([part.data.kernel.lengthscales for part in parts]).to(device)
        outputscales = torch.stack([part.data.kernel.outputscale.to(lengthscales) for part in parts])
        means = torch.tensor([part.data.mean for part in parts], dtype=torch.float64).to(device)
        features = FEATURES if g > 1 else ALONE_FEATURES
        split, d = kernel.split, lengthscales.shape[1]
        halves = [kernel.factor.frequencies((g * features, size), generator) for size in (split, d - split)]
        frequencies = torch.cat(halves, 1).unflatten(0, (g, features)).to(device) / lengthscales[:, None]
        phase = 2 * math.pi * torch.rand(g, features, generator=generator, dtype=torch.float64).to(device)
        prior = torch.randn(g, each, features, generator=generator, dtype=torch.float64).to(device)
        prior = prior * (2 * outputscales / features).sqrt()[:, None, None]
        at_data = prior @ (points @ frequencies.mT + phase[:, None]).cos().mT  # (g, k, t)
        noise = torch.randn(at_data.shape, generator=generator, dtype=torch.float64).to(device)
        unroot = torch.stack([part.data.unroot for part in parts])
        if first.noise_root is None:
            deviations = torch.stack([torch.as_tensor(part.data.deviations).expand(len(points)) for part in parts])
            targets = torch.stack([part.targets for part in parts]) - means[:, None]
            missing = targets[:, None] - at_data - deviations.to(noise)[:, None] * noise
            correction = (missing @ unroot.mT) @ unroot
        else:
            roots = torch.stack([part.data.noise_root for part in parts if part.data.noise_root is not None])
            expected = torch.stack([part.data.weights for part in parts])
            correction = expected[:, None] - (at_data @ unroot.mT) @ unroot - noise @ roots.mT
        weights = torch.cat([prior, prior, outputscales[:, None, None] * correction], -1)
        units = first.shift, first.scale
        return cls(kernel, lengthscales, frequencies, phase, points, weights, means, units)

    def of_contexts(self, contexts: Tensor) -> Tensor:
        """The share (g, 2F + t, n) of contexts (n, d_c) in cosines and kernels."""
        split = self.kernel.split
        angle = self.frequencies[..., split:] @ contexts.T
        near = self._correlations(contexts.expand(len(self.lengthscales), -1, -1), slice(split, None))
        return torch.cat([angle.cos(), -angle.sin(), near.mT], 1)

    def of_decisions(self, decisions: Tensor) -> Tensor:
        """The share (g, p, 2F + t) of decisions (g, p, d_x)."""
        split = self.kernel.split
        angle = torch.baddbmm(self.phase[:, None], decisions, self.frequencies[..., :split].mT)
        return torch.cat([angle.cos(), angle.sin(), self._correlations(decisions, slice(0, split))], -1)

    def outcomes(self, combined: Tensor) -> Tensor:
        """Combinations (g, ...) of weights and shares, as outcomes in their units."""
        means = self.means.view(-1, *[1] * (combined.ndim - 1))
        return self.units[0] + self.units[1] * (means + combined)

    def _correlations(self, places: Tensor, columns: slice) -> Tensor:
        """Correlations (g, p, t) of decisions or contexts (g, p, .) with those of the data."""
        factor, lengthscales = self.kernel.factor, self.lengthscales[:, None, columns]
        scaled, anchors = places / lengthscales, self.points[:, columns] / lengthscales
        if not scaled.shape[-1]:
            return scaled.new_ones(*scaled.shape[:2], anchors.shape[1])
        if factor.columns:
            return factor.of_differences(scaled[:, :, None] - anchors[:, None])
        lengths = scaled.square().sum(-1)[..., None] + anchors.square().sum(-1)[:, None]
        return factor.of(torch.baddbmm(lengths, scaled, anchors.mT, alpha=-2).clamp_min(0))
