"""The few tensor helpers that several layers share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from allweather.errors import InvalidInput, require

ROUNDING = 1e-12
"""Masses and radii closer than this are the same number."""

# glibc hands freed memory back to the system beyond twice the largest block it has seen freed. Having seen one of
# 31 MiB (never touched, so it costs nothing) it keeps what our temporaries use: a third of their running time.
torch.empty(31 * 2**20, dtype=torch.uint8)


def as_tensor(data: Any, where: str) -> Tensor:
    """`data` as a float64 tensor with finite entries; anything else is refused by name.

    Example:
        >>> as_tensor([1, 2], "Finite(points=...)")
        tensor([1., 2.], dtype=torch.float64)
    """
    try:
        if not isinstance(data, Tensor):
            array = np.asarray(data)
            if array.size and array.dtype.kind not in "biuf":
                raise TypeError
            data = torch.from_numpy(np.array(array, dtype=np.float64))
        if data.is_complex():
            raise TypeError
        tensor: Tensor = data.to(torch.float64)
    except (TypeError, ValueError, RuntimeError):
        requirement = "be an array of numbers, with rows of equal length"
        raise InvalidInput(where=where, requirement=requirement, received=data) from None
    # A finite sum proves finite entries at a fraction of the cost.
    if not math.isfinite(tensor.detach().sum().item()):
        finite = torch.isfinite(tensor.detach())
        if not bool(finite.all()):
            culprit = tensor.detach()[~finite][0].item()
            raise InvalidInput(f"must be finite, got {culprit} among its entries", where=where)
    return tensor


def as_weights(data: Any, n: int, where: str) -> Tensor:
    """`data` as `n` probabilities: non-negative and summing to one, which is then made exact."""
    weights = as_tensor(data, where)
    require(weights.shape == (n,), where, f"have shape ({n},), one weight per point", tuple(weights.shape))
    require(bool((weights >= 0).all()), where, "be non-negative", weights.min().item())
    total = weights.sum()
    require(abs(total.item() - 1) <= 1e-6, where, "sum to 1 (divide by their sum)", total.item())
    return weights / total


def pairwise(a: Tensor, b: Tensor, norm: float = 2.0) -> Tensor:
    """Distances (n, m) between the rows of `a` and of `b`, to the last digit also where points nearly coincide."""
    return torch.cdist(a, b, p=norm, compute_mode="donot_use_mm_for_euclid_dist")


def argsort(values: Tensor) -> Tensor:
    """Indices that sort the last dimension in ascending order."""
    if values.device.type == "cpu":  # NumPy's vectorised sort takes a sixth of torch's time
        return torch.from_numpy(np.argsort(values.detach().numpy(), axis=-1))
    return values.argsort(dim=-1)


def nth_place(values: Tensor, rank: int) -> Tensor:
    """Where (..., 1) among the last dimension the value is that `rank` others come before, in ascending order.

    Example:
        >>> nth_place(torch.tensor([[3.0, 1.0, 2.0]]), 1)
        tensor([[2]])
    """
    if values.device.type == "cpu":  # a partial sort takes a fraction of the time of a whole one
        return torch.from_numpy(np.argpartition(values.detach().numpy(), rank, axis=-1)[..., rank, None])
    return values.argsort(dim=-1)[..., rank, None]


def argmin(values: Tensor) -> Tensor:
    """Indices (...,) of the smallest values of the last dimension."""
    if values.device.type == "cpu":  # NumPy's is vectorised
        return torch.from_numpy(np.asarray(values.detach().numpy().argmin(-1)))
    return values.argmin(-1)


def ascending(values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The values (b, n) sorted, and their weights (n,) in that order; values equal to 12 digits may change places."""
    n = len(weights)
    if values.device.type != "cpu" or n > 4096:
        order = argsort(values)
        return values.gather(-1, order), weights[order]
    array = values.detach().numpy()
    if bool((weights == weights[0]).all()):
        return torch.from_numpy(np.sort(array, axis=-1)), weights.expand_as(values)
    # With its index in the last bits of every number a sort is an argsort, at half the price.
    last = (1 << n.bit_length()) - 1
    keys = array.view(np.int64) & ~last
    keys |= np.arange(n)
    keys.view(np.float64).sort(axis=-1)
    keys &= last
    return values.gather(-1, torch.from_numpy(keys)), torch.from_numpy(weights.numpy()[keys])


