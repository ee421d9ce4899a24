"""Low-rank roots of the contexts' correlations, and interpolation of variances from few contexts to all.

The posterior variance over n contexts is a prior variance less a sum of products kc(c, a) kc(c, b). Such products
span a space of small numerical rank r, so their values at r well-chosen contexts (the skeleton) give their values at
all n by a fixed linear map: an interpolative decomposition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import torch
from scipy.linalg.blas import dtrsm
from torch import Tensor

from allweather._utils.linear_algebra import PivotedCholesky, pivoted_cholesky
from allweather._utils.matern import Matern

TOLERANCE, JITTER = 1e-13, 1e-9
"""Of a covariance, relative to the prior variance; and what is added to that of pivots chosen for other scalings."""


MIN_SKELETON_PRODUCTS = 2**22
"""Below this many multiplications per decision, compute variances at all contexts."""
EXACT_ACCURACY, ROUGH_ACCURACY = 3e-12, 1e-3
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


def pivoted_root(factor: Matern, points: Tensor, limit: int) -> Tensor | None:
    """A matrix (n, r), r at most `limit`, whose rows have the correlations of the points as inner products.

    Cholesky with the largest remaining variance as pivot; None where `limit` columns do not suffice.

    Example:
        >>> import math
        >>> points = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
        >>> root = pivoted_root(Matern(math.inf), points, 50)
        >>> root.shape[1] < 12, torch.allclose(root @ root.T, Matern(math.inf)(points, points), atol=1e-12)
        (True, True)
    """
    root, remaining = truncated_root(factor, points, limit)
    return root if float(remaining.max()) <= TOLERANCE else None


def truncated_root(factor: Matern, points: Tensor, limit: int, tolerance: float = TOLERANCE) -> tuple[Tensor, Tensor]:
    """As `pivoted_root`, but as good as `limit` columns can be: the root (n, r), and the variances (n,) it lacks.

    Args:
        factor: the correlation.
        points: (n, d) scaled points.
        limit: the largest number of columns.
        tolerance: columns are added until every point lacks less variance than this.
    """
    found = _pivoted(factor, points, limit, tolerance)
    return found.rows.T.contiguous(), found.lacking


def truncated_roots(
    factor: Matern, points: Tensor, limit: int, tolerance: float = TOLERANCE
) -> list[tuple[Tensor, Tensor]]:
    """Roots (n, r) of several scalings of the same points, and the variances (n,) that each lacks.

    All roots have the same pivots, chosen where every column is scaled as in the roughest of them.

    Args:
        factor: the correlation.
        points: (m, n, d) points, scaled in m ways.
        limit: the largest number of columns.
        tolerance: columns are added until every point lacks less variance than this.

    Example:
        >>> points = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None] * torch.tensor([1.0, 3.0])[:, None, None]
        >>> [(root.shape, bool(lacking.max() < 1e-4)) for root, lacking in truncated_roots(Matern(2.5), points, 12)]
        [(torch.Size([50, 12]), True), (torch.Size([50, 12]), False)]
    """
    pivots = _pivoted(factor, points.abs().amax(0), limit, tolerance).pivots  # distances from 0 grow as all others
    if points.device.type == "cpu":
        return [_root_at(factor, each, pivots.numpy()) for each in points.numpy()]
    # (m, r, n), one at a time: what is in cache is several times faster.
    between = factor if factor.columns else lambda a, b: factor.of(_squared(a[None], b[None])[0])
    rows = torch.stack([between(each[pivots], each) for each in points])
    inner = rows[:, :, pivots]
    inner = inner + JITTER * torch.diag(torch.ones_like(inner[0, 0]))
    roots = torch.linalg.solve_triangular(torch.linalg.cholesky(inner), rows, upper=False).mT
    return list(zip(roots, (1 - roots.square().sum(-1)).clamp_min(0), strict=True))


def _root_at(factor: Matern, points: np.ndarray, pivots: np.ndarray) -> tuple[Tensor, Tensor]:
    """The root (n, r) of the correlations of points (n, d) with these pivots (r,), and the variances (n,) it lacks."""
    chosen = points[pivots]
    if factor.columns:
        rows = factor.of_arrays(chosen, points)  # (r, n)
    else:
        squares = (points**2).sum(1)
        squared = (-2 * chosen) @ points.T
        squared += squares
        squared += squares[pivots, None]
        rows = factor.of_array(np.maximum(squared, 0.0, out=squared))
    inner = rows[:, pivots] + JITTER * np.eye(len(pivots))
    root = dtrsm(1.0, np.linalg.cholesky(inner).T, rows.T, side=1, trans_a=0, lower=0, overwrite_b=1)
    lacking = np.maximum(1 - np.einsum("nr,nr->n", root, root), 0.0)
    return torch.from_numpy(root), torch.from_numpy(lacking)


def _squared(a: Tensor, b: Tensor) -> Tensor:
    """Squared distances (m, r, n) of points (m, r, d) and (m, n, d)."""
    lengths = a.square().sum(-1)[..., None] + b.square().sum(-1)[:, None]
    return torch.baddbmm(lengths, a, b.mT, alpha=-2).clamp_min_(0)


def _pivoted(factor: Matern, points: Tensor, limit: int, tolerance: float) -> PivotedCholesky:
    """The correlations of points (n, d)."""
    ones = points.new_ones(len(points))
    return pivoted_cholesky(lambda pivot: factor.of_differences(points - points[pivot]), ones, limit, tolerance)


def skeletons(factor: Matern, contexts: Tensor, anchors: Tensor, signal: float) -> Skeletons:
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
    if not factor.gaussian or n * t**2 < MIN_SKELETON_PRODUCTS:
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
        mixed = [torch.from_numpy(source.standard_normal((rank, width)) / rank**0.5).to(rows.device) for _ in range(2)]
        sketch = (rows @ mixed[0]) * (rows @ mixed[1])
        triangle, order = scipy.linalg.qr(sketch.cpu().numpy().T, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diagonal(triangle))
        if size[-8] <= EXACT_ACCURACY * size[0]:  # the sketch was wide enough to see the rank
            return Skeletons(triangle, order)
        width = 3 * width // 2
    return nothing_saved
