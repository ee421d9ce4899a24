"""Kernels that are a product of factors: one in the decision and one in the context, or one in each column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

from allweather.errors import InvalidInput

COLUMNS = "-columns"
"""Ends the name of a family whose kernels are a product over single columns."""
SMOOTHNESS = {"rbf": math.inf, "matern32": 1.5, "matern52": 2.5, "matern": 2.5}
"""How often samples of a kernel can be differentiated (Matern's nu)."""
FAMILIES = (*SMOOTHNESS, *(f"{name}{COLUMNS}" for name, nu in SMOOTHNESS.items() if nu < math.inf))
"""The families by name."""

Numbers = TypeVar("Numbers", Tensor, np.ndarray)


@dataclass(frozen=True)
class Factor:
    """A correlation on scaled points: 1 at distance 0, of one smoothness.

    It is a function of the Euclidean distance, or a product of such functions of single columns.

    Example:
        >>> factor = Factor(math.inf)
        >>> round(factor(torch.zeros(1, 2), torch.ones(1, 2)).item(), 4)
        0.3679
    """

    nu: float
    columns: bool = False
    """Whether it is a product over columns; an RBF is one in either case."""

    @classmethod
    def named(cls, family: str) -> Factor:
        """The factor of a family's kernels."""
        name = family.removesuffix(COLUMNS)
        return cls(SMOOTHNESS[name], name != family)

    @property
    def separable(self) -> bool:
        """Whether a product over columns gives the same however they are split into groups."""
        return self.columns or self.nu == math.inf

    def groups(self, split: int, d: int) -> list[slice]:
        """The columns that share a distance, in a kernel of d columns whose first `split` are decisions."""
        if self.nu == math.inf:
            return [slice(0, d)]
        ends = range(d + 1) if self.columns else sorted({0, split, d})
        return [slice(low, high) for low, high in pairwise(ends)]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Correlations (..., n, m) of points (..., n, d) and (m, d), divided by their lengthscales before."""
        if not self.columns:
            return self.of(squared_distances(a, b))
        if a.device.type == "cpu" and not (a.requires_grad or b.requires_grad):
            return torch.from_numpy(self.of_arrays(a.numpy(), b.numpy()))
        apart = ((a[..., column, None] - b[:, column]).abs() for column in range(a.shape[-1]))
        return self.product(apart) if a.shape[-1] else a.new_ones(*a.shape[:-1], len(b))

    def of_arrays(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Correlations (..., n, m) of scaled points (..., n, d) and (m, d), without gradient."""
        return self._by_column(a, b) if self.columns else self.of_array(squared_distances_of_arrays(a, b))

    def of_differences(self, apart: Tensor) -> Tensor:
        """Correlations (...,) of scaled points by their differences (..., d)."""
        if not self.columns:
            return self.of(apart.square().sum(-1))
        return self.product(apart.abs().unbind(-1)) if apart.shape[-1] else apart.new_ones(apart.shape[:-1])

    def product(self, distances: Iterable[Tensor]) -> Tensor:
        """Correlations from the scaled distances in each column, one column at least."""
        first, *others = (math.sqrt(2 * self.nu) * each for each in distances)
        shape, total = self._shape(first), first
        for r in others:
            shape, total = shape * self._shape(r), total + r
        return shape * (-total).exp()

    def with_pull(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Correlations (n, m) of scaled points (n, d) and (m, d), and the way back.

        The latter takes the derivatives (n, m) of a sum in the correlations to those (n, d) in the points `a`.
        """
        if not self.columns:
            near, steepness = self.with_steepness(squared_distances_of_arrays(a, b))

            def back(rising: np.ndarray) -> np.ndarray:
                moved = rising * steepness
                return np.asarray(moved @ b - moved.sum(1, keepdims=True) * a)

            return near, back
        roots: list[np.ndarray] = []
        near = self._by_column(a, b, roots)

        def back_by_column(rising: np.ndarray) -> np.ndarray:
            pull = rising * near
            moved = [pull * self._log_steepness(r) for r in roots]
            return np.stack([each @ b[:, i] - each.sum(1) * a[:, i] for i, each in enumerate(moved)], -1)

        return near, back_by_column

    def _by_column(self, a: np.ndarray, b: np.ndarray, roots: list[np.ndarray] | None = None) -> np.ndarray:
        """Correlations (..., n, m); `sqrt(2 nu)` times the distances in each column are appended to `roots`."""
        rate = math.sqrt(2 * self.nu)
        total, shape = np.zeros((*a.shape[:-1], len(b))), np.ones((*a.shape[:-1], len(b)))
        for column in range(a.shape[-1]):
            r = rate * a[..., column, None] - rate * b[:, column]
            np.abs(r, out=r)
            total += r
            shape *= self._shape(r)
            if roots is not None:
                roots.append(r)
        shape *= np.exp(np.negative(total, out=total), out=total)
        return shape

    def _shape(self, r: Numbers) -> Numbers:
        """The polynomial that a Matern is besides the exponential."""
        return 1 + r if self.nu == 1.5 else 1 + r + r * r / 3

    def _log_steepness(self, r: Numbers) -> Numbers:
        """Minus twice the derivative of the logarithm of a Matern in the squared distance."""
        linear = 1 + r
        return 3 / linear if self.nu == 1.5 else 5 / 3 * linear / (linear + r * r / 3)

    def of(self, squared: Tensor) -> Tensor:
        """Correlations at squared distances, in one column where it is a product over columns."""
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
        if self.columns:
            roots = math.sqrt(2 * self.nu) * apart.abs()
            return -self.of_differences(apart)[..., None] * self._log_steepness(roots) * apart
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
        times = (shape[0], shape[1] if self.columns else 1, round(2 * self.nu))
        squares = torch.randn(times, generator=generator, dtype=torch.float64).square().sum(-1)
        return normal * (2 * self.nu / squares).sqrt()


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
    def factor(self) -> Factor:
        """The correlation both halves use."""
        return Factor.named(self.family)

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
            smooth = factor.nu == math.inf
            kernel = RBFKernel(len(active), active_dims=active) if smooth else _matern(factor.nu, active)
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
    if name not in FAMILIES:
        raise InvalidInput(f"`{where}` must be one of {', '.join(FAMILIES)}, got {name!r}")


def over_columns(family: str) -> str:
    """The family of the same smoothness whose kernels are products over single columns.

    Example:
        >>> over_columns("matern"), over_columns("matern-columns"), over_columns("rbf")
        ('matern-columns', 'matern-columns', 'rbf')
    """
    return family if Factor.named(family).separable else f"{family}{COLUMNS}"
