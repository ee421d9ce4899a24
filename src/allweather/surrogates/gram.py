"""Quadratic forms of the contexts' correlations: the prior variance of a weighted sum over contexts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from allweather.surrogates.kernels import Factor
from allweather.surrogates.low_rank import truncated_root

DENSE = 2048
"""Up to so many contexts their correlations are kept as a matrix of 32 MiB at most."""
BLOCK, LAUNCHED = 2**15, 2**24
"""Correlations computed at a time where they are not kept; on a GPU launches cost more than memory."""
RANK = 512
"""Columns of the low-rank root that stands for more of them."""


@dataclass(frozen=True, eq=False)
class Gram:
    """The correlation matrix of scaled contexts, computed when it is first needed.

    Example:
        >>> import torch
        >>> gram = Gram(Factor(2.5), torch.zeros(2, 1, dtype=torch.float64))
        >>> gram.quadratic(torch.tensor([0.5, 0.5], dtype=torch.float64)).item()
        1.0
    """

    factor: Factor
    contexts: Tensor
    """(n, d_c) divided by the lengthscales."""

    def quadratic(self, weights: Tensor) -> Tensor:
        """`w' K w` (...,) of weights (..., n)."""
        if weights.ndim == 1:
            return self._shared(weights)
        if len(self.contexts) <= DENSE:
            return ((weights @ self._matrix) * weights).sum(-1)
        root, rest = self._root
        return (weights @ root).square().sum(-1) + weights.square() @ rest

    def _shared(self, weights: Tensor) -> Tensor:
        """One pass over half of the matrix, in blocks that stay in cache, and in larger ones on a GPU."""
        used = weights.nonzero()[:, 0]
        points, weights = self.contexts[used], weights[used]
        if points.device.type == "cpu":
            return weights.new_tensor(_half_by_half(self.factor, points.numpy(), weights.numpy()))
        total, rows = weights.new_zeros(()), max(1, LAUNCHED // max(len(points), 1))
        for start in range(0, len(points), rows):
            end = start + rows
            block = self.factor(points[start:end], points[start:])
            beyond = block[:, rows:] @ weights[end:]
            total = total + weights[start:end] @ (block[:, :rows] @ weights[start:end] + 2 * beyond)
        return total

    @cached_property
    def _matrix(self) -> Tensor:
        return self.factor(self.contexts, self.contexts)

    @cached_property
    def _root(self) -> tuple[Tensor, Tensor]:
        return truncated_root(self.factor, self.contexts, RANK)


def _half_by_half(
    factor: Factor,
    points: np.ndarray,  # (n, d_c)
    weights: np.ndarray,  # (n,)
) -> float:
    """The quadratic form in half of the correlation matrix, block by block."""
    # Correlations are flat at distance 0, where differences of squares lose digits.
    squares, rows = (points**2).sum(1), max(1, BLOCK // max(len(points), 1))
    total = 0.0
    for start in range(0, len(points), rows):
        here = slice(start, start + rows)
        if factor.columns:
            block = factor.of_arrays(points[here], points[start:])
        else:
            squared = points[here] @ (-2 * points[start:].T)
            squared += squares[start:]
            squared += squares[here, None]
            block = factor.of_array(np.maximum(squared, 0.0, out=squared))
        twice = 2 * weights[start:]
        twice[:rows] = weights[here]
        total += float(weights[here] @ (block @ twice))
    return total
