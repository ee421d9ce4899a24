"""Kernels that are a product of one factor in the decision and one in the context."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

from allweather.errors import InvalidInput

SMOOTHNESS = {"rbf": math.inf, "matern32": 1.5, "matern52": 2.5, "matern": 2.5}
"""The families by name, and how often their samples can be differentiated (Matern's nu)."""


@dataclass(frozen=True)
class Factor:
    """A correlation on scaled points: 1 at distance 0, of one smoothness.

    Example:
        >>> factor = Factor(math.inf)
        >>> round(factor(torch.zeros(1, 2), torch.ones(1, 2)).item(), 4)
        0.3679
    """

    nu: float

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Correlations (..., n, m) of points (..., n, d) and (m, d), divided by their lengthscales before."""
        return self.of(squared_distances(a, b))

    def of(self, squared: Tensor) -> Tensor:
        """Correlations at squared distances."""
        if squared.device.type == "cpu" and not squared.requires_grad:  # NumPy's exponential takes half the time
            return torch.from_numpy(self.of_array(squared.numpy()))
        if self.nu == math.inf:
            return squared.mul(-0.5).exp()
        r = self._root(squared)
        return (1 + r) * (-r).exp() if self.nu == 1.5 else (1 + r + r.square() / 3) * (-r).exp()

    def of_array(self, squared: np.ndarray) -> np.ndarray:
        """Correlations at squared distances, without gradient."""
        if self.nu == math.inf:
            found = squared * -0.5
            return np.exp(found, out=found)
        r = squared * (2 * self.nu)
        np.sqrt(r, out=r)
        found = squared * (5 / 3) if self.nu == 2.5 else np.zeros_like(squared)
        found += r
        found += 1
        np.negative(r, out=r)
        found *= np.exp(r, out=r)
        return found

    def with_steepness(self, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Correlations at squared distances, and minus twice their derivative."""
        if self.nu == math.inf:
            near = np.exp(-0.5 * squared)
            return near, near
        r = np.sqrt(2 * self.nu * squared)
        decay = np.exp(-r)
        linear = (1 + r) * decay
        return (linear, 3 * decay) if self.nu == 1.5 else (linear + 5 / 3 * squared * decay, 5 / 3 * linear)

    def steepness(self, squared: Tensor) -> Tensor:
        """Minus twice the derivative of the correlation in the squared distance."""
        if self.nu == math.inf:
            return squared.mul(-0.5).exp()
        r = self._root(squared)
        return 3 * (-r).exp() if self.nu == 1.5 else 5 / 3 * (1 + r) * (-r).exp()

    def slopes(self, a: Tensor, b: Tensor) -> Tensor:
        """Derivatives (n, m, d) of the correlations in the scaled points `a`."""
        apart = a[:, None, :] - b
        return -self.steepness(apart.square().sum(-1))[..., None] * apart

    def _root(self, squared: Tensor) -> Tensor:
        # The root has no gradient at 0, where the correlation is flat.
        return (2 * self.nu * squared).clamp_min(1e-24).sqrt()

    def frequencies(self, shape: tuple[int, int], generator: torch.Generator) -> Tensor:
        """Draws (features, d) of the spectral density (a normal law, or Student's t with 2 nu degrees of freedom)."""
        normal = torch.randn(shape, generator=generator, dtype=torch.float64)
        if self.nu == math.inf:
            return normal
        # A chi-squared variable with 2 nu (odd) degrees of freedom is a sum of that many squares.
        squares = torch.randn((shape[0], round(2 * self.nu)), generator=generator, dtype=torch.float64).square().sum(-1)
        return normal * (2 * self.nu / squares).sqrt()[:, None]


@dataclass(frozen=True, eq=False)
class ProductKernel:
    """`outputscale * kx(decision) * kc(context)`, each factor with a lengthscale per column.

    An RBF over all columns is such a product; for Matern the product of two factors is not the Matern of the joint
    distance.
    """

    family: str
    lengthscales: Tensor
    """(d_x + d_c,) in the unit cube."""
    outputscale: Tensor
    """() the prior variance."""
    split: int
    """d_x, the columns that are decisions."""

    @property
    def factor(self) -> Factor:
        """The correlation both halves use."""
        return Factor(SMOOTHNESS[self.family])

    def scaled(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Joint points (n, d) as scaled decisions and scaled contexts."""
        scaled = points / self.lengthscales
        return scaled[..., : self.split], scaled[..., self.split :]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Prior covariances (n, m) of joint points."""
        (xa, ca), (xb, cb) = self.scaled(a), self.scaled(b)
        factor = self.factor
        if factor.nu == math.inf:  # one exponential instead of two
            return self.outputscale * factor(torch.cat([xa, ca], -1), torch.cat([xb, cb], -1))
        return self.outputscale * factor(xa, xb) * factor(ca, cb)

    def of_contexts(self, a: Tensor, b: Tensor) -> Tensor:
        """Prior covariances (n, m) of contexts (n, d_c) and (m, d_c) at equal decisions."""
        lengthscales = self.lengthscales[self.split :]
        return self.outputscale * self.factor(a / lengthscales, b / lengthscales)

    def gpytorch(self) -> Kernel:
        """The same kernel as a GPyTorch module."""
        d, split = len(self.lengthscales), self.split
        factor = self.factor
        whole = factor.nu == math.inf
        halves = [range(d)] if whole else [half for half in (range(split), range(split, d)) if len(half)]
        product: Kernel | None = None
        for columns in halves:
            active = tuple(columns)
            kernel = RBFKernel(len(active), active_dims=active) if whole else _matern(factor.nu, active)
            kernel.double().lengthscale = self.lengthscales[list(active)]
            product = kernel if product is None else product * kernel
        scaled = ScaleKernel(product).double()
        scaled.outputscale = self.outputscale
        return scaled


def _matern(nu: float, active: tuple[int, ...]) -> Kernel:
    return MaternKernel(nu, ard_num_dims=len(active), active_dims=active)


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """Squared distances (..., n, m) of points (..., n, d) and (m, d), column by column: no digits are lost."""
    if a.device.type == "cpu" and not (a.requires_grad or b.requires_grad):
        return torch.from_numpy(squared_distances_of_arrays(a.numpy(), b.numpy()))
    total = (a[..., :1] - b[:, 0]).square() if a.shape[-1] else a.new_zeros(*a.shape[:-1], len(b))
    for column in range(1, a.shape[-1]):
        total = total + (a[..., column : column + 1] - b[:, column]).square()
    return total


def squared_distances_of_arrays(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As `squared_distances`, of arrays and with one temporary."""
    total = np.zeros((*a.shape[:-1], len(b)))
    for column in range(a.shape[-1]):
        apart = a[..., column, None] - b[:, column]
        apart *= apart
        total = apart if column == 0 else np.add(total, apart, out=total)
    return total


def require_family(name: object, where: str) -> None:
    """Refuse a kernel that is not among ours."""
    if name not in SMOOTHNESS:
        raise InvalidInput(f"`{where}` must be one of {', '.join(SMOOTHNESS)}, got {name!r}")
