"""Transport among contexts on a line."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from allweather.distances.transport import Transport


class OnLine(Transport):
    """Contexts on a line: the best target to the left and to the right of each source by two sweeps."""

    @cached_property
    def order(self) -> Tensor:
        """(n,) the points from left to right."""
        return self.points.squeeze(-1).argsort()

    @cached_property
    def rank(self) -> Tensor:
        """(s,) each source's place in that order."""
        return self.order.argsort()[self.sources]

    @cached_property
    def line(self) -> Tensor:
        """(n,) positions from left to right."""
        return self.points.squeeze(-1)[self.order]

    def targets(self, values: Tensor, multiplier: Tensor, known: Tensor, open_: Tensor) -> Tensor:
        """By the running minimum of `f - lam c` from the left and of `f + lam c` from the right."""
        f, climb = values[:, self.order], multiplier[:, None] * self.line
        left, at_left = (f - climb).cummin(-1)
        right, at_right = (f + climb).flip(-1).cummin(-1)
        right, at_right = right.flip(-1), f.shape[-1] - 1 - at_right.flip(-1)
        target = torch.where(left + climb <= right - climb, at_left, at_right)
        return self.order[target[:, self.rank]]

    def _shortest(self) -> float:
        gaps = self.line.diff()
        positive = gaps[gaps > 0]
        return float(positive.min()) if len(positive) else 1.0
