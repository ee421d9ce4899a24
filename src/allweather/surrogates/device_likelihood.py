"""The likelihood of a GP's hyperparameters and its gradient in closed form, computed where the points are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from allweather.surrogates.kernels import Factor, squared_distances
from allweather.surrogates.linear_algebra import cholesky_root


class Likelihood(NamedTuple):
    """Minus the log likelihood, its gradient in the logarithms of hyperparameters, and the constant mean."""

    value: float
    gradient: np.ndarray
    """(d + 2,)"""
    mean: float


def minus_log_likelihood(
    family: str,
    split: int,
    points: Tensor,  # (t, d)
    targets: Tensor,  # (t,)
    logarithms: np.ndarray,  # (d + 2,)
    mean: float | None,
) -> Likelihood:
    """Minus the log likelihood of standardised outcomes; the mean is profiled out where it is None.

    Args:
        family: the kernel's.
        split: how many columns are decisions.
        points: joint points, on any device.
        targets: the outcomes, there too.
        logarithms: of lengthscales, outputscale and noise.
        mean: the prior's constant mean.
    """
    natural = np.exp(logarithms)
    factor, (t, d) = Factor.named(family), points.shape
    scaled = points / torch.from_numpy(natural[:d]).to(points.device)
    halves = [scaled[:, group] for group in factor.groups(split, d)]
    apart = [squared_distances(half, half) for half in halves]
    covariance = natural[d] * math.prod((factor.of(each) for each in apart), start=torch.ones_like(apart[0]))
    noisy = covariance.clone()
    noisy.diagonal().add_(natural[d + 1])
    root = cholesky_root(noisy)
    inverse = torch.cholesky_inverse(root)
    if mean is None:
        row = inverse.sum(0)
        mean = float(row @ targets / row.sum())
    residual = targets - mean
    weights = inverse @ residual
    value = 0.5 * residual @ weights + root.diagonal().log().sum() + 0.5 * t * math.log(2 * math.pi)
    slope = 0.5 * (inverse - weights[:, None] * weights)
    pull = slope * covariance
    steepness = [factor.steepness(each) / factor.of(each).clamp_min(1e-300) for each in apart]
    stretches = [_stretch(half, pull * steep) for half, steep in zip(halves, steepness, strict=True)]
    scales = torch.stack([pull.sum(), slope.diagonal().sum() * natural[d + 1]])
    return Likelihood(float(value), torch.cat([*stretches, scales]).cpu().numpy(), mean)


def _stretch(scaled: Tensor, pull: Tensor) -> Tensor:
    """The sums (d,) of pull * (a - b)^2 over all pairs of points."""
    return 2 * (pull.sum(1) @ scaled.square() - (scaled * (pull @ scaled)).sum(0))
