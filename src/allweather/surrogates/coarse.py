"""Few contexts that stand for very many in the standard deviation of weighted sums.

Contexts are grouped in small cells, and every weight counts at the centre of its cell. Prior variance and what the data
explain of it are both computed there, so that their difference keeps its digits; a function that is smooth over cells
has the same deviation. Means are computed at all contexts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from allweather._utils.cells import cells_of
from allweather.surrogates.gram import Gram
from allweather.surrogates.kernels import Factor

MANY, CELLS = 2**14, 2048
"""More contexts than this are grouped in so many cells."""


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
        factor: Factor,
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
