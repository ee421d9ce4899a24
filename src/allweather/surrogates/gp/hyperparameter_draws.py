"""Draws of a GP's hyperparameters from their posterior, where data are too few to settle them.

Importance resampling: proposals from a multivariate t around the mode, as wide as the curvature there says, weighed
with the posterior density, and some tens of them kept. Given the data and the mode they are always the same.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

from allweather._utils.matern import Matern
from allweather.surrogates.gp.hyperparameter_fit import Evidence, log_bounds
from allweather.surrogates.hyperparameters import Hyperparameters

PROPOSALS = 256
"""Number of proposals that draws are resampled from."""
DEGREES_OF_FREEDOM = 5.0
"""Of the t distribution of the proposals: their tails are heavier than those of the posterior."""
MAX_LOG_DEVIATION = 1.5
"""Limit on the standard deviation of the logarithm of a hyperparameter."""
DIFFERENCE_STEP = 1e-3
"""Of the finite differences of the gradient, in the logarithms."""


def hyperparameter_draws(
    evidence: Evidence, mode: Hyperparameters, count: int, wary: bool = False
) -> list[Hyperparameters]:
    """`count` draws from the posterior of the hyperparameters that are fitted; the others stay as they are.

    Args:
        evidence: the outcomes, and which hyperparameters are free.
        mode: where the posterior density is largest.
        count: how many draws; equally weighted, some may be equal.
        wary: whether the prior's mode of a lengthscale is also the median of its logarithm. As the prior is, functions
            vary little along columns that the data say nothing about: twenty times the mode is usual.

    Example:
        >>> points = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]
        >>> free = np.array([True, False, True])
        >>> evidence = Evidence(points, (6 * points[:, 0]).sin(), "rbf", 1, free, True)
        >>> mode, _ = evidence.fit(Hyperparameters.typical(1))
        >>> len(hyperparameter_draws(evidence, mode, 16))
        16
    """
    free, centre = evidence.free, mode.logarithms
    if not free.any():
        return [mode]
    source = np.random.default_rng(len(evidence.targets))
    root = _proposal_root(evidence, mode)
    normal = source.standard_normal((PROPOSALS, root.shape[0]))
    stretch = np.sqrt(DEGREES_OF_FREEDOM / source.chisquare(DEGREES_OF_FREEDOM, PROPOSALS))
    standard = normal * stretch[:, None]
    standard[0] = 0  # the mode itself, which is always possible
    low, high = log_bounds(len(centre) - 2)[free].T
    moved = centre[free] + standard @ root.T
    proposals = np.tile(centre, (PROPOSALS, 1))
    proposals[:, free] = moved.clip(low, high)
    density, means = log_posterior(evidence, proposals, mode.mean, wary)
    density[1:][((moved < low) | (moved > high)).any(1)[1:]] = -np.inf
    k = root.shape[0]
    proposed = -0.5 * (DEGREES_OF_FREEDOM + k) * np.log1p((standard**2).sum(1) / DEGREES_OF_FREEDOM)
    weights = np.exp(density - proposed - (density - proposed).max())
    places = (np.arange(count) + source.random()) / count
    chosen = np.searchsorted(weights.cumsum() / weights.sum(), places).clip(0, PROPOSALS - 1)
    drawn = means[chosen]
    if evidence.free_mean:  # profiled out so far, but as uncertain as the others
        spread = source.permutation(ndtri((np.arange(count) + 0.5) / count))
        drawn = drawn + spread * _mean_deviations(evidence, proposals[chosen])
    return [_named(proposals[each], float(mean), mode, free) for each, mean in zip(chosen, drawn, strict=True)]


def log_posterior(
    evidence: Evidence,
    logarithms: np.ndarray,  # (m, d + 2)
    mean: float,
    wary: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The log posterior density (m,) up to a constant, and the means (m,) that go with it, for many at once."""
    t = len(evidence.points)
    root, failed, outcome, one = _whitened(evidence, logarithms)
    means = torch.full((len(logarithms),), mean, dtype=torch.float64)
    if evidence.free_mean:
        means = (outcome * one).sum(-1) / one.square().sum(-1)
    residual = (outcome - means[:, None] * one).square().sum(-1)
    likelihood = -0.5 * residual - root.diagonal(dim1=-2, dim2=-1).log().sum(-1) - 0.5 * t * math.log(2 * math.pi)
    prior = np.array([evidence.log_prior(row)[0] for row in logarithms])
    # Densities of logarithms: those of the natural numbers times the numbers.
    counted = evidence.free & ~(wary & (np.arange(logarithms.shape[1]) < logarithms.shape[1] - 2))
    jacobian = logarithms[:, counted].sum(1)
    density = likelihood.numpy() + prior + jacobian
    broken = (failed != 0).numpy() | ~np.isfinite(density)
    return np.where(broken, -np.inf, density), means.nan_to_num().numpy()


