"""The posterior density of a GP's hyperparameters, and its maximum.

Gradients are in closed form, and the constant mean is profiled out.

The likelihood is computed where the points are, or on the CPU over pairs of points: a covariance matrix is symmetric,
so its entries are computed once for every pair, from squared differences that do not depend on the hyperparameters;
LAPACK factorises and inverts one triangle of it in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs
from torch import Tensor

from allweather._utils.linear_algebra import cholesky, cholesky_root
from allweather._utils.matern import Matern, squared_distances
from allweather.surrogates.gp.priors import PUBLISHED, Priors
from allweather.surrogates.gp.varying_noise import MAX_LOG_RATIO, MAX_SLOPE, SLOPE_DEVIATION, log_ratios
from allweather.surrogates.hyperparameters import Hyperparameters

NO_SLOPES = np.empty(0)
LOWEST_NOISE = 1e-4
LOWEST_LENGTHSCALE = 0.025
MAX_BLOCK_NUMBERS = 2**18
"""Correlations that are computed at a time."""
BOUNDS = {"lengthscale": (LOWEST_LENGTHSCALE, 1e3), "outputscale": (1e-3, 1e3), "noise": (LOWEST_NOISE, 10.0)}


@dataclass(frozen=True, eq=False)
class Evidence:
    """Standardised outcomes at joint points, and which hyperparameters they may choose."""

    points: Tensor
    """(t, d)"""
    targets: Tensor
    """(t,)"""
    family: str
    split: int
    free: np.ndarray
    """(d + 2,) whether each of the `logarithms` is fitted."""
    free_mean: bool
    variances: Tensor | None = None
    """(t,) known variances of the noise, NaN where it is fitted; None where it is fitted for all."""
    priors: Priors = PUBLISHED
    slopes: tuple[float, ...] = ()
    """(d,) of the log variance of the noise, for `log_posteriors`; none where it is constant."""

    def fit(self, start: Hyperparameters, steps: int = 100) -> tuple[Hyperparameters, float]:
        """The best hyperparameters found from here, and minus the log of their posterior density.

        Slopes of the noise are fitted where the start has some.

        Args:
            start: where the search starts.
            steps: its iterations, at most.
        """
        logarithms, slopes = start.logarithms, np.array(start.noise_slopes)
        d, count = len(logarithms) - 2, int(self.free.sum())
        bounds = [*log_bounds(d)[self.free], *[(-MAX_SLOPE, MAX_SLOPE)] * len(slopes)]

        def objective(moved: np.ndarray) -> tuple[float, np.ndarray]:
            full = logarithms.copy()
            full[self.free] = moved[:count]
            value, gradient, _ = self.minus_log_posterior(full, start.mean, moved[count:])
            return value, np.concatenate([gradient[: d + 2][self.free], gradient[d + 2 :]])

        moved = np.concatenate([logarithms[self.free], slopes])
        if moved.size:
            from scipy.optimize import minimize

            found = minimize(
                objective,
                moved.clip(*np.transpose(bounds)),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": steps, "ftol": 1e-9, "gtol": 1e-4},
            )
            logarithms[self.free], slopes = found.x[:count], found.x[count:]
        value, _, mean = self.minus_log_posterior(logarithms, start.mean, slopes)
        natural = [float(number) for number in np.exp(logarithms)]
        # What is held fixed comes back as it was given, not as exp(log(.)).
        held = [*start.lengthscales, start.outputscale, start.noise]
        chosen = [new if free else old for new, old, free in zip(natural, held, self.free, strict=True)]
        rising = tuple(float(slope) for slope in slopes)
        return Hyperparameters(tuple(chosen[:d]), chosen[d], chosen[d + 1], mean, start.transform, rising), value

    def minus_log_posterior(
        self,
        logarithms: np.ndarray,  # (d + 2,)
        mean: float,
        slopes: np.ndarray = NO_SLOPES,  # (d,) or (0,)
    ) -> tuple[float, np.ndarray, float]:
        """Its value up to a constant, its gradient in logarithms and slopes, and the mean that goes with it.

        Args:
            logarithms: of lengthscales, outputscale and noise.
            mean: the constant mean where it is given.
            slopes: of the log variance of the noise; none where it is constant.
        """
        given = None if self.free_mean else mean
        if self.points.device.type == "cpu":
            noise = self._noise(slopes)
            found = self._pairs.minus_log_likelihood(self.targets.numpy(), logarithms, given, noise)
        else:
            found = minus_log_likelihood(self.family, self.split, self.points, self.targets, logarithms, given)
        density, density_gradient = self.log_prior(logarithms)
        value, gradient = found.value - density, found.gradient - density_gradient
        if len(slopes):
            columns = self.points.numpy() - 0.5
            inside = np.abs(columns @ slopes) < MAX_LOG_RATIO
            value += 0.5 * float(slopes @ slopes) / SLOPE_DEVIATION**2
            rising = (found.by_noise * inside) @ columns + slopes / SLOPE_DEVIATION**2
            gradient = np.concatenate([gradient, rising])
        return value, gradient, found.mean

    def log_posteriors(self, logarithms: np.ndarray, mean: float) -> Densities:
        """Log posterior densities of the free logarithms, up to a constant; a mean that is fitted is integrated out.

        Args:
            logarithms: (m, d + 2) of lengthscales, outputscales and noise variances.
            mean: the constant mean where it is given.
        """
        noise = self._noise(np.array(self.slopes))
        given = None if self.free_mean else mean
        found = self._pairs.log_likelihoods(self.targets.cpu().numpy(), logarithms, given, noise)
        prior = self.priors.log_density(logarithms, self.split)[0][:, self.free].sum(1)
        return found._replace(values=np.nan_to_num(found.values + prior, nan=-math.inf))

    def _noise(
        self,
        slopes: np.ndarray,  # (d,) or (0,)
    ) -> OutcomeNoise | None:
        """The noise of each outcome as a multiple of the fitted one; None where that is the noise of all."""
        if self.variances is None and not len(slopes):
            return None
        multiples = np.exp(log_ratios(slopes, self.points.cpu().numpy())) if len(slopes) else np.ones(len(self.targets))
        if self.variances is None:
            return OutcomeNoise(multiples, np.zeros_like(multiples))
        known = self.variances.numpy()
        return OutcomeNoise(np.where(np.isnan(known), multiples, 0.0), np.nan_to_num(known, nan=0.0))

    @cached_property
    def _pairs(self) -> Pairs:
        return Pairs.of(self.family, self.split, self.points.cpu().numpy())

    def log_prior(self, logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        """Log densities of the free hyperparameters, and their gradient."""
        density, gradient = self.priors.log_density(logarithms, self.split)
        return float(density[self.free].sum()), np.where(self.free, gradient, 0.0)


def log_bounds(d: int) -> np.ndarray:
    """(d + 2, 2) between which the logarithms of hyperparameters are fitted."""
    names = ["lengthscale"] * d + ["outputscale", "noise"]
    return np.log([BOUNDS[name] for name in names])


class Likelihood(NamedTuple):
    """Minus the log likelihood, its gradient in the logarithms of hyperparameters, and the constant mean."""

    value: float
    gradient: np.ndarray
    """(d + 2,)"""
    mean: float
    by_noise: np.ndarray = NO_SLOPES
    """(t,) the derivatives in the logarithm of each outcome's noise variance, 0 where it is known."""


