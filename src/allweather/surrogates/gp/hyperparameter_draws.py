"""Draws of a GP's hyperparameters from their posterior, where data are too few to settle them.

Sequential Monte Carlo (Del Moral, Doucet and Jasra 2006, JRSS B 68): a population of proposals from a multivariate t
around the mode, as wide as the curvature there says, is carried to the posterior in steps, each as long as half of the
population bears, and moved by Metropolis steps as wide as the population. Where the first proposals are good, that is
one step. The columns are taken in an order of the data's own, so that draws do not depend on how variables, options or
rows are ordered; given the data and the mode they are always the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from allweather.surrogates.gp.hyperparameter_fit import Evidence, log_bounds
from allweather.surrogates.hyperparameters import Hyperparameters

POPULATION = 128
"""Number of hyperparameters that are carried to the posterior."""
DEGREES_OF_FREEDOM = 5.0
"""Of the t distribution of the proposals: their tails are heavier than those of the posterior."""
MAX_LOG_DEVIATION = 1.5
"""Limit on the standard deviation of the logarithm of a hyperparameter in a proposal."""
DIFFERENCE_STEP = 1e-3
"""Of the finite differences of the gradient, in the logarithms."""
KEPT_SHARE, MAX_TEMPERATURES = 0.5, 40
"""Effective share of the population that is left after a step to the posterior, and the number of steps at most."""
MOVES, MAX_LAST_MOVES = 2, 24
"""Metropolis steps at every temperature, and at most so many in the end."""
WANTED_ACCEPTANCE = 0.3
"""Share of Metropolis steps that are accepted; their length is adapted to it."""
WANTED_EFFECTIVE_DRAWS = 50
"""Effective size of the population that the last moves go on for."""


class Draws(NamedTuple):
    """Equally weighted draws of hyperparameters, and how many independent ones the population is worth."""

    hyperparameters: list[Hyperparameters]
    effective: float
    """Infinite where nothing is free."""


def hyperparameter_draws(evidence: Evidence, mode: Hyperparameters, count: int) -> Draws:
    """`count` draws from the posterior of the hyperparameters that are fitted; the others stay as they are.

    Args:
        evidence: the outcomes, and which hyperparameters are free.
        mode: where the posterior density is largest.
        count: how many draws.

    Example:
        >>> import torch
        >>> points = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]
        >>> free = np.array([True, False, True])
        >>> evidence = Evidence(points, (6 * points[:, 0]).sin(), "rbf", 1, free, True)
        >>> mode, _ = evidence.fit(evidence.priors.typical(1, 1))
        >>> drawn = hyperparameter_draws(evidence, mode, 16)
        >>> len(drawn.hyperparameters), drawn.effective > 50
        (16, True)
    """
    if not evidence.free.any():
        return Draws([mode] * count, math.inf)
    source = np.random.default_rng(len(evidence.targets))
    target = _Target.of(evidence, mode)
    places, effective = _carried(target, source)
    # Neighbours in the direction of largest variance are alike: every so-many-th stands for those beside it.
    spread = places - places.mean(0)
    axis = np.linalg.eigh(spread.T @ spread)[1][:, -1]
    order = np.argsort(spread @ axis * np.sign(axis.sum()), kind="stable")
    chosen = order[((np.arange(count) + 0.5) / count * len(order)).astype(int)]
    rows = target.logarithms(places[chosen])
    _, means, deviations = evidence.log_posteriors(rows, mode.mean)
    normal = source.permutation(ndtri((np.arange(count) + 0.5) / count))
    found = zip(rows, (means + normal * deviations).tolist(), strict=True)
    return Draws([_named(row, mean, mode, evidence.free) for row, mean in found], effective)


@dataclass(frozen=True)
class _Target:
    """The posterior density around the mode, and the proposal's; places (m, k) are free logarithms less the mode's."""

    evidence: Evidence
    mode: Hyperparameters
    order: np.ndarray
    """(k,) which logarithm each column of the places is."""
    root: np.ndarray
    """(k, k) lower root of the proposal's covariance."""

    @classmethod
    def of(cls, evidence: Evidence, mode: Hyperparameters) -> _Target:
        """The proposal is as wide as the Laplace approximation, but nowhere too wide."""
        order = _order(evidence)
        hessian = np.empty((len(order), len(order)))
        for row, place in enumerate(order):
            ahead, behind = mode.logarithms, mode.logarithms
            ahead[place] += DIFFERENCE_STEP
            behind[place] -= DIFFERENCE_STEP
            slopes = (evidence.minus_log_posterior(each, mode.mean)[1] for each in (ahead, behind))
            hessian[row] = (next(slopes) - next(slopes))[order] / (2 * DIFFERENCE_STEP)
        values, axes = np.linalg.eigh((hessian + hessian.T) / 2)
        covariance = (axes / np.maximum(values, 1 / MAX_LOG_DEVIATION**2)) @ axes.T
        return cls(evidence, mode, order, np.linalg.cholesky(covariance))

    def logarithms(self, places: np.ndarray) -> np.ndarray:
        """Logarithms (m, d + 2) of all hyperparameters."""
        rows = np.tile(self.mode.logarithms, (len(places), 1))
        rows[:, self.order] += places
        return rows

    def proposed(self, places: np.ndarray) -> np.ndarray:
        """Log densities (m,) of the proposal, a multivariate t, up to a constant."""
        standard = np.linalg.solve(self.root, places.T)
        k = len(self.order)
        density: np.ndarray = np.log1p((standard**2).sum(0) / DEGREES_OF_FREEDOM)
        return -0.5 * (DEGREES_OF_FREEDOM + k) * density

    def wanted(self, places: np.ndarray) -> np.ndarray:
        """Log densities (m,) of the posterior, up to a constant."""
        rows = self.logarithms(places)
        low, high = log_bounds(rows.shape[1] - 2).T
        inside = ((rows >= low) & (rows <= high))[:, self.order].all(1)
        found = np.full(len(rows), -math.inf)
        found[inside] = self.evidence.log_posteriors(rows[inside], self.mode.mean).values
        return found


