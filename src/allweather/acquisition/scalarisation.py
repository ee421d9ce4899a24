"""Scalarisations of several objectives (Knowles 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from allweather.acquisition.base import Belief
from allweather.acquisition.limits import typical_spread

CORNER_MARGIN = 0.1
"""How far below the trade-offs the reference point of MARS lies, in units of their range."""
SUM_WEIGHT = 0.05
"""The weight of the sum in the augmented Chebyshev scalarisation."""


def chebyshev(columns: Tensor, weights: Tensor) -> Tensor:
    """The augmented Chebyshev scalarisation (...,) of distances (..., m) to the ideal, or another point.

    Example:
        >>> chebyshev(torch.tensor([[0.0, -1.0], [-0.6, -0.6]]), torch.tensor([0.5, 0.5])).argmax().item()
        1
    """
    weighted = columns * weights
    return weighted.amin(-1) + SUM_WEIGHT * weighted.sum(-1)


def random_weights(count: int, generator: Generator) -> Tensor:
    """Weights (count,) drawn uniformly from the simplex."""
    drawn = -torch.rand(count, generator=generator, dtype=torch.float64).clamp_min(1e-12).log()
    return drawn / drawn.sum()


def reference_corner(
    objectives: Sequence[Belief], decisions: Tensor, given: Sequence[float] | None = None
) -> tuple[Tensor, Tensor]:
    """A point (m,) a tenth of the range below all trade-offs among decisions (k, d_x), and the range (m,) of these.

    Args:
        objectives: what to improve.
        decisions: such as those tried.
        given: (m,) another point, to which ranges reach then.
    """
    found = _expected(objectives, decisions)  # (m, k)
    no_worse = (found[:, :, None] >= found[:, None]).all(0)
    better = (found[:, :, None] > found[:, None]).any(0)
    best = ~(no_worse & better).any(0)
    kept = found[:, best] if int(best.sum()) > 1 else found
    least = found.new_tensor([1e-3 * typical_spread(each) for each in objectives])
    if given is not None:
        corner = found.new_tensor(list(given))
        return corner, torch.maximum(kept.amax(1) - corner, 0.1 * (found.amax(1) - found.amin(1)) + least)
    ranges = torch.maximum(kept.amax(1) - kept.amin(1), least)
    return kept.amin(1) - CORNER_MARGIN * ranges, ranges


def _expected(objectives: Sequence[Belief], decisions: Tensor) -> Tensor:
    """The expected objectives (m, k) of decisions (k, d_x)."""
    with torch.no_grad():
        rows = [torch.cat([each.expected(block) for block in decisions.split(64)]) for each in objectives]
    return torch.stack(rows)


def objective_units(objectives: Sequence[Belief], decisions: Tensor) -> tuple[Tensor, Tensor]:
    """The best expected objective (m,) among decisions (k, d_x), and the range of each (m,).

    Args:
        objectives: what to improve.
        decisions: such as those tried.
    """
    found = _expected(objectives, decisions)
    least = found.new_tensor([1e-3 * typical_spread(each) for each in objectives])
    return found.amax(1), torch.maximum(found.amax(1) - found.amin(1), least)
