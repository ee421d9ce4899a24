"""Transport plans of many decisions, and where one gives way to another as cost becomes dearer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from allweather._utils.tensors import argsort


@dataclass
class Plans:
    """Where each source sends its mass, per decision, and what that means."""

    target: Tensor  # (b, s) index of a point
    value: Tensor  # (b, s) at the target
    cost: Tensor  # (b, s) of a unit of mass

    def put(self, rows: Tensor, plans: Plans) -> None:
        """Replace some rows."""
        self.target[rows], self.value[rows], self.cost[rows] = plans.target, plans.value, plans.cost

    def only(self, rows: Tensor) -> Plans:
        """Some of the rows."""
        return Plans(self.target[rows], self.value[rows], self.cost[rows])

    def where(self, chosen: Tensor, other: Plans) -> Plans:
        """These plans for the chosen sources (b, s), and the other ones for the rest."""
        mine, theirs = (self.target, self.value, self.cost), (other.target, other.value, other.cost)
        return Plans(*(torch.where(chosen, a, b) for a, b in zip(mine, theirs, strict=True)))

    def worth(self, price: Tensor, masses: Tensor) -> Tensor:
        """The expectation (b,) and `price` (b,) times the cost."""
        return ((self.value + price[:, None] * self.cost) * masses).sum(-1)


class Change(NamedTuple):
    """Where sources change over between two plans, if these hold all their targets."""

    at: Tensor  # (b, s) the multiplier at which each source changes over, -1 where it does not
    multiplier: Tensor  # (b,) at which the cost passes the radius

    @classmethod
    def between(cls, near: Plans, far: Plans, masses: Tensor, radius: Tensor) -> Change:
        """The nearer targets pay where cost is dear: sources with the largest gain per cost go far first."""
        further = far.cost - near.cost
        at = torch.where(further > 0, (near.value - far.value).clamp_min(0) / further, -1.0)
        order = argsort(-at)
        ordered = at.gather(-1, order)
        spent = (near.cost * masses).sum(-1, keepdim=True) + (masses * further.clamp_min(0)).gather(-1, order).cumsum(
            -1
        )
        passed = (spent <= radius[:, None]).sum(-1, keepdim=True).clamp_max(at.shape[-1] - 1)
        return cls(at, ordered.gather(-1, passed).squeeze(-1).clamp_min(0))