def _order(evidence: Evidence) -> np.ndarray:
    """The free logarithms (k,), columns in an order that does not depend on how they, or the rows, are ordered."""
    points, targets = evidence.points.numpy(), evidence.targets.numpy()
    centred = points - points.mean(0)
    keys = np.stack([points.mean(0), (centred**2).sum(0), np.abs((targets - targets.mean()) @ centred)])
    columns = np.lexsort(keys.round(9))
    return np.array([place for place in [*columns, len(columns), len(columns) + 1] if evidence.free[place]])


def _carried(target: _Target, source: np.random.Generator) -> tuple[np.ndarray, float]:
    """Places (m, k) drawn from the posterior, and how many independent draws they are worth."""
    k = len(target.order)
    stretch = np.sqrt(DEGREES_OF_FREEDOM / source.chisquare(DEGREES_OF_FREEDOM, (POPULATION, 1)))
    places = source.standard_normal((POPULATION, k)) * stretch @ target.root.T
    places[0] = 0  # the mode itself, which is always possible
    densities = np.stack([target.proposed(places), target.wanted(places)])
    reached, repeated, length = 0.0, 0.0, 2.38 / math.sqrt(k)
    for number in range(MAX_TEMPERATURES):
        gap = densities[1] - densities[0]
        step = _step(gap, 1 - reached) if number < MAX_TEMPERATURES - 1 else 1 - reached
        weights = _weights(gap, step)
        reached = min(reached + step, 1.0)
        root = _root(np.cov(places.T, aweights=weights).reshape(k, k))
        ancestors = np.searchsorted(weights.cumsum(), (np.arange(POPULATION) + source.random()) / POPULATION)
        ancestors = ancestors.clip(0, POPULATION - 1)
        places, densities = places[ancestors], densities[:, ancestors]
        before, repeated = places, repeated + float((weights**2).sum())
        moves, kept = (MOVES, 1.0) if reached < 1 else (MAX_LAST_MOVES, 1.0)
        for _ in range(moves):
            if reached == 1 and 1 / POPULATION + kept * repeated <= 1 / WANTED_EFFECTIVE_DRAWS:
                break
            trials = places + length * source.standard_normal(places.shape) @ root.T
            found = np.stack([target.proposed(trials), target.wanted(trials)])
            mixed = (
                (1 - reached) * found[0] + reached * found[1] - (1 - reached) * densities[0] - reached * densities[1]
            )
            taken = np.log(source.random(POPULATION)) < mixed
            places, densities = np.where(taken[:, None], trials, places), np.where(taken, found, densities)
            length *= math.exp(taken.mean() - WANTED_ACCEPTANCE)
            kept = _kept(before, places)
        repeated *= kept
        if reached == 1:
            break
    return places, 1 / (1 / POPULATION + repeated)


def _step(gap: np.ndarray, left: float) -> float:
    """How far to go to the posterior, at most what is left, so that a share of the population stays effective."""
    wanted = KEPT_SHARE * len(gap)
    low, high = 0.0, left
    if 1 / (_weights(gap, left) ** 2).sum() >= wanted:
        return left
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 / (_weights(gap, middle) ** 2).sum() >= wanted else (low, middle)
    return max(low, 1e-6 * left)


def _weights(gap: np.ndarray, step: float) -> np.ndarray:
    """Weights (m,) of sum 1 after a step to the posterior."""
    weights = np.where(np.isfinite(gap), np.exp(step * (gap - gap.max())), 0.0)
    return np.asarray(weights / weights.sum())


def _kept(before: np.ndarray, after: np.ndarray) -> float:
    """The largest squared correlation of a column with what it was."""
    one, other = before - before.mean(0), after - after.mean(0)
    along = (one * other).sum(0) ** 2
    return float((along / ((one**2).sum(0) * (other**2).sum(0)).clip(1e-300)).max())


def _root(covariance: np.ndarray) -> np.ndarray:
    """A lower root (k, k) of a covariance of which directions may be missing."""
    floor = 1e-6 * np.trace(covariance) / len(covariance) + 1e-12
    return np.asarray(np.linalg.cholesky(covariance + floor * np.eye(len(covariance))))


def _named(logarithms: np.ndarray, mean: float, mode: Hyperparameters, free: np.ndarray) -> Hyperparameters:
    held = [*mode.lengthscales, mode.outputscale, mode.noise]
    drawn = [math.exp(new) if chosen else old for new, old, chosen in zip(logarithms, held, free, strict=True)]
    return replace(mode, lengthscales=tuple(drawn[:-2]), outputscale=drawn[-2], noise=drawn[-1], mean=mean)
