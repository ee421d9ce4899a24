"""What one trial of a decision does to the posterior of its own mean over contexts, with gradients in closed form.

With `v(x) = k(x, X) * a` the covariances of the mean and the data, `h(x) = L^-1 v(x)`, and `h_c(x) = L^-1 (k(x, X) *
k(c, C))` those of a trial in context c, the mean of decision x moves by `(s q_c - h_c . h) / sd_c` times the outcome,
standardised, that of another decision x' by `(s k(x, x') q_c - h_c . h(x')) / sd_c`, `sd_c` with the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor

from allweather._utils.matern import Matern

if TYPE_CHECKING:
    from allweather.surrogates.posteriors.field import ProductField


@dataclass(frozen=True, eq=False)
class OwnStep:
    """The mean of decisions, and what one trial is expected to lift it above that of one other decision."""

    factor: Matern
    lengthscales: np.ndarray
    """(d_x,)"""
    anchors: np.ndarray
    """(t + 1, d_x) of the data and of the other decision, divided by them."""
    pull: np.ndarray
    """(t,) what a correlation with the data adds to the mean."""
    constant: float
    """The mean far from all data."""
    with_data: np.ndarray
    """(t,) covariances of the mean over contexts with the data, but for the decisions' share."""
    coming: np.ndarray
    """(m, t) of the coming contexts, likewise."""
    prior: np.ndarray
    """(m,) prior covariances of the mean over contexts with the coming outcomes."""
    unroot: np.ndarray
    """(t, t) inverse of the Cholesky factor."""
    other: np.ndarray
    """(t,) the other decision's `h`."""
    height: float
    """The other decision's mean."""
    outputscale: float
    noise: np.ndarray
    """(m,) variance of the coming outcomes' noise at the decision 0."""
    slopes: np.ndarray
    """(d_x,) of the logarithm of that variance."""
    scale: float
    """Of the outcomes."""

    @classmethod
    def of(cls, field: ProductField, weights: Tensor, contexts: Tensor, other: Tensor) -> OwnStep:
        """Bind a field to the weights (n,) of the mean, contexts (m, d_c) of the trial, and another decision (d_x,)."""
        data, kernel = field.data, field.data.kernel
        prior, at_data, coming = field.covariances(weights, contexts)
        s, lengthscales = float(kernel.outputscale), kernel.lengthscales[: kernel.split].numpy()
        decisions, unroot = kernel.scaled(data.points)[0].numpy(), data.unroot.numpy()
        with_data, total = s * at_data.numpy(), float(weights.sum())
        pull = data.scale * s * (at_data * data.weights).numpy()
        constant = total * (data.shift + data.scale * data.mean)
        place = (other.numpy() / lengthscales)[None]
        near = kernel.factor.of_arrays(place, decisions)[0]
        zero = contexts.new_zeros(len(contexts), kernel.split)
        noise = np.broadcast_to(np.asarray(data.noise_at(torch.cat([zero, contexts], -1))), len(contexts))
        slopes = np.zeros(kernel.split) if data.slopes is None else data.slopes[: kernel.split].numpy()
        return cls(
            kernel.factor,
            lengthscales,
            np.concatenate([decisions, place]),
            pull,
            constant,
            with_data,
            s * coming.numpy(),
            s * prior.numpy(),
            unroot,
            unroot @ (near * with_data),
            constant + float(near @ pull),
            s,
            noise,
            slopes,
            data.scale,
        )

    def values(self, points: np.ndarray, horizon: float) -> np.ndarray:
        """`mean + horizon * gain` (b,) of decisions (b, d_x)."""
        near = self.factor.of_arrays(points / self.lengthscales, self.anchors)
        mean, z, spread, _ = self._moved(points, near)
        return np.asarray(mean + horizon * (spread * (_pdf(z) + z * ndtr(z))).mean(1))

    def gradients(self, points: np.ndarray, horizon: float) -> tuple[np.ndarray, np.ndarray]:
        """`mean + horizon * gain` (b,) of decisions (b, d_x), and its gradient (b, d_x)."""
        near, back = self.factor.with_pull(points / self.lengthscales, self.anchors)
        mean, z, spread, (mine, halves, variance, noise, along) = self._moved(points, near)
        m = len(self.prior)
        below, density = ndtr(z), _pdf(z)
        values = mean + horizon * (spread * (density + z * below)).mean(1)
        by_mean = 1 + horizon * below.mean(1)
        by_slope = horizon / m * density * np.sign(along)  # (b, m) in the difference of the slopes
        by_covariance = self.scale * by_slope / np.sqrt(variance)
        by_variance = -by_slope * along / (2 * variance)
        # The difference of covariances is prior (1 - k(x, x')) - h_c . (h - h'); the variance is s - |h_c|^2 + noise.
        by_halves = -by_covariance[..., None] * (mine - self.other)[:, None] - 2 * by_variance[..., None] * halves
        by_mine = -(by_covariance[..., None] * halves).sum(1)
        rising = np.empty_like(near)
        rising[:, -1] = -by_covariance @ self.prior
        pulled = (by_halves @ self.unroot) * self.coming
        rising[:, :-1] = by_mean[:, None] * self.pull + pulled.sum(1) + (by_mine @ self.unroot) * self.with_data
        gradient = back(rising) / self.lengthscales
        return values, gradient + (by_variance * noise).sum(1)[:, None] * self.slopes

    def _moved(
        self, points: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
        """Means (b,), standardised leads and spreads (b, m) of the gain, and what they are made of."""
        data = near[:, :-1]
        mean = self.constant + data @ self.pull
        mine = (data * self.with_data) @ self.unroot.T  # (b, t)
        halves = (data[:, None] * self.coming) @ self.unroot.T  # (b, m, t)
        noise = self.noise * np.exp(points @ self.slopes)[:, None]
        explained = np.einsum("bmt,bmt->bm", halves, halves)
        variance = np.maximum(self.outputscale - explained, 1e-12 * self.outputscale) + noise
        apart = 1 - near[:, -1:]
        covariance = apart * self.prior - np.einsum("bmt,bt->bm", halves, mine - self.other)
        along = self.scale * covariance / np.sqrt(variance)
        spread = np.maximum(np.abs(along), 1e-12 * self.scale)
        return mean, (mean[:, None] - self.height) / spread, spread, (mine, halves, variance, noise, along)


def _pdf(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))
