"""Kernel expansions `f(x) = offset + sum_j weights[j] k(x, centres[j])`, the form of the data of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from allweather.errors import require
from allweather.problems.interpolation import NODES, chebyshev_nodes, from_nodes
from allweather.problems.matern import matern_sum

BLOCK = 2**10
"""Decisions or contexts in memory at a time, with their kernel values."""


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
        rows = [self.weights * (-0.5 * self._squares(block, 0)).exp() for block in decisions.split(BLOCK)]
        columns = []
        for block in contexts.split(BLOCK):
            factor = (-0.5 * self._squares(block, decisions.shape[1])).exp()
            columns.append(torch.cat([row @ factor.T for row in rows]))
        return torch.cat(columns, dim=1)

    def _matern(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        split, nodes = decisions.shape[1], contexts
        few = contexts.shape[1] != len(NODES) or len(contexts) <= NODES[0] * NODES[1]
        if not few:
            nodes = chebyshev_nodes()
        there = self._squares(nodes, split)
        blocks = [matern_sum(self._squares(block, 0), there, self.weights) for block in decisions.split(BLOCK)]
        values = torch.cat(blocks)
        return values if few else from_nodes(values, contexts)

    def _squares(self, points: Tensor, first: int) -> Tensor:
        """Return (b, m), squared distances from the centres in lengthscales, in the columns from `first` on."""
        columns = slice(first, first + points.shape[1])
        scaled = points / self.lengthscales[columns]
        centres = self.centres[:, columns] / self.lengthscales[columns]
        squares = scaled.square().sum(-1)[:, None] + centres.square().sum(-1) - 2 * scaled @ centres.T
        return squares.clamp_min(0)
