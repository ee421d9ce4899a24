"""Matern and rational quadratic correlations, the Gaussian (RBF) among them: every formula of them stands here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

COLUMNS = "-columns"
"""Ends the name of a family whose kernels are a product over single columns."""
RATIONAL = "rational-quadratic"
SMOOTHNESS = {"rbf": math.inf, "matern32": 1.5, "matern52": 2.5, "matern": 2.5, RATIONAL: math.inf}
"""How often samples of a kernel can be differentiated (Matern's nu)."""
FAMILIES = (*SMOOTHNESS, *(f"{name}{COLUMNS}" for name in SMOOTHNESS if name != "rbf"))
"""The families by name."""

Numbers = TypeVar("Numbers", Tensor, np.ndarray)


@dataclass(frozen=True)
class Matern:
    """A correlation of points that are divided by their lengthscales: 1 at distance 0, of one smoothness.

    It is a function of the Euclidean distance, or a product of such functions of single columns. The rational quadratic
    `1 / (1 + r^2 / 2)` is a mixture of Gaussians whose inverse squared lengthscales have an exponential law.

    Example:
        >>> rbf = Matern(math.inf)
        >>> round(rbf(torch.zeros(1, 2), torch.ones(1, 2)).item(), 4)
        0.3679
        >>> Matern.named("rational-quadratic")(torch.zeros(1, 2), torch.ones(1, 2)).item()
        0.5
    """

    nu: float
    columns: bool = False
    """Whether it is a product over columns; an RBF is one in either case."""
    rational: bool = False
    """Whether it is the rational quadratic."""

    @classmethod
    def named(cls, family: str) -> Matern:
        """The correlation of a family's kernels."""
        name = family.removesuffix(COLUMNS)
        return cls(SMOOTHNESS[name], name != family, name == RATIONAL)

    @property
    def gaussian(self) -> bool:
        """Whether it is an RBF."""
        return self.nu == math.inf and not self.rational

    @property
    def rate(self) -> float:
        """What distances are multiplied by before `shape` and `log_steepness`."""
        return 1.0 if self.rational else math.sqrt(2 * self.nu)

    @property
    def separable(self) -> bool:
        """Whether a product over columns gives the same however they are split into groups."""
        return self.columns or self.gaussian

    def groups(self, split: int, d: int) -> list[slice]:
        """The columns that share a distance, in a kernel of d columns whose first `split` are decisions."""
        if self.gaussian:
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
        first, *others = (self.rate * each for each in distances)
        shape, total = self.shape(first), first
        for r in others:
            shape, total = shape * self.shape(r), total + r
        return shape if self.rational else shape * (-total).exp()

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
            moved = [pull * self.log_steepness(r) for r in roots]
            return np.stack([each @ b[:, i] - each.sum(1) * a[:, i] for i, each in enumerate(moved)], -1)

        return near, back_by_column

    def _by_column(self, a: np.ndarray, b: np.ndarray, roots: list[np.ndarray] | None = None) -> np.ndarray:
        """Correlations (..., n, m); the distances in each column, times `rate`, are appended to `roots`."""
        rate = self.rate
        total, shape = np.zeros((*a.shape[:-1], len(b))), np.ones((*a.shape[:-1], len(b)))
        for column in range(a.shape[-1]):
            r = rate * a[..., column, None] - rate * b[:, column]
            np.abs(r, out=r)
            total += r
            shape *= self.shape(r)
            if roots is not None:
                roots.append(r)
        if not self.rational:
            shape *= np.exp(np.negative(total, out=total), out=total)
        return shape

    def shape(self, r: Numbers) -> Numbers:
        """The polynomial that a Matern is besides the exponential; all of a rational quadratic."""
        if self.rational:
            return 1 / (1 + 0.5 * r**2)
        return 1 + r if self.nu == 1.5 else 1 + r + r**2 / 3

    def log_steepness(self, r: Numbers) -> Numbers:
        """Minus twice the derivative of the logarithm in the squared distance."""
        if self.rational:
            return self.shape(r)
        linear = 1 + r
        return 3 / linear if self.nu == 1.5 else 5 / 3 * linear / (linear + r**2 / 3)

    def of_distances(self, distances: Tensor) -> Tensor:
        """Correlations at distances."""
        if self.gaussian:
            return (-0.5 * distances.square()).exp()
        if self.rational:
            return self.shape(distances)
        r = math.sqrt(2 * self.nu) * distances
        return self.shape(r) * (-r).exp()

    def of(self, squared: Tensor) -> Tensor:
        """Correlations at squared distances, in one column where it is a product over columns."""
        if squared.device.type == "cpu" and not squared.requires_grad:  # NumPy's exponential takes half the time
            return torch.from_numpy(self.of_array(squared.numpy()))
        if self.gaussian:
            return squared.mul(-0.5).exp()
        if self.rational:
            return 1 / (1 + 0.5 * squared)
        r = self._root(squared)
        return self.shape(r) * (-r).exp()

    def of_array(self, squared: np.ndarray) -> np.ndarray:
        """Correlations at squared distances, without gradient."""
        if self.gaussian:
            found = squared * -0.5
            return np.exp(found, out=found)
        if self.rational:
            return np.asarray(1 / (1 + 0.5 * squared))
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
        if self.gaussian:
            near = np.exp(-0.5 * squared)
            return near, near
        if self.rational:
            near = 1 / (1 + 0.5 * squared)
            return near, near**2
        r = np.sqrt(2 * self.nu * squared)
        decay = np.exp(-r)
        linear = (1 + r) * decay
        return (linear, 3 * decay) if self.nu == 1.5 else (linear + 5 / 3 * squared * decay, 5 / 3 * linear)

    def steepness(self, squared: Tensor) -> Tensor:
        """Minus twice the derivative of the correlation in the squared distance."""
        if self.gaussian:
            return squared.mul(-0.5).exp()
        if self.rational:
            return (1 + 0.5 * squared) ** -2
        r = self._root(squared)
        return 3 * (-r).exp() if self.nu == 1.5 else 5 / 3 * (1 + r) * (-r).exp()

    def slopes(self, a: Tensor, b: Tensor) -> Tensor:
        """Derivatives (n, m, d) of the correlations in the scaled points `a`."""
        apart = a[:, None, :] - b
        if self.columns:
            roots = self.rate * apart.abs()
            return -self.of_differences(apart)[..., None] * self.log_steepness(roots) * apart
        return -self.steepness(apart.square().sum(-1))[..., None] * apart

    def _root(self, squared: Tensor) -> Tensor:
        # The root has no gradient at 0, where the correlation is flat.
        return (2 * self.nu * squared).clamp_min(1e-24).sqrt()

    def frequencies(self, shape: tuple[int, int], generator: torch.Generator) -> Tensor:
        """Draws (features, d) of the spectral density.

        It is a normal law for an RBF, Student's t with 2 nu degrees of freedom for a Matern, and a normal law whose
        variance has an exponential one for a rational quadratic.
        """
        normal = torch.randn(shape, generator=generator, dtype=torch.float64)
        if self.gaussian:
            return normal
        if self.rational:
            times = (shape[0], shape[1] if self.columns else 1)
            return normal * torch.empty(times, dtype=torch.float64).exponential_(generator=generator).sqrt()
        # A chi-squared variable with 2 nu (odd) degrees of freedom is a sum of that many squares.
        each = (shape[0], shape[1] if self.columns else 1, round(2 * self.nu))
        squares = torch.randn(each, generator=generator, dtype=torch.float64).square().sum(-1)
        return normal * (2 * self.nu / squares).sqrt()


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


def write_matern52(squared: Tensor, out: Tensor) -> Tensor:
    """Write Matern-5/2 correlations at squared distances to `out`; both tensors are overwritten.

    Example:
        >>> write_matern52(torch.zeros(1), torch.empty(1))
        tensor([1.])
    """
    s = squared.mul_(5).sqrt_()
    torch.neg(s, out=out).exp_()
    # 1 + s + s^2 / 3, as a square: no third array
    return out.mul_(s.add_(1.5).square_().add_(0.75).div_(3))


def write_matern52_slopes(squared: Tensor, out: Tensor) -> Tensor:
    """Write their derivatives in the squared distance to `out`; both tensors are overwritten.

    They are finite also at distance 0, where the derivative in the distance itself is 0 / 0.
    """
    s = squared.mul_(5).sqrt_()
    torch.neg(s, out=out).exp_()
    return out.mul_(s.add_(1)).mul_(-5 / 6)


def matern52_as_gaussians() -> tuple[Tensor, Tensor]:
    """Return squared lengthscales (k,) of RBF kernels and their shares (k,): the Matern-5/2 kernel to 4e-10.

    It is a mixture of RBF kernels whose squared lengthscales have a Gamma(5/2, 5/2) law, here summed by the trapezoidal
    rule over their logarithm.

    Example:
        >>> squares, shares = matern52_as_gaussians()
        >>> found = shares @ torch.exp(-0.5 / squares)
        >>> bool((found - Matern(2.5).of(torch.ones(1, dtype=torch.float64))).abs() < 1e-9)
        True
    """
    step, lowest, highest = 0.3, -9.0, 2.7
    squares = torch.arange(lowest, highest, step, dtype=torch.float64).exp()
    return squares, step * 2.5**2.5 / math.gamma(2.5) * squares**2.5 * (-2.5 * squares).exp()
