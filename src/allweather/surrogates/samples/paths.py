"""Posterior sample paths by Matheron's rule (Wilson et al. 2020).

A path is a sample of the prior plus a correction towards the data. The prior sample is a sum of random cosines, the
correction uses the exact kernel, so data may outnumber the cosines without starving the variance. In a product
kernel a cosine of decision and context splits into cosines of each, so a batch of decisions times all contexts is one
matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from allweather.surrogates.base import Paths
from allweather.surrogates.posteriors.field import Data


@dataclass(frozen=True, eq=False)
class Waves:
    """Random cosines whose covariance is, on average over draws, exactly the kernel."""

    decision: Tensor
    """(F, d_x) frequencies."""
    context: Tensor
    """(F, d_c) frequencies."""
    phase: Tensor
    """(F,)"""
    amplitude: float

    @classmethod
    def draw(cls, data: Data, features: int, generator: Generator) -> Waves:
        """Frequencies from the spectral density of each factor."""
        kernel = data.kernel
        split, d = kernel.split, len(kernel.lengthscales)
        if data.order is None:
            decision, context = (
                kernel.factor.frequencies((features, len(part)), generator).to(part.device) / part
                for part in (kernel.lengthscales[:split], kernel.lengthscales[split:])
            )
        else:  # the same function, however its columns are arranged
            drawn = kernel.factor.frequencies((features, d), generator)[:, list(data.order)]
            drawn = drawn.to(kernel.lengthscales.device) / kernel.lengthscales
            decision, context = drawn[:, :split], drawn[:, split:]
        phase = 2 * math.pi * torch.rand(features, generator=generator, dtype=torch.float64).to(decision.device)
        return cls(decision, context, phase, math.sqrt(2 * float(kernel.outputscale) / features))

    def of_decisions(self, decisions: Tensor) -> Tensor:
        """(b, 2F) the cosines' share of the decisions."""
        angle = decisions @ self.decision.T + self.phase
        return torch.cat([angle.cos(), angle.sin()], -1)

    def of_contexts(self, contexts: Tensor) -> Tensor:
        """(n, 2F) the cosines' share of the contexts, which are few and bear the amplitude."""
        angle = contexts @ self.context.T
        return self.amplitude * torch.cat([angle.cos(), -angle.sin()], -1)


def matheron(
    data: Data,
    targets: Tensor,
    contexts: Tensor,
    count: int,
    generator: Generator,
    features: int = 1024,
    average: Tensor | None = None,
) -> Paths:
    """`count` posterior samples bound to contexts (n, d_c).

    Args:
        data: the posterior.
        targets: (t,) standardised outcomes.
        contexts: (n, d_c) where values are wanted.
        count: how many samples; they share their frequencies and differ in all else.
        generator: the source of the samples.
        features: how many cosines make a sample of the prior.
        average: (n,) of sum 1, where only the mean over the contexts is wanted: then values are (samples, b, 1).
    """
    kernel = data.kernel
    waves = Waves.draw(data, features, generator)
    weights = torch.randn(count, features, generator=generator, dtype=torch.float64).to(data.points.device).repeat(1, 2)
    x, c = data.points[:, : kernel.split], data.points[:, kernel.split :]
    at_data = weights @ (waves.of_decisions(x) * waves.of_contexts(c)).T  # (count, t)
    noise = torch.randn(at_data.shape, generator=generator, dtype=torch.float64).to(x.device)
    if data.noise_root is None:
        missing = targets - data.mean - at_data - data.deviations * noise
        correction = (missing @ data.unroot.T) @ data.unroot  # (count, t)
    else:
        correction = data.weights - (at_data @ data.unroot.T) @ data.unroot - noise @ data.noise_root.T

    scaled_x, anchors = kernel.scaled(data.points)
    correlations = kernel.factor(contexts / kernel.lengthscales[kernel.split :], anchors)  # (n, t)
    # Cosines and corrections side by side: one product serves both.
    right = torch.cat([waves.of_contexts(contexts), correlations], -1).T.contiguous()
    right = right if average is None else (right @ average)[:, None]
    if average is None and count > 1 and len(contexts) <= 2 * count:
        product = pairwise_weighted(torch.cat([weights[:, :features], correction], -1), right, features)
    else:
        product = weighted(torch.cat([weights, correction], -1), right)

    def values(decisions: Tensor) -> Tensor:
        near = kernel.outputscale * kernel.factor(decisions / kernel.lengthscales[: kernel.split], scaled_x)
        left = torch.cat([waves.of_decisions(decisions), near], -1)  # (b, 2F + t)
        return data.shift + data.scale * (data.mean + product(left))

    return values