def with_gradient(result: Tensor, gradient: Callable[[], Tensor], values: Tensor) -> Tensor:
    """`result` (b,), unchanged, with `gradient()` (b, n), if it is asked for, as its derivative in `values` (b, n).

    Example:
        >>> x = torch.tensor([[3.0]], requires_grad=True)
        >>> y = with_gradient(torch.tensor([9.0]), lambda: torch.tensor([[6.0]]), x)
        >>> (y.item(), torch.autograd.grad(y.sum(), x)[0].item())
        (9.0, 6.0)
    """
    if not values.requires_grad:
        return result
    found: Tensor = _WithGradient.apply(values, result.detach(), gradient)  # type: ignore[no-untyped-call]
    return found


class _WithGradient(torch.autograd.Function):
    """A result whose derivative is computed when, and if, it is asked for."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, result: Tensor, gradient: Callable[[], Tensor]) -> Tensor:
        ctx.gradient = gradient
        return result.clone()

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor, None, None]:
        return ctx.gradient().detach() * above[0][..., None], None, None


def increasing_root(
    function: Callable[[Tensor], tuple[Tensor, Tensor]],
    low: Tensor,
    high: Tensor,
    start: Tensor,
    steps: int = 200,
) -> tuple[Tensor, Tensor]:
    """Roots of a batch of increasing functions: Newton steps kept inside a shrinking bracket.

    Args:
        function: returns values and derivatives at a batch of arguments.
        low: (b,) arguments at or below the root.
        high: (b,) arguments at or above it.
        start: (b,) first guesses.
        steps: an upper limit on the number of evaluations.

    Returns:
        The last argument below the root and the last one at or above it; they meet unless the function jumps.

    Example:
        >>> one = torch.ones(1, dtype=torch.float64)
        >>> root = increasing_root(lambda x: (x**3 - 8, 3 * x**2), 0 * one, 9 * one, one)[1]
        >>> round(root.item(), 9)
        2.0
    """
    argument, step = start, torch.full_like(start, torch.inf)
    settled = torch.zeros_like(start, dtype=torch.bool)
    for _ in range(steps):
        value, derivative = function(argument)
        below = value < 0
        low, high = torch.where(below, argument, low), torch.where(below, high, argument)
        newton = torch.where(value == 0, 0.0, -value / derivative)
        candidate = argument + newton
        # Newton converges quadratically: the step after one this small would be lost in rounding.
        last = (newton.abs() <= 1e-8 * argument.abs().clamp_min(1)) & (value.abs() < 1e-3)
        safe = last | (candidate > low) & (candidate < high) & (2 * newton.abs() <= step.abs())
        following = torch.where(settled, argument, torch.where(safe, candidate, (low + high) / 2))
        step, argument = following - argument, following
        settled = settled | last
        closed = high - low <= 1e-14 * high.abs().clamp_min(1)
        if bool((settled | closed).all()):
            break
    return torch.where(settled, argument, low), torch.where(settled, argument, high)


def crossing(
    function: Callable[[Tensor], Tensor],
    low: Tensor,
    high: Tensor,
    tolerance: float = 1e-9,
) -> Tensor:
    """Where a batch of increasing functions changes sign, without derivatives: Chandrupatla's method (1997).

    Inverse quadratic steps while they can be trusted, halving otherwise; functions may jump.

    Args:
        function: increasing in each argument of a batch.
        low: (b,) arguments at or below the crossing.
        high: (b,) arguments at or above it.
        tolerance: of the arguments.

    Example:
        >>> one = torch.ones(1, dtype=torch.float64)
        >>> round(crossing(lambda x: x**3 - 8, 0 * one, 9 * one).item(), 8)
        2.0
    """
    a, b = high, low
    value_a, value_b = function(a), function(b)
    c, value_c = a, value_a
    share = torch.full_like(low, 0.5)
    for _ in range(200):
        x = a + share * (b - a)
        value = function(x)
        same = (value > 0) == (value_a > 0)
        c, value_c = torch.where(same, a, b), torch.where(same, value_a, value_b)
        b, value_b = torch.where(same, b, a), torch.where(same, value_b, value_a)
        a, value_a = x, value
        width = (b - a).abs()
        if bool(((width <= 2 * tolerance) | (value == 0)).all()):
            break
        least = (tolerance / width).clamp_max(0.5)
        xi, phi = (a - b) / (c - b), (value_a - value_b) / (value_c - value_b)
        trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        quadratic = value_a / (value_b - value_a) * value_c / (value_b - value_c)
        quadratic = quadratic + (c - a) / (b - a) * value_a / (value_c - value_a) * value_b / (value_c - value_b)
        share = torch.where(trusted & torch.isfinite(quadratic), quadratic, 0.5).clamp(least, 1 - least)
    return torch.where(value_a.abs() <= value_b.abs(), a, b)
