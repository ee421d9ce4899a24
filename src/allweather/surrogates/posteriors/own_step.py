"""What one trial of a decision does to the posterior of its own mean over contexts, with gradients in closed form.

With `v(x) = k(x, X) * a` the covariances of the mean and the data, `h(x) = L^-1 v(x)`, and `h_c(x) = L^-1 (k(x, X) *
k(c, C))` those of a trial in context c, the mean of decision x moves by `(s q_c - h_c . h) / sd_c` times the outcome,
standardised, that of another decision x' by `(s k(x, x') q'_c - h_c . h(x')) / sd_c`, `sd_c` with the noise. For
outcomes on a transformed scale `a` and `q` are those of the tangent at the posterior mean of each decision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor

from allweather._utils.matern import Matern
from allweather.surrogates.gp.outcome_transform import OutcomeTransform

if TYPE_CHECKING:
    from allweather.surrogates.posteriors.field import ProductField


class Sum(NamedTuple):
    """The mean over contexts at decisions, as it follows from their correlations with the data."""

    mean: np.ndarray
    """(b,)"""
    pull: np.ndarray
    """(t,) or (b, t) what a correlation with the data adds to it."""
    with_data: np.ndarray
    """(t,) or (b, t) its covariances with the data, but for the decisions' share."""
    prior: np.ndarray
    """(m,) or (b, m) its prior covariances with the coming outcomes."""


class Sums(Protocol):
    """The mean over contexts as a function of decisions."""

    def __call__(self, near: np.ndarray) -> Sum:
        """That of decisions with correlations (b, t) with the data."""


@dataclass(frozen=True, eq=False)
class PlainSums:
    """Of outcomes as they are: the same weights for all decisions."""

    constant: float
    """The mean far from all data."""
    pull: np.ndarray
    with_data: np.ndarray
    prior: np.ndarray

    def __call__(self, near: np.ndarray) -> Sum:
        """That of decisions with correlations (b, t) with the data."""
        return Sum(self.constant + near @ self.pull, self.pull, self.with_data, self.prior)


@dataclass(frozen=True, eq=False)
class BentSums:
    """Of outcomes on a transformed scale: of median outcomes, which move as the tangents of some contexts do."""

    transform: OutcomeTransform
    constant: float
    """The transformed outcome far from all data."""
    weights: np.ndarray
    """(n,) of all contexts."""
    pulls: np.ndarray
    """(n, t) what a correlation with the data adds to the transformed mean in each context."""
    some: np.ndarray
    """(f,) weights of the contexts that tangents are taken in."""
    some_pulls: np.ndarray
    """(f, t)"""
    with_data: np.ndarray
    """(f, t) covariances with the data."""
    prior: np.ndarray
    """(f, m) with the coming outcomes."""

    def __call__(self, near: np.ndarray) -> Sum:
        """That of decisions with correlations (b, t) with the data; tangents are held."""
        means = torch.from_numpy(self.constant + near @ self.pulls.T)
        tangents = self.some * self.transform.slope(torch.from_numpy(self.constant + near @ self.some_pulls.T)).numpy()
        mean = self.transform.inverse(means).numpy() @ self.weights
        pull = (self.weights * self.transform.slope(means).numpy()) @ self.pulls
        return Sum(mean, pull, tangents @ self.with_data, tangents @ self.prior)


