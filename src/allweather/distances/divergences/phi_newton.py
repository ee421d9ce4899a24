"""Tilts of a smooth f-divergence by Newton's method in both unknowns at once.

The worst ratios are `q/p = (phi*)'(c - theta height)`. One search for theta, with one for c inside, always works, but
evaluates the conjugate some hundred times; both together settle within about eight. Rows that do not settle, as with a
conjugate that has corners, are left to the search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Ratio = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
MAX_NEWTON_STEPS, MAX_LOG_STEP, MAX_MASS_ERROR = 60, 1.0, 0.5
"""Above MAX_MASS_ERROR only the mass is corrected; a step changes log theta by MAX_LOG_STEP at most."""
MIN_THETA, MAX_THETA = 1e-4, 1e8
"""Smaller tilts cost digits, larger ones overflow: such rows are left to the search."""
TOLERANCE = 1e-12


class Tilted(NamedTuple):
    """Where Newton's method ended."""

    theta: Tensor  # (b,)
    divergence: Tensor  # (b,)
    weights: Tensor  # (b, n)
    curvature: Tensor  # (b, n)
    settled: Tensor  # (b,) whether both equations hold


class _Sums(NamedTuple):
    """What an evaluation of the conjugate gives, summed over contexts."""

    mass: Tensor  # (b,) less one
    divergence: Tensor  # (b,)
    mean: Tensor  # (b,) of the heights
    bend: Tensor  # (b,) of the conjugate
    lean: Tensor  # (b,) of bend and height


def tilted(
    ratio: Ratio,
    height: Tensor,  # (b, n) between 0 and 1
    p: Tensor,  # (n,) or (b, n)
    goal: Tensor,  # (b,) the divergence, or the least price
    neutral: float,
    bend: float,
    priced: bool,
) -> Tilted:
    """The tilt whose divergence is the goal; if priced, that at which `E_q height + divergence / theta` is the goal."""
    mean = (p * height).sum(-1)
    spread = (p * height.square()).sum(-1) - mean.square()
    first = 2 * (mean - goal) / (bend * spread) if priced else (2 * goal / (bend * spread)).sqrt()
    log = first.nan_to_num(1.0).clamp(MIN_THETA, 50.0).log()
    shift = neutral + log.exp() * mean
    for _ in range(MAX_NEWTON_STEPS):
        theta = log.exp()
        arguments = shift[:, None] - theta[:, None] * height
        phi, ratios, curved = (torch.where(p > 0, p * each, 0.0) for each in ratio(arguments))
        sums = _Sums(
            ratios.sum(-1) - 1, phi.sum(-1), (ratios * height).sum(-1), curved.sum(-1), (curved * height).sum(-1)
        )
        if priced:
            missed, by_shift, by_log = _price(sums, shift, theta, goal)
        else:
            missed, by_shift, by_log = _divergence(sums, arguments, curved, height, theta, goal)
        fine = (sums.mass.abs() < TOLERANCE) & (missed.abs() < TOLERANCE)
        if bool(fine.all()):
            break
        determinant = sums.bend * by_log + theta * sums.lean * by_shift
        moved = (-sums.bend * missed + by_shift * sums.mass) / determinant
        moved = torch.where(fine | (sums.mass.abs() > MAX_MASS_ERROR), 0.0, moved.clamp(-MAX_LOG_STEP, MAX_LOG_STEP))
        log = log + moved
        shift = torch.where(fine, shift, shift + (log.exp() - theta) * sums.lean / sums.bend - sums.mass / sums.bend)
    settled = fine & (theta > MIN_THETA) & (theta < MAX_THETA) & torch.isfinite(ratios).all(-1)
    return Tilted(theta, sums.divergence, ratios / ratios.sum(-1, keepdim=True), curved, settled)


def _price(sums: _Sums, shift: Tensor, theta: Tensor, goal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How far the dual value is from the goal, and its derivatives in the shift and in log theta.

    The dual value is `(c - sum p phi*(c - theta height)) / theta`, and `phi*(s) = s r - phi(r)` at the ratio r.
    """
    conjugate = shift * (sums.mass + 1) - theta * sums.mean - sums.divergence
    value = (shift - conjugate) / theta
    return value - goal, -sums.mass / theta, sums.mean - value


def _divergence(
    sums: _Sums, arguments: Tensor, curved: Tensor, height: Tensor, theta: Tensor, goal: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The logarithm of the divergence over the goal, and its derivatives in the shift and in log theta."""
    held = sums.divergence.clamp_min(1e-300)
    pushed = arguments * curved
    return (held / goal).log(), pushed.sum(-1) / held, -theta * (pushed * height).sum(-1) / held
