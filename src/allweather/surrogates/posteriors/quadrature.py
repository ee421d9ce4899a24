"""The posterior of a weighted mean over contexts (Bayesian quadrature), with its gradient in closed form.

With `a` the correlations of the weighted contexts with the data, `v(x) = k(x, X) * a` and `L` the Cholesky factor of
the data's covariance: `mean = m + v . alpha`, `var = prior - |L^-1 v|^2`. Two matrix products give the value and the
gradient of `mean + width * sd` for a batch of decisions, so that a search needs no automatic differentiation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allweather._utils.matern import Matern

if TYPE_CHECKING:
    from torch import Tensor

    from allweather.surrogates.posteriors.field import Data


class Weighted(NamedTuple):
    """What the weights of contexts come down to, for all decisions."""

    with_data: Tensor
    """(..., t) correlations of the weighted contexts with those of the data."""
    for_spread: Tensor
    """(..., t) the same for the standard deviation, from fewer contexts where there are very many."""
    variance: Tensor
    """(...,) of the weighted sum, in units of the prior variance at one point."""


@dataclass(frozen=True, eq=False)
class Quadrature:
    """The upper confidence bound of one weighted mean, as a function of decisions, on the CPU."""

    factor: Matern
    lengthscales: np.ndarray
    """(d_x,)"""
    decisions: np.ndarray
    """(t, d_x) of the data, divided by them."""
    correlations: np.ndarray
    """(t,) of the weighted contexts with the data, times the outputscale, for the deviation."""
    pull: np.ndarray
    """(t,) what a correlation of the decisions adds to the mean."""
    constant: float
    """The mean far from all data."""
    unroot: np.ndarray | None
    """(t, t) inverse of the Cholesky factor, in the outcome's units; None where the deviation is not wanted."""
    prior: float
    """Variance far from all data."""
    width: float

    @classmethod
    def of(
        cls,
        data: Data,
        weighted: Weighted,
        total: float,
        width: float,
    ) -> Quadrature:
        """The bound of a weighted mean.

        Args:
            data: the posterior.
            weighted: the contexts.
            total: sum of their weights.
            width: of the confidence bound.
        """
        kernel, scale = data.kernel, data.scale
        prior = float(kernel.outputscale)
        return cls(
            kernel.factor,
            kernel.lengthscales[: kernel.split].numpy(),
            kernel.scaled(data.points)[0].numpy(),
            prior * weighted.for_spread.numpy(),
            scale * prior * (weighted.with_data * data.weights).numpy(),
            total * (data.shift + scale * data.mean),
            scale * data.unroot.numpy() if width else None,
            scale**2 * prior * float(weighted.variance),
            width,
        )

    def values(self, points: np.ndarray) -> np.ndarray:
        """The bound (b,) at decisions (b, d_x)."""
        near = self.factor.of_arrays(points / self.lengthscales, self.decisions)
        mean = self.constant + near @ self.pull
        if self.unroot is None:
            return np.asarray(mean)
        half = (near * self.correlations) @ self.unroot.T
        return np.asarray(mean + self.width * np.sqrt(self._left(half)))

    def slopes(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bound (b,) at decisions (b, d_x), and its gradient (b, d_x)."""
        near, back = self.factor.with_pull(points / self.lengthscales, self.decisions)
        values = self.constant + near @ self.pull
        rising = np.broadcast_to(self.pull, near.shape)  # (b, t) in the correlations of the decisions
        if self.unroot is not None:
            half = (near * self.correlations) @ self.unroot.T
            left = self._left(half)
            sd = np.sqrt(left)
            falling = np.where(left > self._least, self.width / sd, 0.0)[:, None] * (half @ self.unroot)
            values, rising = values + self.width * sd, rising - falling * self.correlations
        return values, back(rising) / self.lengthscales

    @property
    def _least(self) -> float:
        return 1e-12 * self.prior

    def _left(self, half: np.ndarray) -> np.ndarray:
        """The variance (b,) that the data leave; rounding may explain slightly more than there is."""
        explained = np.einsum("bt,bt->b", half, half)
        return np.asarray(np.maximum(self.prior - explained, max(self._least, math.ulp(0.0))))
