"""Surrogates: what the observations say about the function, and how that is asked at many contexts at once."""

from allweather.surrogates.base import Field, Moments, Paths, Posterior, Surrogate
from allweather.surrogates.gp import GP
from allweather.surrogates.likelihood import Hyperparameters
from allweather.surrogates.model import BoTorch
from allweather.surrogates.posterior import ProductPosterior

__all__ = [
    "GP",
    "BoTorch",
    "Field",
    "Hyperparameters",
    "Moments",
    "Paths",
    "Posterior",
    "ProductPosterior",
    "Surrogate",
]
