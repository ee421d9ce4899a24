"""The posterior density of a GP's hyperparameters, and its maximum.

BoTorch's priors for outcomes of variance 1 (Hvarfner et al. 2024): lengthscales log-normal and growing with the root of
the dimension, noise variance log-normal around exp(-4). Gradients are in closed form, and the constant mean is profiled
out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from allweather.surrogates.device_likelihood import minus_log_likelihood
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.pair_likelihood import Pairs

LOWEST_NOISE = 1e-4
LOWEST_LENGTHSCALE = 0.025
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

    def fit(self, start: Hyperparameters, steps: int = 100) -> tuple[Hyperparameters, float]:
        """The best hyperparameters found from here, and minus the log of their posterior density.

        Args:
            start: where the search starts.
            steps: its iterations, at most.
        """
        logarithms = start.logarithms
        d = len(logarithms) - 2
        bounds = log_bounds(d)[self.free]

        def objective(moved: np.ndarray) -> tuple[float, np.ndarray]:
            full = logarithms.copy()
            full[self.free] = moved
            value, gradient, _ = self.minus_log_posterior(full, start.mean)
            return value, gradient[self.free]

        moved = logarithms[self.free]
        if moved.size:
            from scipy.optimize import minimize

            found = minimize(
                objective,
                moved.clip(bounds[:, 0], bounds[:, 1]),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": steps, "ftol": 1e-9, "gtol": 1e-4},
            )
            logarithms[self.free] = found.x
        value, _, mean = self.minus_log_posterior(logarithms, start.mean)
        natural = [float(number) for number in np.exp(logarithms)]
        # What is held fixed comes back as it was given, not as exp(log(.)).
        held = [*start.lengthscales, start.outputscale, start.noise]
        chosen = [new if free else old for new, old, free in zip(natural, held, self.free, strict=True)]
        return Hyperparameters(tuple(chosen[:d]), chosen[d], chosen[d + 1], mean, start.warp), value

    def minus_log_posterior(self, logarithms: np.ndarray, mean: float) -> tuple[float, np.ndarray, float]:
        """Its value up to a constant, its gradient (d + 2,), and the mean that goes with it."""
        given = None if self.free_mean else mean
        if self.points.device.type == "cpu":
            known = None if self.variances is None else self.variances.numpy()
            found = self._pairs.minus_log_likelihood(self.targets.numpy(), logarithms, given, known)
        else:
            found = minus_log_likelihood(self.family, self.split, self.points, self.targets, logarithms, given)
        density, density_gradient = self.log_prior(logarithms)
        return found.value - density, found.gradient - density_gradient, found.mean

    @cached_property
    def _pairs(self) -> Pairs:
        return Pairs.of(self.family, self.split, self.points.numpy())

    def log_prior(self, logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        """Log densities of the free hyperparameters (in their natural scale), and their gradient."""
        d = len(logarithms) - 2
        centre = np.concatenate([np.full(d, math.sqrt(2) + 0.5 * math.log(max(d, 1))), [0.0, -4.0]])
        variance = np.concatenate([np.full(d, 3.0), [1.0, 1.0]])
        offset = logarithms - centre
        density = -logarithms - offset**2 / (2 * variance) - 0.5 * np.log(2 * math.pi * variance)
        gradient = -1 - offset / variance
        # The outputscale's prior is BoTorch's Gamma(2, 0.15).
        scale = math.exp(logarithms[d])
        density[d] = logarithms[d] - 0.15 * scale + 2 * math.log(0.15)
        gradient[d] = 1 - 0.15 * scale
        return float(density[self.free].sum()), np.where(self.free, gradient, 0.0)


def log_bounds(d: int) -> np.ndarray:
    """(d + 2, 2) between which the logarithms of hyperparameters are fitted."""
    names = ["lengthscale"] * d + ["outputscale", "noise"]
    return np.log([BOUNDS[name] for name in names])
