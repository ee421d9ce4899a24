"""Chebyshev interpolation of smooth functions over two contexts."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

NODES = (32, 12)
"""Per context; enough for kde's portfolio, whose lengthscales there are 0.5 and 2.5 (checked in the tests)."""


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
