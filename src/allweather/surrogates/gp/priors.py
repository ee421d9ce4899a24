"""Prior densities of a GP's hyperparameters, for outcomes of variance 1 and columns in the unit cube."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from allweather._utils.registry import Named
from allweather.errors import require_number
from allweather.surrogates.hyperparameters import Hyperparameters

TYPICAL_COLUMNS = 3
"""Number of columns that lengthscales of `LogNormalPriors` are stated for."""


class Priors(Named, ABC):
    """Independent priors of lengthscales, outputscale and noise variance, as functions of their logarithms."""

    @abstractmethod
    def log_density(
        self,
        logarithms: np.ndarray,  # (..., d + 2)
        split: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log densities (..., d + 2) of the logarithms, up to a constant, and their derivatives (..., d + 2).

        Args:
            logarithms: of d lengthscales, the outputscale and the noise variance.
            split: how many of the d columns are decisions.
        """

    @abstractmethod
    def centre(self, dimension: int, split: int) -> np.ndarray:
        """Logarithms (d + 2,) where a fit starts that has nothing better.

        Args:
            dimension: d.
            split: how many of the d columns are decisions.
        """

    def typical(self, dimension: int, split: int) -> Hyperparameters:
        """The hyperparameters at the `centre`, with a mean of 0.

        Args:
            dimension: d.
            split: how many of the d columns are decisions.
        """
        *lengthscales, outputscale, noise = np.exp(self.centre(dimension, split)).tolist()
        return Hyperparameters(tuple(lengthscales), outputscale, noise, 0.0)


@dataclass(frozen=True)
class DimensionScaledPriors(Priors):
    """BoTorch's priors (Hvarfner et al. 2024), those of the papers' code.

    Lengthscales log-normal around `exp(sqrt 2) sqrt d` with deviation `sqrt 3`, noise variance log-normal around
    `exp(-4)`, outputscale Gamma(2, 0.15). BoTorch maximises these densities of the natural numbers, and so do we; as
    densities of the logarithms they have their modes elsewhere, lengthscales at `exp(sqrt 2 - 3) sqrt d`.

    Example:
        >>> round(DimensionScaledPriors().typical(4, 2).lengthscales[0], 4)
        0.4096
    """

    def log_density(self, logarithms: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
        """The densities of the natural numbers, as they are."""
        d = logarithms.shape[-1] - 2
        centre = np.concatenate([np.full(d, math.sqrt(2) + 0.5 * math.log(max(d, 1))), [0.0, -4.0]])
        variance = np.concatenate([np.full(d, 3.0), [1.0, 1.0]])
        offset = logarithms - centre
        density = -logarithms - offset**2 / (2 * variance) - 0.5 * np.log(2 * math.pi * variance)
        gradient = -1 - offset / variance
        # The outputscale's prior is BoTorch's Gamma(2, 0.15).
        scale = np.exp(logarithms[..., d])
        density[..., d] = logarithms[..., d] - 0.15 * scale + 2 * math.log(0.15)
        gradient[..., d] = 1 - 0.15 * scale
        return density, gradient

    def centre(self, dimension: int, split: int) -> np.ndarray:
        """The modes, and the variance of the outcomes."""
        mode = math.sqrt(2) + 0.5 * math.log(max(dimension, 1)) - 3
        return np.array([mode] * dimension + [0.0, -5.0])


@dataclass(frozen=True)
class LogNormalPriors(Priors):
    """Normal densities of the logarithms, which a fit maximises as they are.

    Example:
        >>> priors = LogNormalPriors(lengthscale=0.5)
        >>> [round(float(each), 3) for each in np.exp(priors.centre(3, 2))]
        [0.5, 0.5, 0.5, 1.0, 0.001]
    """

    lengthscale: float = 0.45
    """Median lengthscale of a decision's column among three columns; it grows with the root of their number."""
    context_lengthscale: float | None = None
    """The same of a context's column; that of decisions if not given."""
    lengthscale_deviation: float = 0.7
    """Standard deviation of the logarithm of a lengthscale."""
    outputscale_deviation: float = 1.5
    """Standard deviation of the logarithm of the outputscale, whose median is the variance of the outcomes."""
    noise: float = 1e-3
    """Median noise variance, in units of the outcomes' variance."""
    noise_deviation: float = 2.5
    """Standard deviation of the logarithm of the noise variance."""

    def __post_init__(self) -> None:
        for name in ("lengthscale", "lengthscale_deviation", "outputscale_deviation", "noise", "noise_deviation"):
            require_number(getattr(self, name), f"LogNormalPriors({name}=...)", above=0)
        if self.context_lengthscale is not None:
            require_number(self.context_lengthscale, "LogNormalPriors(context_lengthscale=...)", above=0)

    def log_density(self, logarithms: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
        """Densities of the logarithms."""
        d = logarithms.shape[-1] - 2
        offset = logarithms - self.centre(d, split)
        deviation = np.array([self.lengthscale_deviation] * d + [self.outputscale_deviation, self.noise_deviation])
        density = -0.5 * (offset / deviation) ** 2 - np.log(deviation) - 0.5 * math.log(2 * math.pi)
        return density, -offset / deviation**2

    def centre(self, dimension: int, split: int) -> np.ndarray:
        """The medians."""
        growth = 0.5 * math.log(max(dimension, 1) / TYPICAL_COLUMNS)
        medians = [self.lengthscale] * split + [self.context_lengthscale or self.lengthscale] * (dimension - split)
        return np.concatenate([np.log(medians) + growth, [0.0, math.log(self.noise)]])


PUBLISHED = DimensionScaledPriors()
"""The priors of the papers' code."""
