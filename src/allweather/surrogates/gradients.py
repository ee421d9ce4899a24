"""Functions of a product-kernel posterior whose gradients are written out: automatic ones need more memory or time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from allweather.surrogates.fields import Data

BLOCK, LARGE = 2**22, 512
"""Numbers in a temporary, at most: 32 MiB. With more data than LARGE, none of (t, t) is made for every decision."""


def root(prior: Tensor, explained: Tensor) -> Tensor:
    """The standard deviation that is left of a prior variance, of which so much is explained."""
    # Rounding may explain slightly more than there is.
    return (prior - explained).maximum(1e-12 * prior).sqrt()


class Explained(torch.autograd.Function):
    """How much of the prior variance (b, r) the data explain, blockwise so that memory stays bounded."""

    @staticmethod
    def forward(
        ctx: Any,
        near: Tensor,  # (b, t)
        bones: Tensor,  # (r, t)
        unroot: Tensor,  # (t, t)
    ) -> Tensor:
        """What is explained at each of the contexts (b, r)."""
        rows = max(1, BLOCK // bones.numel())
        ctx.save_for_backward(near, bones, unroot)
        ctx.rows, ctx.half = rows, None
        if len(unroot) > LARGE:
            return torch.cat([(block[:, None, :] * bones @ unroot.T).square().sum(-1) for block in near.split(rows)])
        halves = [_half(block, bones, unroot) for block in near.split(rows)]
        # A single block is kept for the gradient; several are cheaper to compute again than to keep.
        ctx.half = halves[0] if len(halves) == 1 else None
        return torch.cat([half.square().sum(1) for half in halves])

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        """The gradient in the prior covariances alone."""
        near, bones, unroot = ctx.saved_tensors
        gradients = []
        if len(unroot) > LARGE:
            for block, weights in zip(near.split(ctx.rows), upstream[0].split(ctx.rows), strict=True):
                solved = (block[:, None, :] * bones @ unroot.T) @ unroot  # (b, r, t)
                gradients.append((2 * weights[..., None] * solved * bones).sum(1))
            return torch.cat(gradients), None, None
        for block, weights in zip(near.split(ctx.rows), upstream[0].split(ctx.rows), strict=True):
            half = ctx.half if ctx.half is not None else _half(block, bones, unroot)
            back = (half * (2 * weights)[:, None, :]) @ bones  # (b, t, t)
            gradients.append((back * unroot).sum(1))
        return torch.cat(gradients), None, None


class Steepest(torch.autograd.Function):
    """The largest norm (b,) of the derivative of `mean + width * sd` in the context, in standardised units.

    With `y = K^-1 (near * correlations)` and S the correlations' derivatives in the context, the derivative is
    `S' (near * (weights - width * y / sd))`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        near: Tensor,  # (b, t)
        correlations: Tensor,  # (n, t)
        slope: Tensor,  # (n, t, d_c)
        data: Data,
        width: float,
    ) -> Tensor:
        """The largest of the contexts' norms (b,)."""
        half = (near[:, None, :] * correlations) @ data.unroot.T  # (b, n, t)
        sd = root(data.kernel.outputscale, half.square().sum(-1))
        y = half @ data.unroot
        pull = data.weights - y * (width / sd)[..., None]
        derivative = torch.einsum("bnt,nte->bne", near[:, None, :] * pull, slope)
        norms: Tensor = derivative.norm(dim=-1)
        steepest, where = norms.max(-1)
        row = torch.arange(len(near), device=near.device)
        ctx.chosen = correlations[where], slope[where], y[row, where], sd[row, where, None], pull[row, where]
        ctx.direction = derivative[row, where] / steepest.clamp_min(1e-300)[:, None]
        ctx.near, ctx.data, ctx.width = near, data, width
        return steepest

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None, None]:
        """The gradient in the prior covariances alone."""
        correlations, slope, y, sd, pull = ctx.chosen
        along = (slope @ ctx.direction[..., None])[..., 0]  # (b, t)
        weighed = ctx.near * along
        solved = (weighed @ ctx.data.unroot.T) @ ctx.data.unroot
        in_sd = (weighed * y).sum(-1, keepdim=True) / sd**2
        gradient = pull * along - ctx.width / sd * correlations * (solved + in_sd * y)
        return upstream[0][:, None] * gradient, None, None, None, None


def _half(near: Tensor, bones: Tensor, unroot: Tensor) -> Tensor:
    """(b, t, r) whose squares, summed over the data, are what is explained."""
    return (near[:, None, :] * unroot) @ bones.T
