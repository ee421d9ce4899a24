"""The contexts seen so far, moved to the nearest points of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from allweather.contexts.base import Reference, seen
from allweather.contexts.learned import LearnedModel, point_masses
from allweather.errors import MAX_COUNT, require_count


@dataclass(frozen=True)
class Discretised(LearnedModel):
    """The empirical distribution on a full grid of about `size` points; grid points not seen weigh nothing.

    As DRBO-MMD needs it (kde, App. B.1): `ceil(size**(1/d_c))` points per dimension, the box's ends included. The
    published code takes the grid's diagonal only (errata E9).

    Example:
        >>> past = torch.tensor([[0.1], [0.9], [0.95]], dtype=torch.float64)
        >>> Discretised(size=3).reference(past, 3, torch.Generator()).weights
        tensor([0.3333, 0.0000, 0.6667], dtype=torch.float64)
    """

    size: int = 100
    bootstrap: bool = True
    """Whether intervals account for how few contexts the law is learned from."""

    def __post_init__(self) -> None:
        require_count(self.size, "Discretised(size=...)", low=2, high=MAX_COUNT)

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The grid, weighted by how often each point was nearest."""
        contexts = seen(contexts, self)
        d = contexts.shape[1]
        side = self._side(d)
        line = torch.linspace(0, 1, side, dtype=torch.float64)
        points = torch.cartesian_prod(*[line] * d).reshape(-1, d)
        place = (contexts * (side - 1)).round().long()
        stride = side ** torch.arange(d - 1, -1, -1)
        counts = torch.bincount(place @ stride, minlength=len(points)).to(torch.float64)
        return Reference(points, counts / counts.sum())

    def log_component(self, contexts: Tensor, points: Tensor) -> Tensor:
        """Point masses at the nearest points of the grid."""
        return point_masses(self.component_points(contexts), points)

    def component_points(self, contexts: Tensor) -> Tensor:
        """The nearest points of the grid."""
        steps = self._side(contexts.shape[1]) - 1
        return (contexts * steps).round() / steps

    def _side(self, d: int) -> int:
        """Points of the grid along each of d dimensions."""
        return max(2, math.ceil(math.pow(self.size, 1 / d) - 1e-9))
