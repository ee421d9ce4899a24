"""The hyperparameters of a GP as plain numbers; without torch, since trials are read with them."""

from __future__ import annotations

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
        >>> Hyperparameters((0.5, 0.5), outputscale=1.0, noise=1.0, mean=0.0).logarithms.round(1).tolist()
        [-0.7, -0.7, 0.0, 0.0]
    """

    lengthscales: tuple[float, ...]
    outputscale: float
    noise: float
    """Variance of the noise, in the middle of the unit cube where it varies."""
    mean: float
    transform: str = ""
    """Centre of the transform of outcomes (`middle`, `top` or `bottom`); empty if not transformed."""
    noise_slopes: tuple[float, ...] = ()
    """How the log variance of the noise rises with each column, `noise` being that in the middle of the unit cube;
    empty where the noise is constant."""
    outliers: tuple[int, ...] = ()
    """Places of the outcomes that count as outliers, to which nothing was fitted."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Hyperparameters:
        """The hyperparameters that `dataclasses.asdict` wrote."""
        listed = {name: tuple(data[name]) for name in ("lengthscales", "noise_slopes", "outliers") if name in data}
        if "others" not in data:
            return cls(**{**data, **listed})
        others = tuple(Hyperparameters.from_dict(each) for each in data["others"])
        return KernelHyperparameters(**{**data, **listed, "others": others})

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


@dataclass(frozen=True)
class KernelHyperparameters(Hyperparameters):
    """Those of several models with different kernels: the first one's own, and the others'."""

    others: tuple[Hyperparameters, ...] = ()

    @property
    def first(self) -> Hyperparameters:
        """Those of the first model."""
        return Hyperparameters(**{name: value for name, value in vars(self).items() if name != "others"})
