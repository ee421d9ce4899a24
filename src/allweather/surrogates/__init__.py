"""Surrogates: what the observations say about the function, and how that is asked at many contexts at once."""

from typing import TYPE_CHECKING

from allweather._utils.lazy import lazy_names
from allweather.surrogates.hyperparameters import Hyperparameters

if TYPE_CHECKING:
    from allweather.surrogates.base import Field, Moments, Paths, Posterior, Surrogate
    from allweather.surrogates.botorch_model import BoTorch
    from allweather.surrogates.gp.gp import GP
    from allweather.surrogates.gp.kernel_average import KernelAverage
    from allweather.surrogates.posteriors.product import ProductPosterior

_NAMES = {"base": "Field Moments Paths Posterior Surrogate", "gp.gp": "GP", "botorch_model": "BoTorch"}
_FURTHER = {"gp.kernel_average": "KernelAverage", "posteriors.product": "ProductPosterior"}
__getattr__, __dir__ = lazy_names(__name__, {**_NAMES, **_FURTHER})

__all__ = [
    "GP",
    "BoTorch",
    "Field",
    "Hyperparameters",
    "KernelAverage",
    "Moments",
    "Paths",
    "Posterior",
    "ProductPosterior",
    "Surrogate",
]
