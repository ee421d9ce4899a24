"""Kernels that are a product of factors: one in the decision and one in the context, or one in each column."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel
from torch import Tensor

from allweather._utils.matern import COLUMNS, FAMILIES, Matern
from allweather.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class ProductKernel:
    """`outputscale * kx(decision) * kc(context)`, each factor with a lengthscale per column.

    An RBF over all columns is such a product; for Matern the product of two factors is not the Matern of the joint
    distance. A product of Materns of single columns is such a product too, however the columns are split.
    """

    family: str
    lengthscales: Tensor
    """(d_x + d_c,) in the unit cube."""
    outputscale: Tensor
    """() the prior variance."""
    split: int
    """d_x, the columns that are decisions."""

    @property
    def factor(self) -> Matern:
        """The correlation both halves use."""
        return Matern.named(self.family)

    def scaled(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Joint points (n, d) as scaled decisions and scaled contexts."""
        scaled = points / self.lengthscales
        return scaled[..., : self.split], scaled[..., self.split :]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Prior covariances (n, m) of joint points."""
        (xa, ca), (xb, cb) = self.scaled(a), self.scaled(b)
        factor = self.factor
        if factor.separable:  # one exponential instead of two
            return self.outputscale * factor(torch.cat([xa, ca], -1), torch.cat([xb, cb], -1))
        return self.outputscale * factor(xa, xb) * factor(ca, cb)

    def of_contexts(self, a: Tensor, b: Tensor) -> Tensor:
        """Prior covariances (n, m) of contexts (n, d_c) and (m, d_c) at equal decisions."""
        lengthscales = self.lengthscales[self.split :]
        return self.outputscale * self.factor(a / lengthscales, b / lengthscales)

    def gpytorch(self) -> Kernel:
        """The same kernel as a GPyTorch module."""
        d, factor = len(self.lengthscales), self.factor
        product: Kernel | None = None
        for columns in factor.groups(self.split, d):
            active = tuple(range(d)[columns])
            kernel = _gpytorch(factor, active)
            kernel.double().lengthscale = self.lengthscales[list(active)]
            product = kernel if product is None else product * kernel
        scaled = ScaleKernel(product).double()
        scaled.outputscale = self.outputscale
        return scaled


def _gpytorch(factor: Matern, active: tuple[int, ...]) -> Kernel:
    """One factor as a GPyTorch module without lengthscales."""
    if factor.gaussian:
        return RBFKernel(len(active), active_dims=active)
    if factor.rational:
        rational = RQKernel(ard_num_dims=len(active), active_dims=active).double()
        rational.alpha = 1.0
        return rational
    return MaternKernel(factor.nu, ard_num_dims=len(active), active_dims=active)


def require_family(name: object, where: str) -> None:
    """Refuse a kernel that is not among ours."""
    if name not in FAMILIES:
        raise InvalidInput(f"`{where}` must be one of {', '.join(FAMILIES)}, got {name!r}")


def over_columns(family: str) -> str:
    """The family of the same smoothness whose kernels are products over single columns.

    Example:
        >>> over_columns("matern"), over_columns("matern-columns"), over_columns("rbf")
        ('matern-columns', 'matern-columns', 'rbf')
    """
    return family if Matern.named(family).separable else f"{family}{COLUMNS}"
