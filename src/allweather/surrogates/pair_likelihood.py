"""The likelihood of a GP's hyperparameters and its gradient in closed form, over pairs of points on the CPU.

A covariance matrix is symmetric, so its entries are computed once for every pair of points, from squared differences
that do not depend on the hyperparameters; LAPACK factorises and inverts one triangle of it in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from allweather.surrogates.device_likelihood import Likelihood
from allweather.surrogates.kernels import Factor
from allweather.surrogates.linear_algebra import cholesky


class Correlated(NamedTuple):
    """The correlation of every pair of points, and how it changes with each factor's lengthscales."""

    correlations: np.ndarray
    """(m,)"""
    steepness: list[np.ndarray | float]
    """(m,) minus twice the derivative of the log of each factor in its squared distance."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """The m = t (t - 1) / 2 pairs of t points, for one family of product kernels.

    Example:
        >>> pairs = Pairs.of("rbf", 1, np.array([[0.0, 0.0], [0.3, 0.4]]))
        >>> pairs.correlated(np.array([1.0, 1.0])).correlations.round(4).tolist()  # exp(-0.25 / 2)
        [0.8825]
    """

    nu: float
    """The kernel's smoothness."""
    count: int
    """t."""
    factors: tuple[tuple[np.ndarray, slice], ...]
    """Squared differences (k, m) in the columns that share a factor of the kernel, and which columns these are."""
    places: np.ndarray
    """(m,) where the pairs are in a matrix (t, t), read row by row: above its diagonal."""

    @classmethod
    def of(
        cls,
        family: str,
        split: int,
        points: np.ndarray,  # (t, d)
    ) -> Pairs:
        """The pairs of joint points, whose first `split` columns are decisions; an RBF kernel needs no split."""
        (t, d), factor = points.shape, Factor.named(family)
        one, other = np.triu_indices(t, 1)
        columns = factor.groups(split, d)
        factors = tuple(((points[one, part] - points[other, part]).T ** 2, part) for part in columns)
        return cls(factor.nu, t, tuple((np.ascontiguousarray(apart), part) for apart, part in factors), one * t + other)

    def correlated(self, lengthscales: np.ndarray) -> Correlated:
        """Correlations for lengthscales (d,)."""
        squared = [lengthscales[part] ** -2.0 @ apart for apart, part in self.factors]
        if self.nu == math.inf:
            return Correlated(np.exp(-0.5 * sum(squared, np.zeros(len(self.places)))), [1.0] * len(squared))
        roots = [np.sqrt(2 * self.nu * each) for each in squared]
        correlations = np.exp(-sum(roots, np.zeros(len(self.places))))
        steepness: list[np.ndarray | float] = []
        for r in roots:
            linear = 1 + r
            shape = linear if self.nu == 1.5 else linear + r * r / 3
            correlations *= shape
            steepness.append(3 / linear if self.nu == 1.5 else 5 / 3 * linear / shape)
        return Correlated(correlations, steepness)

    def minus_log_likelihood(
        self,
        targets: np.ndarray,  # (t,)
        logarithms: np.ndarray,  # (d + 2,)
        mean: float | None,
        variances: np.ndarray | None = None,  # (t,)
    ) -> Likelihood:
        """Minus the log likelihood of standardised outcomes; the mean is profiled out where it is None.

        Args:
            targets: the outcomes.
            logarithms: of lengthscales, outputscale and noise.
            mean: the prior's constant mean.
            variances: of the noise of each outcome, NaN where it is the fitted one; None where it is for all.
        """
        natural, t = np.exp(logarithms), self.count
        (*_, scale, noise), (correlations, steepness) = natural, self.correlated(natural[:-2])
        covariance = scale * correlations
        fitted = np.ones(t, dtype=bool) if variances is None else np.isnan(variances)
        diagonal = scale + (noise if variances is None else np.where(fitted, noise, variances))
        root = self._factorised(covariance, diagonal)
        solved, _ = dpotrs(root, np.array([np.ones(t), targets]).T, lower=1)
        if mean is None:
            mean = float(solved[:, 1].sum() / solved[:, 0].sum())
        weights = solved[:, 1] - mean * solved[:, 0]
        value = 0.5 * (targets - mean) @ weights + np.log(root.diagonal()).sum() + 0.5 * t * math.log(2 * math.pi)
        inverse, _ = dpotri(root, lower=1, overwrite_c=1)
        slope = dsyr(-1.0, weights, lower=1, a=inverse, overwrite_a=1).T  # above its diagonal
        pull, alone = slope.reshape(-1)[self.places] * covariance, 0.5 * slope.diagonal()
        stretches = [
            apart @ (pull * steep) / natural[part] ** 2
            for (apart, part), steep in zip(self.factors, steepness, strict=True)
        ]
        scales = [pull.sum() + scale * alone.sum(), noise * alone[fitted].sum()]
        return Likelihood(float(value), np.concatenate([*stretches, scales]), mean)

    def _factorised(self, covariance: np.ndarray, diagonal: np.ndarray | float) -> np.ndarray:
        """The Cholesky factor (t, t), below the diagonal, of a covariance matrix given by its pairs and diagonal."""
        matrix = np.zeros((self.count, self.count))
        matrix.reshape(-1)[self.places] = covariance
        matrix.reshape(-1)[:: self.count + 1] = diagonal
        root, failed = dpotrf(matrix.T, lower=1, clean=0)
        if failed:
            root = np.asfortranarray(cholesky(np.triu(matrix) + np.triu(matrix, 1).T))
        return np.asarray(root)
