"""Scalarisations of several objectives (Knowles 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from allweather.acquisition.base import Belief
from allweather.acquisition.feasibility import typical_spread

SHARE = 0.05
"""The weight of the sum in the augmented Chebyshev scalarisation."""


def chebyshev(columns: Tensor, weights: Tensor) -> Tensor:
    """The augmented Chebyshev scalarisation (...,) of distances (..., m) to the ideal, or another point.

    Example:
        >>> chebyshev(torch.tensor([[0.0, -1.0], [-0.6, -0.6]]), torch.tensor([0.5, 0.5])).argmax().item()
        1
    """
    weighted = columns * weights
    return weighted.amin(-1) + SHARE * weighted.sum(-1)


def random_weights(count: int, generator: Generator) -> Tensor:
    """Weights (count,) drawn uniformly from the simplex."""
    drawn = -torch.rand(count, generator=generator, dtype=torch.float64).clamp_min(1e-12).log()
    return drawn / drawn.sum()


def objective_units(objectives: Sequence[Belief], decisions: Tensor) -> tuple[Tensor, Tensor]:
    """The best expected objective (m,) among decisions (k, d_x), and the range of each (m,).

    Args:
        objectives: what to improve.
        decisions: such as those tried.
    """
    with torch.no_grad():
        rows = [torch.cat([each.expected(block) for block in decisions.split(64)]) for each in objectives]
    found = torch.stack(rows)
    least = found.new_tensor([1e-3 * typical_spread(each) for each in objectives])
    return found.amax(1), torch.maximum(found.amax(1) - found.amin(1), least)