class OutcomeNoise(NamedTuple):
    """Noise variances (t,) of outcomes: `multiples * noise + known`, with one of the two terms 0."""

    multiples: np.ndarray
    """Of the fitted variance; 0 where the variance is known."""
    known: np.ndarray
    """0 where it is fitted."""

    def of(self, noise: float) -> np.ndarray:
        """The variances (t,) for a fitted one."""
        found: np.ndarray = self.multiples * noise + self.known
        return found


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
    factor, (t, d) = Matern.named(family), points.shape
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


class Densities(NamedTuple):
    """Log densities of many hyperparameters, and the constant mean given each of them."""

    values: np.ndarray
    """(m,) -inf where a covariance is not positive definite."""
    means: np.ndarray
    """(m,)"""
    deviations: np.ndarray
    """(m,) of the mean; 0 where it is given."""


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

    correlation: Matern
    """That of each factor of the kernel."""
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
        (t, d), factor = points.shape, Matern.named(family)
        one, other = np.triu_indices(t, 1)
        columns = factor.groups(split, d)
        factors = tuple(((points[one, part] - points[other, part]).T ** 2, part) for part in columns)
        return cls(factor, t, tuple((np.ascontiguousarray(apart), part) for apart, part in factors), one * t + other)

    def correlated(self, lengthscales: np.ndarray) -> Correlated:
        """Correlations for lengthscales (d,)."""
        squared = [lengthscales[part] ** -2.0 @ apart for apart, part in self.factors]
        if self.correlation.gaussian:
            return Correlated(np.exp(-0.5 * sum(squared, np.zeros(len(self.places)))), [1.0] * len(squared))
        roots = [self.correlation.rate * np.sqrt(each) for each in squared]
        decay = 0.0 if self.correlation.rational else 1.0
        correlations = np.exp(-decay * sum(roots, np.zeros(len(self.places))))
        steepness: list[np.ndarray | float] = []
        for r in roots:
            correlations *= self.correlation.shape(r)
            steepness.append(self.correlation.log_steepness(r))
        return Correlated(correlations, steepness)

    def minus_log_likelihood(
        self,
        targets: np.ndarray,  # (t,)
        logarithms: np.ndarray,  # (d + 2,)
        mean: float | None,
        outcome_noise: OutcomeNoise | None = None,
    ) -> Likelihood:
        """Minus the log likelihood of standardised outcomes; the mean is profiled out where it is None.

        Args:
            targets: the outcomes.
            logarithms: of lengthscales, outputscale and noise.
            mean: the prior's constant mean.
            outcome_noise: that of each outcome; None where it is the fitted one for all.
        """
        natural, t = np.exp(logarithms), self.count
        (*_, scale, noise), (correlations, steepness) = natural, self.correlated(natural[:-2])
        covariance = scale * correlations
        each = OutcomeNoise(np.ones(t), np.zeros(t)) if outcome_noise is None else outcome_noise
        diagonal = scale + each.of(noise)
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
        felt = alone * each.multiples
        scales = [pull.sum() + scale * alone.sum(), noise * felt.sum()]
        return Likelihood(float(value), np.concatenate([*stretches, scales]), mean, noise * felt)

    def log_likelihoods(
        self,
        targets: np.ndarray,  # (t,)
        logarithms: np.ndarray,  # (m, d + 2)
        mean: float | None,
        outcome_noise: OutcomeNoise | None = None,
    ) -> Densities:
        """The log likelihoods of many hyperparameters; a mean that is None is integrated out under a flat prior.

        Args:
            targets: the outcomes.
            logarithms: of lengthscales, outputscales and noise variances.
            mean: the prior's constant mean.
            outcome_noise: that of each outcome; None where it is the fitted one for all.
        """
        t, natural = self.count, np.exp(logarithms)
        found = np.full((3, len(natural)), -math.inf)
        found[1:] = 0 if mean is None else np.array([[mean], [0.0]])
        sides, constant = np.array([np.ones(t), targets]).T, 0.5 * t * math.log(2 * math.pi)
        matrix = np.zeros((t, t))
        size = max(1, MAX_BLOCK_NUMBERS // max(len(self.places), 1))
        for start in range(0, len(natural), size):
            rows = natural[start : start + size]
            covariances = rows[:, -2:-1] * self._correlations(rows[:, :-2])
            for place, (covariance, (*_, scale, noise)) in enumerate(zip(covariances, rows, strict=True), start):
                matrix.reshape(-1)[self.places] = covariance
                matrix.reshape(-1)[:: t + 1] = scale + (noise if outcome_noise is None else outcome_noise.of(noise))
                root, failed = dpotrf(matrix.T, lower=1, clean=0)
                if failed or not np.isfinite(root[-1, -1]):
                    continue
                (one, outcome) = dtrtrs(root, sides, lower=1)[0].T
                value = -np.log(root.diagonal()).sum() - constant
                if mean is None:
                    precision = one @ one
                    found[1, place], found[2, place] = one @ outcome / precision, precision**-0.5
                    value += 0.5 * math.log(2 * math.pi / precision)
                residual = outcome - found[1, place] * one
                found[0, place] = value - 0.5 * residual @ residual
        return Densities(*found)

    def _correlations(self, lengthscales: np.ndarray) -> np.ndarray:
        """(m, pairs) for lengthscales (m, d)."""
        squared = [lengthscales[:, part] ** -2.0 @ apart for apart, part in self.factors]
        if self.correlation.gaussian:
            return np.asarray(np.exp(-0.5 * sum(squared)))
        roots = [self.correlation.rate * np.sqrt(each) for each in squared]
        decay = 0.0 if self.correlation.rational else 1.0
        correlations: np.ndarray = np.exp(-decay * sum(roots))
        for r in roots:
            correlations *= self.correlation.shape(r)
        return correlations

    def _factorised(self, covariance: np.ndarray, diagonal: np.ndarray | float) -> np.ndarray:
        """The Cholesky factor (t, t), below the diagonal, of a covariance matrix given by its pairs and diagonal."""
        matrix = np.zeros((self.count, self.count))
        matrix.reshape(-1)[self.places] = covariance
        matrix.reshape(-1)[:: self.count + 1] = diagonal
        root, failed = dpotrf(matrix.T, lower=1, clean=0)
        if failed:
            root = np.asfortranarray(cholesky(np.triu(matrix) + np.triu(matrix, 1).T))
        return np.asarray(root)
