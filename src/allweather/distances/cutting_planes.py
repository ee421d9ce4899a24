"""The radius at which the loss below a target is largest per unit of radius, from worst cases and their slopes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WorstAt = tuple[Tensor, Tensor, Tensor]
CUTS = 60
"""An upper limit on the number of tangents that a search uses."""
NEXT = 0.03
"""How far a search begins from a guess, as a share of it."""


def touching(
    worst_at: Callable[[Tensor], WorstAt],
    mean: Tensor,
    lowest: Tensor,
    reach: Tensor,
    target: float,
    guess: Tensor | None = None,
) -> Tensor:
    """The radius (b,) where the loss below the target per unit of radius is largest, by cutting planes.

    v is convex, so it lies above its tangents. The best radius is between one whose tangent starts above the target
    and one whose tangent starts below it, and no radius loses more than where the two tangents meet: that one is tried
    next, in turn with the one at which the tangent would start at the target if starts fell on a straight line.

    Args:
        worst_at: the value v, its slope and the weights of the worst case within radii (b,).
        mean: (b,) v at radius 0, above the target.
        lowest: (b,) v from `reach` on, below the target.
        reach: (b,).
        target: of the loss.
        guess: (b,) a radius next to the best one, on both sides of which the search begins.
    """
    ends, starts = (torch.zeros_like(reach), reach), (mean, lowest)  # of the tangents: where they touch, and at 0
    slopes = worst_at(torch.zeros_like(reach))[1], torch.zeros_like(lowest)
    best, most = reach.clone(), (target - lowest) / reach
    for cut in range(CUTS):
        radius = ((starts[0] - starts[1]) / (slopes[1] - slopes[0])).nan_to_num(nan=1.0).clamp(1e-300)
        radius = torch.minimum(radius, reach)
        limit = (target - starts[1]) / radius - slopes[1]
        if bool((limit - most <= 1e-12 * limit).all()):
            break
        if guess is not None and cut < 2:
            radius = torch.minimum(guess * (1 + NEXT if cut else 1 - NEXT), reach)
        elif cut % 2:  # where v is smooth a straight line through both starts is closer
            share = (starts[0] - target) / (starts[0] - starts[1])
            radius = torch.where(starts[1] < target, ends[0] + share * (ends[1] - ends[0]), radius)
        value, slope, _ = worst_at(radius)
        loss, start = (target - value) / radius, value - radius * slope
        best, most = torch.where(loss > most, radius, best), torch.maximum(loss, most)
        above = start > target
        new = radius, start, slope
        (ends, starts, slopes) = (
            (torch.where(above, fresh, old[0]), torch.where(above, old[1], fresh))
            for fresh, old in zip(new, (ends, starts, slopes), strict=True)
        )
    return best
