"""A kernel ball over many contexts, without a table of all their pairs.

Smooth kernels have few directions that matter: columns of the kernel matrix are taken one by one, at the context that
the others explain least (pivoted Cholesky), until what is left is far below the regularisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from allweather.distances.mmd.ball import KernelBall, Solver, columns, total
from allweather.errors import InvalidInput

MAX_TABLED_CONTEXTS = 2048
"""Contexts up to which the whole kernel matrix is kept."""
RESIDUAL_SHARE = 1e-3
"""The largest diagonal entry left out, relative to the regularisation."""
MAX_COLUMNS = 1024
"""Columns at most; kernels that need more are refused."""


class LowRankBall(KernelBall):
    """`K + jitter I` with `K = B B'` (n, r), which stands for the kernel matrix up to a thousandth of the jitter."""

    tabled: ClassVar[bool] = False

    def __init__(self, column: Callable[[int], Tensor], diagonal: Tensor, jitter: float) -> None:
        """Take columns until the rest can be left out.

        Args:
            column: of the kernel matrix (n,), by number.
            diagonal: (n,) of the kernel matrix.
            jitter: the regularisation.
        """
        root = columns(column, diagonal, RESIDUAL_SHARE * jitter, MAX_COLUMNS)
        if root is None:
            raise InvalidInput(
                f"has more than {MAX_COLUMNS} directions that matter over {len(diagonal)} contexts",
                where="MMD(kernel=...)",
                remedy="choose a larger lengthscale, a smoother kernel such as 'rbf', "
                f"or at most {MAX_TABLED_CONTEXTS} contexts",
            )
        spectrum, vectors = torch.linalg.eigh(root.T @ root)
        spectrum, vectors = spectrum.clamp_min(1e-300).flip(0), vectors.flip(1)
        self.floor = jitter
        self._wide: Tensor = root @ vectors
        self._spectrum = spectrum
        self.rank = max(1, int((spectrum > jitter).sum()))
        self.spectrum, self.basis = spectrum[: self.rank], self._wide[:, : self.rank]
        self.well_conditioned = False
        self.diagonal = self._wide.square().sum(-1) + jitter
        self.largest = float(self.diagonal.max())

    @property
    def gram(self) -> Tensor:  # type: ignore[override]
        """The whole matrix (n, n), for looking at."""
        return self._wide @ self._wide.T + self.floor * torch.eye(len(self._wide)).to(self._wide)

    def times(self, x: Tensor) -> Tensor:
        """The products (..., n) of `x` (..., n) and the regularised kernel matrix."""
        return (x @ self._wide) @ self._wide.T + self.floor * x

    product = times

    def factor(self, diagonal: Tensor) -> Solver:
        """A solver of `(K + diag) x = b` for a batch of diagonals (b, n)."""
        return self._inverse(1 / (diagonal + self.floor))

    def project(self, values: Tensor) -> Tensor:
        """`A f` (b, n): the way out of p that no empty point blocks."""
        shares = 1 / (self._spectrum + self.floor)

        def inverse(x: Tensor) -> Tensor:
            shrunk: Tensor = x - ((x @ self._wide) * shares) @ self._wide.T
            return shrunk / self.floor

        free, ones = inverse(values), inverse(torch.ones_like(values[:1]))
        return free - total(free) * (ones / ones.sum())

    def _solve_on(self, support: Tensor, sides: Tensor) -> Tensor:
        """The x (m, b, n), zero off the support, with `K x = side` on it."""
        inside = support.to(sides.dtype)
        return torch.stack(self._inverse(inside / self.floor)(*sides.unbind(0)))

    def _inverse(self, d: Tensor) -> Solver:
        """A solver of `(B B' + 1 / d) x = b` for a batch d (b, n), zero where d is (Woodbury)."""
        inner = torch.stack([(self._wide.T * row) @ self._wide for row in d])
        inner.diagonal(dim1=1, dim2=2).add_(1)
        small = torch.linalg.cholesky(inner)

        def solve(*b: Tensor) -> list[Tensor]:
            reduced = torch.cholesky_solve(torch.stack([(d * v) @ self._wide for v in b], -1), small).unbind(-1)
            return [d * (v - x @ self._wide.T) for v, x in zip(b, reduced, strict=True)]

        return solve
