"""Few contexts stand for many: where functions are smooth, a handful of points determines all their values.

The posterior variance over n contexts is a prior variance less a sum of products kc(c, a) kc(c, b). Such products
span a space of small numerical rank r, so their values at r well-chosen contexts (the skeleton) give their values at
all n by a fixed linear map: an interpolative decomposition.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from allweather.surrogates.kernels import Factor

TOLERANCE = 1e-13
"""Of a covariance, relative to the prior variance."""


WORTHWHILE = 2**22
"""Multiplications for one decision's variances, from which on a skeleton is worth making."""
EXACT, ROUGH = 3e-12, 1e-3
"""Accuracies of the map from few contexts to all: to rounding, or good enough to tell decisions apart."""


class Skeleton(NamedTuple):
    """Contexts that stand for all, and the map from values there to values everywhere."""

    chosen: Tensor
    """(r,) indices of the skeleton."""
    spread: Tensor | None
    """(r, n) values at the skeleton times this are the values everywhere; None where all contexts are chosen."""


class Skeletons(NamedTuple):
    """A pivoted QR decomposition of what data can explain about each of n contexts: a skeleton for every accuracy."""

    triangle: np.ndarray | None
    """(width, n) None where there is nothing to save."""
    order: np.ndarray
    """(n,) contexts, the most telling first."""

    def to(self, accuracy: float) -> Skeleton:
        """As few contexts as the accuracy allows for."""
        n = len(self.order)
        if self.triangle is None:
            return Skeleton(torch.arange(n), None)
        size = np.abs(np.diagonal(self.triangle))
        kept = int((size > accuracy * size[0]).sum())
        tail = scipy.linalg.solve_triangular(
            self.triangle[:kept, :kept], self.triangle[:kept, kept:n], check_finite=False
        )
        spread = np.empty((kept, n))
        spread[:, self.order[:kept]] = np.eye(kept)
        spread[:, self.order[kept:]] = tail
        return Skeleton(torch.from_numpy(self.order[:kept].astype(np.int64)), torch.from_numpy(spread))


def pivoted_root(factor: Factor, points: Tensor, limit: int) -> Tensor | None:
    """A matrix (n, r), r at most `limit`, whose rows have the correlations of the points as inner products.

    Cholesky with the largest remaining variance as pivot; None where `limit` columns do not suffice.

    Example:
        >>> import math
        >>> points = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
        >>> root = pivoted_root(Factor(math.inf), points, 50)
        >>> root.shape[1] < 12, torch.allclose(root @ root.T, Factor(math.inf)(points, points), atol=1e-12)
        (True, True)
    """
    root, remaining = truncated_root(factor, points, limit)
    return root if float(remaining.max()) <= TOLERANCE else None


def truncated_root(factor: Factor, points: Tensor, limit: int, tolerance: float = TOLERANCE) -> tuple[Tensor, Tensor]:
    """As `pivoted_root`, but as good as `limit` columns can be: the root (n, r), and the variances (n,) it lacks.

    Args:
        factor: the correlation.
        points: (n, d) scaled points.
        limit: the largest number of columns.
        tolerance: columns are added until every point lacks less variance than this.
    """
    return truncated_roots(factor, points[None], limit, tolerance)[0]


def truncated_roots(
    factor: Factor, points: Tensor, limit: int, tolerance: float = TOLERANCE
) -> list[tuple[Tensor, Tensor]]:
    """The truncated roots of several sets of points at once, each (n, r) with the variances (n,) it lacks.

    Args:
        factor: the correlation.
        points: (m, n, d) scaled points, m sets of them.
        limit: the largest number of columns.
        tolerance: columns are added until every point of a set lacks less variance than this.
    """
    m, n, _ = points.shape
    sets = torch.arange(m)
    remaining = torch.ones(m, n, dtype=torch.float64)
    columns = torch.empty(m, limit, n, dtype=torch.float64)
    ranks = [limit] * m
    for rank in range(limit):
        variances, pivots = remaining.max(-1)
        unfinished = variances > tolerance
        for done in (~unfinished).nonzero().flatten().tolist():
            ranks[done] = min(ranks[done], rank)
        if not bool(unfinished.any()):
            break
        row = factor.of((points - points[sets, pivots][:, None]).square().sum(-1))
        if rank:
            row.sub_((columns[sets, :rank, pivots][:, None] @ columns[:, :rank])[:, 0])
        # What is finished gets columns of zeros.
        row.mul_((unfinished / variances.clamp_min(tolerance).sqrt())[:, None])
        columns[:, rank] = row
        remaining.addcmul_(row, row, value=-1)
        remaining[sets[unfinished], pivots[unfinished]] = 0
    lacking = remaining.clamp_min(0)
    return [(columns[each, : ranks[each]].T.contiguous(), lacking[each]) for each in range(m)]


def skeletons(factor: Factor, contexts: Tensor, anchors: Tensor, signal: float) -> Skeletons:
    """Which contexts determine the posterior variance at all others.

    Args:
        factor: the correlation.
        contexts: (n, d_c) scaled contexts where values are wanted.
        anchors: (t, d_c) scaled contexts of the observations.
        signal: prior standard deviation in units of the noise's.
    """
    n = len(contexts)
    nothing_saved = Skeletons(None, np.arange(n))
    t = len(anchors)
    # The spectrum of a Matern falls too slowly; with few data the variance is cheap as it is.
    if factor.nu != math.inf or n * t**2 < WORTHWHILE:
        return nothing_saved
    root = pivoted_root(factor, torch.cat([contexts, anchors]), min(n, 256, max(t, 16)))
    if root is None:
        return nothing_saved
    # Data explain at most all of a feature, and no more than its strength at the anchors allows for.
    strength = (signal * root[n:].norm(dim=0)).clamp_max(1)
    rows, rank = root[:n] * strength, root.shape[1]
    # Products of smooth functions have at most about sqrt(2) times the rank in each dimension.
    width = int(rank * 2 ** (contexts.shape[1] / 2)) + 16
    source = np.random.default_rng(0)  # a fixed sketch: it decides about rounding only
    while width < n // 2:
        mixed = [torch.from_numpy(source.standard_normal((rank, width)) / rank**0.5) for _ in range(2)]
        sketch = (rows @ mixed[0]) * (rows @ mixed[1])
        triangle, order = scipy.linalg.qr(sketch.numpy().T, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diagonal(triangle))
        if size[-8] <= EXACT * size[0]:  # the sketch was wide enough to see the rank
            return Skeletons(triangle, order)
        width = 3 * width // 2
    return nothing_saved
