"""Leave-one-out predictions of a GP in closed form (Rasmussen and Williams 2006, Sec. 5.4.2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from allweather.surrogates.approximations.inducing import InducingPosterior
from allweather.surrogates.base import Posterior
from allweather.surrogates.posteriors.kernel_average import KernelAveragePosterior
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior


class Predictions(NamedTuple):
    """What was predicted for each outcome from all the others, hyperparameters unchanged."""

    observed: Tensor
    """(t,) the outcomes, on the scale where predictions are Gaussian."""
    mean: Tensor
    """(t,)"""
    sd: Tensor
    """(t,) of the outcome, its noise included."""

    @property
    def residuals(self) -> Tensor:
        """(t,) standardised: close to standard normal where the model fits."""
        return (self.observed - self.mean) / self.sd

    @property
    def log_density(self) -> Tensor:
        """(t,) of each outcome under its prediction."""
        return -0.5 * self.residuals.square() - self.sd.log() - 0.5 * math.log(2 * math.pi)


def leave_one_out(posterior: Posterior) -> Predictions | None:
    """The predictions of each outcome, on the scale the GP models it on; None where a surrogate has no closed form.

    Example:
        >>> from allweather import GP
        >>> from allweather.surrogates.observations import Observations
        >>> table = Observations.of([[0.0], [0.5], [1.0]], [[0.5]] * 3, [1.0, 1.0, 1.0])
        >>> leave_one_out(GP().fit(table)).mean.round(decimals=6).tolist()
        [1.0, 1.0, 1.0]
    """
    if isinstance(posterior, TransformedPosterior):
        return leave_one_out(posterior.inner)
    if isinstance(posterior, MixturePosterior | KernelAveragePosterior):
        return leave_one_out(posterior.best)
    if not isinstance(posterior, ProductPosterior):
        return None
    data = posterior.data
    if isinstance(posterior, InducingPosterior) and posterior.everything is not None:
        known = posterior.everything
        targets, residuals, precision = known.targets, known.residuals, known.precisions
    else:
        targets, residuals = posterior.targets, data.weights
        precision = data.unroot.square().sum(0)  # diagonal of the inverse covariance
    observed = data.shift + data.scale * targets
    mean = observed - data.scale * residuals / precision
    return Predictions(observed, mean, data.scale * precision.rsqrt())


def product_of(posterior: Posterior) -> ProductPosterior | None:
    """The exact posterior at the best hyperparameters, of outcomes as they are transformed; None where there is none.

    Args:
        posterior: that may be transformed or an average.
    """
    if isinstance(posterior, TransformedPosterior):
        return product_of(posterior.inner)
    if isinstance(posterior, MixturePosterior | KernelAveragePosterior):
        return product_of(posterior.best)
    if isinstance(posterior, InducingPosterior) or not isinstance(posterior, ProductPosterior):
        return None
    return posterior


def transformed_residuals(posterior: Posterior) -> Tensor | None:
    """Outcomes (t,) less their leave-one-out predictions, in the outcome's units; None without a transform.

    The inverse of a transform brings the middle of a law back, not its mean: if what is left is noise, mean outcomes
    are higher by the mean of these (Duan 1983, JASA 78).
    """
    found = leave_one_out(posterior) if isinstance(posterior, TransformedPosterior) else None
    if found is None or not isinstance(posterior, TransformedPosterior):
        return None
    return posterior.back(found.observed) - posterior.back(found.mean)


def log_predictive_density(posterior: ProductPosterior) -> float:
    """The sum of leave-one-out log densities: the larger, the better a model predicts."""
    found = leave_one_out(posterior)
    assert found is not None  # a product posterior has a closed form
    return float(torch.nan_to_num(found.log_density, nan=-math.inf).sum())