def _whitened(evidence: Evidence, logarithms: np.ndarray) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Roots (m, t, t) of the covariances, which failed (m,), and root^-1 times targets and ones, (m, t) each."""
    natural = torch.from_numpy(np.exp(logarithms))
    covariance = natural[:, -2, None, None] * _correlations(evidence, natural[:, :-2])
    t = len(evidence.points)
    noise = natural[:, -1:]
    if evidence.variances is not None:
        noise = torch.where(evidence.variances.isnan(), noise, evidence.variances)
    covariance.diagonal(dim1=-2, dim2=-1).add_(noise + 1e-10 * natural[:, -2:-1])
    root, failed = torch.linalg.cholesky_ex(covariance)
    sides = torch.stack([evidence.targets, torch.ones(t, dtype=torch.float64)], -1).expand(len(natural), t, 2)
    halves = torch.linalg.solve_triangular(root, sides, upper=False)
    return root, failed, halves[..., 0], halves[..., 1]


def _mean_deviations(evidence: Evidence, logarithms: np.ndarray) -> np.ndarray:
    """Posterior standard deviations (m,) of the constant mean: `1 / sqrt(1' K^-1 1)`."""
    found: np.ndarray = _whitened(evidence, logarithms)[3].square().sum(-1).rsqrt().nan_to_num(posinf=0.0).numpy()
    return found


def _correlations(evidence: Evidence, lengthscales: Tensor) -> Tensor:
    """(m, t, t) for lengthscales (m, d)."""
    factor, d = Matern.named(evidence.family), evidence.points.shape[1]
    product: Tensor | float = 1.0
    for group in factor.groups(evidence.split, d):
        squared = torch.zeros(len(lengthscales), *2 * evidence.targets.shape, dtype=torch.float64)
        for column in range(d)[group]:
            values = evidence.points[:, column]
            apart = (values[:, None] - values).square()
            squared += apart / lengthscales[:, column, None, None].square()
        product = product * factor.of(squared)
    assert isinstance(product, Tensor)
    return product


def _proposal_root(evidence: Evidence, mode: Hyperparameters) -> np.ndarray:
    """A root (k, k) of the proposals' covariance: that of the Laplace approximation, but nowhere too wide."""
    free, centre = evidence.free, mode.logarithms
    places = np.flatnonzero(free)
    hessian = np.empty((len(places), len(places)))
    for row, place in enumerate(places):
        ahead, behind = centre.copy(), centre.copy()
        ahead[place] += DIFFERENCE_STEP
        behind[place] -= DIFFERENCE_STEP
        difference = (
            evidence.minus_log_posterior(ahead, mode.mean)[1] - evidence.minus_log_posterior(behind, mode.mean)[1]
        )
        hessian[row] = difference[free] / (2 * DIFFERENCE_STEP)
    values, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    return np.asarray(axes / np.sqrt(np.maximum(values, 1 / MAX_LOG_DEVIATION**2)))


def _named(logarithms: np.ndarray, mean: float, mode: Hyperparameters, free: np.ndarray) -> Hyperparameters:
    held = [*mode.lengthscales, mode.outputscale, mode.noise]
    drawn = [math.exp(new) if chosen else old for new, old, chosen in zip(logarithms, held, free, strict=True)]
    return Hyperparameters(tuple(drawn[:-2]), drawn[-2], drawn[-1], mean, mode.transform)
