"""The hyperparameters of a GP as plain numbers; without torch, since trials are read with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    from allweather.surrogates.kernels import ProductKernel


@dataclass(frozen=True)
class Hyperparameters:
    """A GP's hyperparameters for standardised outcomes: plain numbers, which a journal keeps exactly.

    Example:
        >>> round(Hyperparameters.typical(dimension=4).lengthscales[0], 4)
        0.4096
    """

    lengthscales: tuple[float, ...]
    outputscale: float
    noise: float
    """Variance of the noise."""
    mean: float
    transform: str = ""
    """Centre of the transform of outcomes (`middle`, `top` or `bottom`); empty if not transformed."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Hyperparameters:
        """The hyperparameters that `dataclasses.asdict` wrote."""
        return cls(**{**data, "lengthscales": tuple(data["lengthscales"])})

    @classmethod
    def typical(cls, dimension: int) -> Hyperparameters:
        """The priors' modes: where a fit starts that has nothing better."""
        mode = math.exp(math.sqrt(2) + 0.5 * math.log(max(dimension, 1)) - 3)
        return cls((mode,) * dimension, 1.0, math.exp(-5), 0.0)

    def kernel(self, family: str, split: int, device: torch.device | str = "cpu") -> ProductKernel:
        """The prior covariance of points on a device, whose first `split` columns are decisions."""
        import torch

        from allweather.surrogates.kernels import ProductKernel

        lengthscales, outputscale = (
            torch.tensor(each, dtype=torch.float64).to(device) for each in (self.lengthscales, self.outputscale)
        )
        return ProductKernel(family, lengthscales, outputscale, split)

    @property
    def logarithms(self) -> np.ndarray:
        """(d + 2,) what the fit moves: log lengthscales, log outputscale, log noise."""
        return np.log([*self.lengthscales, self.outputscale, self.noise])
