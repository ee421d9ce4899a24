"""Weighted sums of Matern-5/2 kernels over all pairs of decision and context, with little memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor

PAIRS = 2**20
"""Kernel values in memory at a time."""


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
    rows = max(1, PAIRS // max(1, contexts.numel()))
    distances, kernel = (decisions.new_empty(min(rows, len(decisions)), *contexts.shape) for _ in range(2))
    for start in range(0, len(decisions), rows):
        place = slice(start, min(start + rows, len(decisions)))
        s, result = distances[: place.stop - start], kernel[: place.stop - start]
        torch.add(decisions[place, None], contexts, out=s).mul_(5).sqrt_()
        torch.neg(s, out=result).exp_()
        if slope:  # finite also at the centres, where the derivative in the distance itself is 0 / 0
            yield place, result.mul_(s.add_(1)).mul_(-5 / 6)
        else:
            # 1 + s + s^2 / 3, as a square: no third array
            yield place, result.mul_(s.add_(1.5).square_().add_(0.75).div_(3))
