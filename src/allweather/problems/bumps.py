"""Sums of Gaussian bumps, whose averages over some variables are sums of bumps in the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from allweather._utils.matern import matern52_as_gaussians
from allweather.contexts import Reference
from allweather.problems.expansion import KernelExpansion

MAX_BLOCK_NUMBERS = 2**22
"""Exponentials in memory at a time, where no gradient is needed."""


@dataclass(frozen=True, eq=False)
class Bumps:
    """`f(x) = offset + sum_j heights[j] prod_i exp(-steepness[j, i] (x[i] - centres[j, i])^2)`.

    Example:
        >>> one = Bumps(torch.ones(1), torch.ones(1, 2), torch.zeros(1, 2))
        >>> one(torch.tensor([[0.0], [1.0]]), torch.zeros(1, 1))
        tensor([[1.0000],
                [0.3679]])
        >>> halves = Reference(torch.tensor([[0.0], [1.0]]), torch.tensor([0.5, 0.5]))
        >>> one.averaged({1: halves}).heights
        tensor([0.6839])
    """

    heights: Tensor
    """(m,)"""
    steepness: Tensor
    """(m, d)"""
    centres: Tensor
    """(m, d)"""
    offset: float = 0.0

    @classmethod
    def of(cls, expansion: KernelExpansion) -> Self:
        """Return a kernel expansion as a sum of bumps.

        A Matern-5/2 kernel is a mixture of RBF kernels.
        """
        heights, centres = expansion.weights, expansion.centres
        steepness = (0.5 / expansion.lengthscales**2).expand_as(centres)
        if expansion.kernel == "matern52":
            squares, shares = matern52_as_gaussians()
            steepness = (steepness / squares[:, None, None]).flatten(0, 1)
            heights, centres = (shares[:, None] * heights).flatten(), centres.repeat(len(squares), 1)
        return cls(heights, steepness, centres, expansion.offset)

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n), differentiable in both arguments; the last columns are the contexts."""
        split = decisions.shape[1]
        there = self._factors(contexts, slice(split, None))
        rows = (
            [decisions] if decisions.requires_grad else decisions.split(max(1, MAX_BLOCK_NUMBERS // len(self.heights)))
        )
        blocks = [(self.heights * self._factors(block, slice(0, split))) @ there.T for block in rows]
        return self.offset + torch.cat(blocks)

    def averaged(self, laws: Mapping[int, Reference]) -> Self:
        """Return the mean over the columns with a law, as a function of the other columns."""
        heights = self.heights
        for column, (points, weights) in laws.items():
            steepness, centres, place = self._distinct([column])
            rows = max(1, MAX_BLOCK_NUMBERS // len(points))
            parts = zip(steepness.split(rows), centres.split(rows), strict=True)
            means = [(-s * (points[:, 0] - c) ** 2).exp() @ weights for s, c in parts]
            heights = heights * torch.cat(means)[place]
        others = [column for column in range(self.centres.shape[1]) if column not in laws]
        steepness, centres, place = self._distinct(others)
        merged = heights.new_zeros(len(centres)).index_add(0, place, heights)
        return type(self)(merged, steepness, centres, self.offset)

    def _distinct(self, columns: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the distinct steepness and centres in these columns (grids repeat them), and their indices."""
        shapes = torch.cat([self.steepness[:, columns], self.centres[:, columns]], dim=1)
        distinct, place = torch.unique(shapes, dim=0, return_inverse=True)
        steepness, centres = distinct.split(len(columns), dim=1)
        return steepness, centres, place

    def _factors(self, points: Tensor, columns: slice) -> Tensor:
        """Return (b, m), the product over these columns."""
        steepness, centres = self.steepness[:, columns], self.centres[:, columns]
        constant = (steepness * centres**2).sum(-1)
        squares = points**2 @ steepness.T - 2 * points @ (steepness * centres).T + constant
        return (-squares.clamp_min(0)).exp()
