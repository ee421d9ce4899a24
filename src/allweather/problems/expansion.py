"""Kernel expansions `f(x) = offset + sum_j weights[j] k(x, centres[j])`, the form of the data of the papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor

from allweather._utils.matern import write_matern52, write_matern52_slopes
from allweather.errors import require

MAX_BLOCK_POINTS = 2**10
"""Decisions or contexts in memory at a time, with their kernel values."""
MAX_BLOCK_PAIRS = 2**20
"""Kernel values in memory at a time, of the Matern kernel."""
NODES = (32, 12)
"""Chebyshev nodes per context: enough for lengthscales of 0.5 and 2.5, as in kde's portfolio (checked in the tests)."""


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """A weighted sum of kernels with centres in the unit cube; its first columns are the decisions.

    An RBF kernel is a product over decisions and contexts, so that the sum is a matrix product. The Matern kernel is
    not: beyond 384 pairs of contexts it is evaluated at Chebyshev nodes and interpolated, to about 1e-6 of its range.

    Example:
        >>> bump = KernelExpansion("rbf", torch.tensor([[0.5, 0.5]]), torch.ones(1), torch.tensor([0.1, 0.1]))
        >>> bump(torch.tensor([[0.5], [0.6]]), torch.tensor([[0.5]]))
        tensor([[1.0000],
                [0.6065]])
    """

    kernel: str
    """`rbf` or `matern52`."""
    centres: Tensor
    """(m, d)"""
    weights: Tensor
    """(m,)"""
    lengthscales: Tensor
    """(d,)"""
    offset: float = 0.0

    def __post_init__(self) -> None:
        require(self.kernel in ("rbf", "matern52"), "KernelExpansion(kernel=...)", "be rbf or matern52", self.kernel)

    @classmethod
    def of(cls, data: Mapping[str, np.ndarray], sign: int = 1) -> Self:
        """Return the expansion of a data file, times `sign`."""
        scale = sign * float(data["scale"]) * float(data["outputscale"])
        arrays = (torch.from_numpy(data[name]) for name in ("centers", "weights", "lengthscales"))
        centres, weights, lengthscales = arrays
        return cls(str(data["kernel"]), centres, scale * weights, lengthscales, sign * float(data["offset"]))

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n), differentiable in decisions and contexts."""
        values = self._rbf(decisions, contexts) if self.kernel == "rbf" else self._matern(decisions, contexts)
        return self.offset + values

    def _rbf(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        rows = [self.weights * (-0.5 * self._squares(block, 0)).exp() for block in decisions.split(MAX_BLOCK_POINTS)]
        columns = []
        for block in contexts.split(MAX_BLOCK_POINTS):
            factor = (-0.5 * self._squares(block, decisions.shape[1])).exp()
            columns.append(torch.cat([row @ factor.T for row in rows]))
        return torch.cat(columns, dim=1)

    def _matern(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        split, nodes = decisions.shape[1], contexts
        few = contexts.shape[1] != len(NODES) or len(contexts) <= NODES[0] * NODES[1]
        if not few:
            nodes = chebyshev_nodes()
        there = self._squares(nodes, split)
        blocks = [
            matern_sum(self._squares(block, 0), there, self.weights) for block in decisions.split(MAX_BLOCK_POINTS)
        ]
        values = torch.cat(blocks)
        return values if few else from_nodes(values, contexts)

    def _squares(self, points: Tensor, first: int) -> Tensor:
        """Return (b, m), squared distances from the centres in lengthscales, in the columns from `first` on."""
        columns = slice(first, first + points.shape[1])
        scaled = points / self.lengthscales[columns]
        centres = self.centres[:, columns] / self.lengthscales[columns]
        squares = scaled.square().sum(-1)[:, None] + centres.square().sum(-1) - 2 * scaled @ centres.T
        return squares.clamp_min(0)


def matern_sum(decisions: Tensor, contexts: Tensor, weights: Tensor) -> Tensor:
    """`sum_j weights[j] k(sqrt(decisions[b, j] + contexts[n, j]))`, k the Matern-5/2 kernel.

    Args:
        decisions: (b, m) squared distances of the decisions from the centres, in lengthscales.
        contexts: (n, m) the same of the contexts.
        weights: (m,)

    Returns:
        (b, n), differentiable in both distances; the gradient computes the pairs again.

    Example:
        >>> at_centre = torch.zeros(1, 1, dtype=torch.float64)
        >>> matern_sum(at_centre, at_centre, torch.tensor([2.0], dtype=torch.float64)).item()
        2.0
    """
    return cast(Tensor, _MaternSum.apply(decisions, contexts, weights))  # type: ignore[no-untyped-call]


class _MaternSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, decisions: Tensor, contexts: Tensor, weights: Tensor) -> Tensor:
        ctx.save_for_backward(decisions, contexts, weights)
        total = decisions.new_empty(len(decisions), len(contexts))
        for place, kernel in _blocks(decisions, contexts, slope=False):
            total[place] = kernel @ weights
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        decisions, contexts, weights = ctx.saved_tensors
        (outer,) = gradients  # (b, n)
        rows, columns = torch.zeros_like(decisions), torch.zeros_like(contexts)
        for place, slope in _blocks(decisions, contexts, slope=True):
            rows[place] = torch.einsum("bn,bnm->bm", outer[place], slope)
            if ctx.needs_input_grad[1]:
                columns += torch.einsum("bn,bnm->nm", outer[place], slope)
        return rows * weights, columns * weights, None


def _blocks(decisions: Tensor, contexts: Tensor, slope: bool) -> Iterator[tuple[slice, Tensor]]:
    """Kernel values (rows, n, m) of a few decisions at a time, or their derivative in the squared distance.

    Every block overwrites the one before, since the allocator would not reuse fresh memory.
    """
    rows = max(1, MAX_BLOCK_PAIRS // max(1, contexts.numel()))
    distances, kernel = (decisions.new_empty(min(rows, len(decisions)), *contexts.shape) for _ in range(2))
    for start in range(0, len(decisions), rows):
        place = slice(start, min(start + rows, len(decisions)))
        squared, result = distances[: place.stop - start], kernel[: place.stop - start]
        torch.add(decisions[place, None], contexts, out=squared)
        yield place, write_matern52_slopes(squared, result) if slope else write_matern52(squared, result)


@cache
def chebyshev_nodes() -> Tensor:
    """Return the nodes (384, 2) in the unit square."""
    return torch.cartesian_prod(*[_line(count) for count in NODES])


def from_nodes(values: Tensor, contexts: Tensor) -> Tensor:
    """Interpolate values at the nodes.

    Args:
        values: (b, 384) at the nodes.
        contexts: (n, 2) of the unit square.

    Returns:
        (b, n).

    Example:
        >>> nodes, contexts = chebyshev_nodes(), torch.tensor([[0.3, 0.8]], dtype=torch.float64)
        >>> round(from_nodes(nodes.prod(-1)[None], contexts).item(), 12)
        0.24
    """
    first, second = (_polynomials(contexts[:, i], count) for i, count in enumerate(NODES))
    return values @ _to_coefficients().T @ (first[:, :, None] * second[:, None]).flatten(1).T


@cache
def _to_coefficients() -> Tensor:
    """(384, 384) values at the nodes to coefficients of Chebyshev polynomials."""
    first, second = (torch.linalg.inv(_polynomials(_line(count), count)) for count in NODES)
    return torch.kron(first, second)


def _line(count: int) -> Tensor:
    return (1 - torch.cos(torch.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count)) / 2


def _polynomials(points: Tensor, count: int) -> Tensor:
    """(n, count) Chebyshev polynomials by their recurrence, differentiable also at the ends of the interval."""
    t = 2 * points - 1
    rows = [torch.ones_like(t), t]
    for _ in range(count - 2):
        rows.append(2 * t * rows[-1] - rows[-2])
    return torch.stack(rows, dim=-1)
