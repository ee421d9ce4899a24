"""Cholesky factors of covariance matrices: whole ones that rounding may have spoilt, and pivoted ones of low rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg.lapack import dpotrf
from torch import Tensor

from allweather.errors import AllweatherError

INDEFINITE = "a covariance matrix is not positive definite; are the outcomes finite?"


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor, with as little added to the diagonal as it takes."""
    root, failed = dpotrf(matrix, lower=1)
    size = float(matrix.diagonal().mean())
    for power in range(-10, 0):
        if not failed:
            return np.asarray(root)
        root, failed = dpotrf(matrix + 10.0**power * size * np.eye(len(matrix)), lower=1)
    raise AllweatherError(INDEFINITE)


def cholesky_root(matrix: Tensor) -> Tensor:
    """As `cholesky`, for a tensor (m, m) on any device.

    Example:
        >>> cholesky_root(torch.eye(2, dtype=torch.float64) * 4)
        tensor([[2., 0.],
                [0., 2.]], dtype=torch.float64)
    """
    if matrix.device.type == "cpu":
        return torch.from_numpy(cholesky(matrix.numpy()))
    size = float(matrix.diagonal().mean())
    for jitter in (0.0, *(10.0**power * size for power in range(-10, 0))):
        added = torch.full_like(matrix.diagonal(), jitter)
        root: Tensor
        root, failed = torch.linalg.cholesky_ex(matrix + torch.diag(added))
        if not int(failed):
            return root
    raise AllweatherError(INDEFINITE)


class PivotedCholesky(NamedTuple):
    """A positive semi-definite matrix (n, n) as `rows' rows`, and what that lacks on its diagonal."""

    rows: Tensor
    """(r, n)"""
    pivots: Tensor
    """(r,) in the order in which rows were added."""
    lacking: Tensor
    """(n,) never negative."""


def pivoted_cholesky(
    column: Callable[[int], Tensor], diagonal: Tensor, limit: int, tolerance: float
) -> PivotedCholesky:
    """Cholesky with the largest remaining diagonal entry as pivot.

    Args:
        column: of the matrix (n,), by number.
        diagonal: (n,) of the matrix.
        limit: the largest number of pivots.
        tolerance: pivots are added until every diagonal entry lacks at most this.

    Example:
        >>> matrix = torch.tensor([[4.0, 2.0], [2.0, 1.0]])
        >>> pivoted_cholesky(lambda place: matrix[place], matrix.diagonal(), 2, 1e-6).rows
        tensor([[2., 1.]])
    """
    remaining, rows = diagonal.clone(), diagonal.new_empty(limit, len(diagonal))
    pivots: list[int] = []
    for rank in range(limit):
        pivot = int(remaining.argmax())
        largest = float(remaining[pivot])
        if largest <= tolerance:
            break
        row = column(pivot)
        if rank:
            row = torch.addmv(row, rows[:rank].T, rows[:rank, pivot], alpha=-1)
        torch.div(row, largest**0.5, out=rows[rank])
        remaining.addcmul_(rows[rank], rows[rank], value=-1)
        remaining[pivot] = 0
        pivots.append(pivot)
    return PivotedCholesky(rows[: len(pivots)], torch.tensor(pivots), remaining.clamp_min(0))


def randomly_pivoted_cholesky(
    columns: Callable[[np.ndarray], Tensor],
    diagonal: Tensor,
    limit: int,
    tolerance: float,
    block: int = 128,
    rounding: float = 1e-11,
) -> PivotedCholesky:
    """Cholesky with pivots drawn in blocks, in proportion to what remains (Chen, Epperly, Tropp and Webber 2025).

    For large matrices: a block is one matrix product, and what is lacking is small on average. The draws are the same
    for the same n.

    Args:
        columns: of the matrix (k, n), by their numbers (k,).
        diagonal: (n,) of the matrix.
        limit: the largest number of pivots.
        tolerance: pivots are added until diagonal entries lack at most this on average.
        block: number of pivots proposed at a time.
        rounding: share of the largest diagonal entry below which nothing is lacking.
    """
    n, source = len(diagonal), np.random.default_rng(len(diagonal))
    limit, least = min(limit, n), rounding * diagonal.max()
    rows, remaining = diagonal.new_empty(limit, n), diagonal.clone()
    pivots: list[int] = []
    while len(pivots) < limit and float(remaining.mean()) > tolerance:
        rank, left = len(pivots), remaining.cpu().numpy()
        size = min(block, limit - rank, int((left > 0).sum()))
        picks = source.choice(n, size=size, replace=False, p=left / left.sum())
        new = columns(picks) - rows[:rank, picks].T @ rows[:rank]  # (size, n)
        kept = _accepted(new[:, picks].cpu().numpy(), source)
        picks, new = picks[kept], new[kept]
        added = torch.linalg.solve_triangular(cholesky_root(new[:, picks]), new, upper=False)
        rows[rank : rank + len(kept)] = added
        remaining = remaining - added.square().sum(0)
        remaining[picks] = 0
        remaining[remaining < least] = 0
        pivots += [int(each) for each in picks]
    return PivotedCholesky(rows[: len(pivots)], torch.tensor(pivots), remaining)


def _accepted(covariance: np.ndarray, source: np.random.Generator) -> np.ndarray:
    """Which of the proposed pivots (k,) to keep: each as likely as it is not explained by those before it."""
    left, kept = covariance.copy(), []
    before = covariance.diagonal().copy()
    for place in range(len(left)):
        if left[place, place] > max(source.random(), 1e-6) * before[place]:
            kept.append(place)
            column = left[:, place] / np.sqrt(left[place, place])
            left -= np.outer(column, column)
    return np.array(kept, dtype=np.int64)
