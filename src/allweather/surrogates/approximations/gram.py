"""Quadratic forms of the contexts' correlations: the prior variance of a weighted sum over contexts.

Very many contexts are grouped in small cells, and every weight counts at the centre of its cell. Prior variance and
what the data explain of it are both computed there, so that their difference keeps its digits; a function that is
smooth over cells has the same deviation. Means are computed at all contexts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from allweather._utils.cells import cells_of
from allweather._utils.matern import Matern
from allweather.surrogates.approximations.low_rank import truncated_root

MAX_DENSE_CONTEXTS = 2048
"""Up to this many contexts, keep their correlation matrix (32 MiB)."""
CPU_BLOCK, GPU_BLOCK = 2**15, 2**24
"""Correlations computed at a time where they are not kept; on a GPU, launching kernels costs more than memory."""
MAX_ROOT_COLUMNS = 512
"""Above MAX_DENSE_CONTEXTS: limit on the columns of the low-rank root that replaces the matrix."""
MAX_UNGROUPED_CONTEXTS, CELLS = 2**14, 2048
"""Above MAX_UNGROUPED_CONTEXTS: group contexts in CELLS cells for the standard deviation of weighted sums."""


@dataclass(frozen=True, eq=False)
class Gram:
    """The correlation matrix of scaled contexts, computed when it is first needed.

    Example:
        >>> import torch
        >>> gram = Gram(Matern(2.5), torch.zeros(2, 1, dtype=torch.float64))
        >>> gram.quadratic(torch.tensor([0.5, 0.5], dtype=torch.float64)).item()
        1.0
    """

    factor: Matern
    contexts: Tensor
    """(n, d_c) divided by the lengthscales."""

    def quadratic(self, weights: Tensor) -> Tensor:
        """`w' K w` (...,) of weights (..., n)."""
        if weights.ndim == 1:
            return self._shared(weights)
        if len(self.contexts) <= MAX_DENSE_CONTEXTS:
            return ((weights @ self._matrix) * weights).sum(-1)
        root, rest = self._root
        return (weights @ root).square().sum(-1) + weights.square() @ rest

    def _shared(self, weights: Tensor) -> Tensor:
        """One pass over half of the matrix, in blocks that stay in cache, and in larger ones on a GPU."""
        used = weights.nonzero()[:, 0]
        points, weights = self.contexts[used], weights[used]
        if points.device.type == "cpu":
            return weights.new_tensor(_half_by_half(self.factor, points.numpy(), weights.numpy()))
        total, rows = weights.new_zeros(()), max(1, GPU_BLOCK // max(len(points), 1))
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
        return truncated_root(self.factor, self.contexts, MAX_ROOT_COLUMNS)


class Coarse(NamedTuple):
    """Centres of cells, and which cell each context is in."""

    cells: Tensor
    """(n,)"""
    correlations: Tensor
    """(m, t) of the centres with the data."""
    gram: Gram
    """Correlations of the centres with each other."""

    @classmethod
    def of(
        cls,
        factor: Matern,
        contexts: Tensor,  # (n, d_c)
        anchors: Tensor,  # (t, d_c)
    ) -> Coarse:
        """Group contexts, divided by their lengthscales as those of the data are."""
        points = contexts.cpu().numpy()
        groups = cells_of(points, np.ones(len(points)), np.arange(len(points)), CELLS)
        cells = np.empty(len(points), dtype=np.int64)
        cells[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        centres = torch.from_numpy(np.stack([points[group].mean(0) for group in groups])).to(contexts.device)
        return cls(torch.from_numpy(cells).to(contexts.device), factor(centres, anchors), Gram(factor, centres))

    def spread(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Correlations (..., t) of weighted sums with the data, and their variances (...,), of weights (..., n)."""
        grouped = weights.new_zeros(*weights.shape[:-1], len(self.gram.contexts))
        grouped.index_add_(-1, self.cells, weights)
        return grouped @ self.correlations, self.gram.quadratic(grouped)


def _half_by_half(
    factor: Matern,
    points: np.ndarray,  # (n, d_c)
    weights: np.ndarray,  # (n,)
) -> float:
    """The quadratic form in half of the correlation matrix, block by block."""
    # Correlations are flat at distance 0, where differences of squares lose digits.
    squares, rows = (points**2).sum(1), max(1, CPU_BLOCK // max(len(points), 1))
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
