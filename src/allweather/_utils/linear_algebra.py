"""Cholesky factors of covariance matrices that rounding may have made indefinite, on any device."""

from __future__ import annotations

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
