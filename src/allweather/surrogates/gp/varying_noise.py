"""Noise whose variance depends on decision and context: log-linear in the columns of the unit cube.

The variance at p is `noise * exp(slopes . (p - 1/2))`. Slopes are fitted with the other hyperparameters only where a
score test finds that the residuals ask for them. At constant noise, `u = K^-1 (y - m)` has covariance `A = K^-1`, so
that `u_i^2 - A_ii` has mean 0 and, for two outcomes, covariance `2 A_ij^2`: the derivatives of the log likelihood in
the slopes and their covariance need no further factorisation (Breusch and Pagan 1979, Econometrica 47; with the
residuals' own kurtosis, Koenker 1981, Journal of Econometrics 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from scipy.special import chdtrc  # the tail of chi-squared; scipy.stats would take a second to import
from torch import Tensor

if TYPE_CHECKING:
    from allweather.surrogates.posteriors.product import ProductPosterior

SLOPE_DEVIATION = 2.0
"""Standard deviation of the normal prior of a slope."""
MAX_SLOPE, MAX_LOG_RATIO = 10.0, 6.0
"""Limits on a slope, and on the log of the variance at a point over that in the middle."""
MIN_OUTCOMES_PER_SLOPE = 6
"""Below this many outcomes of unknown noise per column (and one), the noise is taken to be constant."""
SIGNIFICANCE = 0.03
"""Fit slopes if residuals at constant noise are less likely than this."""

Numbers = TypeVar("Numbers", Tensor, np.ndarray)


def log_ratios(slopes: Numbers, points: Numbers) -> Numbers:
    """Log variances (...) of the noise at points (..., d), relative to that in the middle of the unit cube.

    Args:
        slopes: (d,)
        points: in the unit cube.

    Example:
        >>> log_ratios(np.array([2.0, 0.0]), np.array([[0.0, 0.3], [1.0, 0.3]])).tolist()
        [-1.0, 1.0]
    """
    found: Numbers = ((points - 0.5) @ slopes).clip(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return found


def noise_at(noise: float, slopes: Sequence[float] | Tensor, points: Tensor) -> Tensor:
    """Variances (...) of the noise at points (..., d) of the unit cube.

    Args:
        noise: the variance in the middle of the unit cube.
        slopes: (d,)
        points: on any device.
    """
    chosen = torch.as_tensor(slopes, dtype=torch.float64).to(points.device)
    return noise * log_ratios(chosen, points).exp()


def chance_of_constant_noise(posterior: ProductPosterior, unknown: Tensor | None = None) -> float:
    """The probability of residuals that vary with the columns as much as these, if the noise is constant.

    Args:
        posterior: at hyperparameters fitted with constant noise.
        unknown: (t,) which outcomes have no known standard error; all by default.
    """
    data = posterior.data
    precision = data.unroot.mT @ data.unroot
    expected = precision.diagonal()
    squared = data.weights.square()
    columns = torch.cat(
        [torch.ones_like(data.points[:, :1]), data.points - 0.5], 1
    )  # those of the noise and the slopes
    if unknown is not None:
        columns = columns * unknown[:, None]
    kurtosis = float((squared / expected - 1).square().mean() / 2)
    score = columns.mT @ (squared - expected)
    information = 2 * max(kurtosis, 1.0) * columns.mT @ precision.square() @ columns
    along = information[0] / information[0, 0]  # what a change of the noise as a whole would explain
    left, spread = score[1:] - along[1:] * score[0], information[1:, 1:] - along[1:, None] * information[0, 1:]
    sizes, directions = torch.linalg.eigh(spread)
    kept = sizes > 1e-9 * information[0, 0]
    statistic = float(((directions.mT @ left)[kept].square() / sizes[kept]).sum())
    return float(chdtrc(int(kept.sum()), statistic)) if bool(kept.any()) else 1.0
