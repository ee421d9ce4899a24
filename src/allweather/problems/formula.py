"""Functions given by a formula over joint points, evaluated in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

MAX_BLOCK_PAIRS = 2**18
"""Pairs of decision and context in memory at a time."""


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula over joint points as a function of decisions and contexts of the unit cube.

    Example:
        >>> total = Formula(lambda joint: joint.sum(-1), lower=(0, 0), upper=(1, 10))
        >>> total(torch.tensor([[0.5]]), torch.tensor([[0.0], [0.2]]))
        tensor([[0.5000, 2.5000]])
    """

    formula: Callable[[Tensor], Tensor]
    """Joint points (..., d_x + d_c) in the formula's units to values (...)."""
    lower: tuple[float, ...]
    """Lower bound of each column in the formula's units."""
    upper: tuple[float, ...]
    """Upper bound of each column."""

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n) at decisions (b, d_x) and contexts (n, d_c) of the unit cube."""
        rows = max(1, MAX_BLOCK_PAIRS // max(1, len(contexts)))
        return torch.cat([self._block(block, contexts) for block in decisions.split(rows)])

    def _block(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        b, n = len(decisions), len(contexts)
        joint = torch.cat([decisions[:, None].expand(b, n, -1), contexts.expand(b, n, -1)], dim=-1)
        lower, upper = joint.new_tensor(self.lower), joint.new_tensor(self.upper)
        return self.formula(lower + (upper - lower) * joint)