@dataclass(frozen=True, eq=False)
class OwnStep:
    """The mean of decisions, and what one trial is expected to lift it above that of one other decision."""

    factor: Matern
    lengthscales: np.ndarray
    """(d_x,)"""
    anchors: np.ndarray
    """(t + 1, d_x) of the data and of the other decision, divided by them."""
    sums: Sums
    coming: np.ndarray
    """(m, t) covariances of the coming contexts with the data, but for the decisions' share."""
    unroot: np.ndarray
    """(t, t) inverse of the Cholesky factor."""
    other: np.ndarray
    """(t,) the other decision's `h`."""
    other_prior: np.ndarray
    """(m,) its prior covariances with the coming outcomes."""
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
        data, s = field.data, float(field.data.kernel.outputscale)
        prior, at_data, _ = field.covariances(weights, contexts)
        constant = float(weights.sum()) * (data.shift + data.scale * data.mean)
        pull = data.scale * s * (at_data * data.weights).numpy()
        sums = PlainSums(constant, pull, s * at_data.numpy(), s * prior.numpy())
        return cls._of(field, sums, contexts, other)

    @classmethod
    def of_transformed(
        cls,
        field: ProductField,
        transform: OutcomeTransform,
        weights: Tensor,  # (n,)
        some: tuple[ProductField, Tensor],
        contexts: Tensor,  # (m, d_c)
        other: Tensor,  # (d_x,)
    ) -> OwnStep:
        """Bind the field of transformed outcomes likewise.

        Args:
            field: at all contexts.
            transform: of the outcomes.
            weights: of the mean.
            some: the field at the contexts that tangents are taken in, and their weights (f,).
            contexts: of the trial.
            other: the decision to be lifted above.
        """
        data, s = field.data, float(field.data.kernel.outputscale)
        few, shares = some
        each = torch.eye(len(shares), dtype=torch.float64)
        prior, at_some, _ = few.covariances(each, contexts)
        pull = data.scale * s * data.weights
        sums = BentSums(
            transform,
            data.shift + data.scale * data.mean,
            weights.numpy(),
            (field.correlations * pull).numpy(),
            shares.numpy(),
            (at_some * pull).numpy(),
            s * at_some.numpy(),
            s * prior.numpy(),
        )
        return cls._of(field, sums, contexts, other)

    @classmethod
    def _of(cls, field: ProductField, sums: Sums, contexts: Tensor, other: Tensor) -> OwnStep:
        data, kernel = field.data, field.data.kernel
        lengthscales = kernel.lengthscales[: kernel.split].numpy()
        decisions, unroot = kernel.scaled(data.points)[0].numpy(), data.unroot.numpy()
        place = (other.numpy() / lengthscales)[None]
        near = kernel.factor.of_arrays(place, decisions)
        theirs = sums(near)
        zero = contexts.new_zeros(len(contexts), kernel.split)
        noise = np.broadcast_to(np.asarray(data.noise_at(torch.cat([zero, contexts], -1))), len(contexts))
        slopes = np.zeros(kernel.split) if data.slopes is None else data.slopes[: kernel.split].numpy()
        return cls(
            kernel.factor,
            lengthscales,
            np.concatenate([decisions, place]),
            sums,
            float(kernel.outputscale) * field.with_data(contexts).numpy(),
            unroot,
            unroot @ (near * theirs.with_data)[0],
            theirs.prior.reshape(-1),
            float(theirs.mean[0]),
            float(kernel.outputscale),
            noise,
            slopes,
            data.scale,
        )

    def values(self, points: np.ndarray, horizon: float) -> np.ndarray:
        """`mean + horizon * gain` (b,) of decisions (b, d_x)."""
        near = self.factor.of_arrays(points / self.lengthscales, self.anchors)
        own, z, spread, _ = self._moved(points, near)
        return np.asarray(own.mean + horizon * (spread * (_pdf(z) + z * ndtr(z))).mean(1))

    def gradients(self, points: np.ndarray, horizon: float) -> tuple[np.ndarray, np.ndarray]:
        """`mean + horizon * gain` (b,) of decisions (b, d_x), and its gradient (b, d_x)."""
        near, back = self.factor.with_pull(points / self.lengthscales, self.anchors)
        own, z, spread, (mine, halves, variance, noise, along) = self._moved(points, near)
        m = len(self.other_prior)
        below, density = ndtr(z), _pdf(z)
        values = own.mean + horizon * (spread * (density + z * below)).mean(1)
        by_mean = 1 + horizon * below.mean(1)
        by_slope = horizon / m * density * np.sign(along)  # (b, m) in the difference of the slopes
        by_covariance = self.scale * by_slope / np.sqrt(variance)
        by_variance = -by_slope * along / (2 * variance)
        # The difference of covariances is q - k(x, x') q' - h_c . (h - h'); the variance is s - |h_c|^2 + noise.
        by_halves = -by_covariance[..., None] * (mine - self.other)[:, None] - 2 * by_variance[..., None] * halves
        by_mine = -(by_covariance[..., None] * halves).sum(1)
        rising = np.empty_like(near)
        rising[:, -1] = -by_covariance @ self.other_prior
        pulled = (by_halves @ self.unroot) * self.coming
        rising[:, :-1] = by_mean[:, None] * own.pull + pulled.sum(1) + (by_mine @ self.unroot) * own.with_data
        gradient = back(rising) / self.lengthscales
        return values, gradient + (by_variance * noise).sum(1)[:, None] * self.slopes

    def _moved(
        self, points: np.ndarray, near: np.ndarray
    ) -> tuple[Sum, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
        """Means (b,), standardised leads and spreads (b, m) of the gain, and what they are made of."""
        data = near[:, :-1]
        own = self.sums(data)
        mine = (data * own.with_data) @ self.unroot.T  # (b, t)
        halves = (data[:, None] * self.coming) @ self.unroot.T  # (b, m, t)
        noise = self.noise * np.exp(points @ self.slopes)[:, None]
        explained = np.einsum("bmt,bmt->bm", halves, halves)
        variance = np.maximum(self.outputscale - explained, 1e-12 * self.outputscale) + noise
        prior = own.prior - near[:, -1:] * self.other_prior
        covariance = prior - np.einsum("bmt,bt->bm", halves, mine - self.other)
        along = self.scale * covariance / np.sqrt(variance)
        spread = np.maximum(np.abs(along), 1e-12 * self.scale)
        return own, (own.mean[:, None] - self.height) / spread, spread, (mine, halves, variance, noise, along)


def _pdf(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))