def pairwise_weighted(weights: Tensor, right: Tensor, features: int) -> Callable[[Tensor], Tensor]:
    """As `weighted` where the two parts of every cosine have one weight: they are added before, at every context.

    Args:
        weights: (samples, features + t).
        right: (2 features + t, n).
        features: number of cosines.
    """
    columns = right.T.contiguous()  # (n, 2 features + t)
    return lambda left: Pairwise.apply(left, weights, columns, features)  # type: ignore[no-untyped-call]


class Pairwise(torch.autograd.Function):
    """The products of `pairwise_weighted`, with a gradient that is cheap where few of them count.

    Of a quantile over contexts one value of each sample counts: then only that one is differentiated.
    """

    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,  # (b, 2 features + t)
        weights: Tensor,  # (samples, features + t)
        columns: Tensor,  # (n, 2 features + t)
        features: int,
    ) -> Tensor:
        """The products (samples, b, n)."""
        ctx.save_for_backward(weights, columns)
        ctx.features = features
        x, y, near = left[:, None].tensor_split([features, 2 * features], -1)
        cosines, sines, correlations = columns.tensor_split([features, 2 * features], -1)
        pairs = left.new_empty(len(left), len(columns), weights.shape[1])  # (b, n, features + t)
        torch.mul(x, cosines, out=pairs[..., :features]).addcmul_(y, sines)
        torch.mul(near, correlations, out=pairs[..., features:])
        found: Tensor = (weights @ pairs.flatten(0, 1).T).unflatten(1, pairs.shape[:2])
        return found

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        """The gradient in `left` alone."""
        weights, columns = ctx.saved_tensors
        counts = upstream[0].transpose(0, 1)  # (b, samples, n)
        place = _only(counts)
        if place is not None:
            both = torch.cat([weights[:, : ctx.features], weights], -1)  # (samples, 2 features + t)
            chosen = columns[place].mul_(both)
            return (counts.gather(-1, place[..., None]).mT @ chosen)[:, 0], None, None, None
        pull = (weights.T @ upstream[0].flatten(1)).T.unflatten(0, upstream[0].shape[1:])  # (b, n, features + t)
        parts = columns.tensor_split([ctx.features, 2 * ctx.features], -1)
        shares, near = pull.tensor_split([ctx.features], -1)
        found = [(each * part).sum(1) for each, part in zip((shares, shares, near), parts, strict=True)]
        return torch.cat(found, -1), None, None, None


def _only(values: Tensor) -> Tensor | None:
    """Where (...,) along the last dimension the only number is that is not zero; None where some have more."""
    if values.device.type != "cpu":
        return None
    filled = values.numpy() != 0
    if np.count_nonzero(filled) > filled[..., 0].size:
        return None
    place = filled.argmax(-1)
    alone = np.count_nonzero(np.take_along_axis(filled, place[..., None], -1)) == np.count_nonzero(filled)
    return torch.from_numpy(place) if alone else None


def weighted(weights: Tensor, right: Tensor) -> Callable[[Tensor], Tensor]:
    """The products `(weights * left) @ right` (samples, b, n) of any `left` (b, m)."""
    if len(weights) == 1:  # the contexts can bear the weights once and for all
        heavy = weights[0, :, None] * right
        return lambda left: (left @ heavy)[None]
    if right.shape[1] == 1:
        pulls = (weights * right[:, 0]).T
        return lambda left: (left @ pulls).T[..., None]
    return lambda left: (weights[:, None, :] * left) @ right
