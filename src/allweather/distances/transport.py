"""The worst case over transport plans: `v = max over lam >= 0 of -lam eps + sum_i p_i min_j (f_j + lam D_ij)`.

The function of lam is concave and piecewise linear. Every lam picks a plan (source i sends its mass to the minimising
j), and every plan is a line in lam. We keep the line of a plan that costs more than the radius and one of a plan that
does not, look where they cross, and replace one of the two by the plan found there, until the crossing is on the
function itself. Both plans are optimal there, so a mixture of the two that costs just the radius is the adversary's
choice, and minus the crossing is the slope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, pairwise
from allweather.contexts import Reference
from allweather.distances.base import Worst

LINES = 10_000
"""Maximum number of crossings to evaluate; beyond it only rounding is left."""
TABLE = 2**18
"""Entries of one block of the table of costs, small enough to stay in cache."""


@dataclass
class Plans:
    """Where each source sends its mass, per decision, and what that means."""

    target: Tensor  # (b, s) index of a point
    value: Tensor  # (b,) expectation
    cost: Tensor  # (b,) of moving

    def put(self, rows: Tensor, chosen: Tensor, plans: Plans) -> None:
        """Replace `rows[chosen]` by the chosen of `plans`."""
        self.target[rows[chosen]] = plans.target[chosen]
        self.value[rows[chosen]] = plans.value[chosen]
        self.cost[rows[chosen]] = plans.cost[chosen]


@dataclass(frozen=True)
class Transport(ABC):
    """Sources with mass, and points that anyone may move to."""

    points: Tensor  # (n, d)
    sources: Tensor  # (s,) index of the points with mass
    masses: Tensor  # (s,)
    norm: float

    @staticmethod
    def over(reference: Reference, norm: float) -> Transport:
        """The way to move mass among the reference's points; on a line there is a faster one."""
        sources = reference.weights.nonzero().squeeze(-1)
        on = OnLine if reference.points.shape[1] == 1 else Anywhere
        return on(reference.points, sources, reference.weights[sources], float(norm))

    @abstractmethod
    def targets(self, values: Tensor, multiplier: Tensor) -> Tensor:
        """Where each source goes (b, s) when a unit of cost is worth `multiplier` (b,)."""

    def plans(self, values: Tensor, multiplier: Tensor) -> Plans:
        """The best plan per decision when a unit of cost is worth `multiplier` (b,)."""
        target = self.targets(values, multiplier)
        moved = self.points[target] - self.points[self.sources]
        cost = torch.linalg.vector_norm(moved, ord=self.norm, dim=-1)
        return Plans(target, values.gather(-1, target) @ self.masses, cost @ self.masses)

    def solve(self, values: Tensor, radius: Tensor) -> Worst:
        """The worst case of `values` (b, n) within `radius` (b,)."""
        f = values.detach()
        low, high = f.aminmax(dim=-1, keepdim=True)
        scale = (high - low).clamp_min(torch.finfo(f.dtype).tiny)
        height = (f - low) / scale
        far = self.plans(torch.where(height == 0, height, torch.inf), torch.ones_like(radius))
        far.value.zero_()
        near = self.plans(height, torch.full_like(radius, 2 / self._shortest()))
        rounding = ROUNDING * self._longest()
        affordable = far.cost <= radius + rounding
        multiplier = torch.zeros_like(radius)
        rows = (~affordable & (near.cost < far.cost)).nonzero().squeeze(-1)
        for _ in range(LINES):
            if not len(rows):
                break
            gain = (near.value - far.value)[rows].clamp_min(0)
            crossing = gain / (far.cost - near.cost)[rows]
            multiplier[rows] = crossing
            at = self.plans(height[rows], crossing)
            expected = near.value[rows] + crossing * near.cost[rows]
            open_ = expected - (at.value + crossing * at.cost) > 1e-14 * (1 + expected)
            dear = at.cost > radius[rows] + rounding
            far.put(rows, open_ & dear, at)
            near.put(rows, open_ & ~dear, at)
            rows = rows[open_]
        return self._mixed(values, radius, far, near, affordable, multiplier * scale.squeeze(-1))

    def price(self, values: Tensor, target: float) -> Tensor:
        """The price k (b,) of a unit of cost at which the best plan of `values` (b, n), priced, is worth the target.

        What it is worth is concave in k and its slope is the plan's cost, so Newton steps from k = 0 never overshoot.
        """
        f = values.detach()
        price, worth = f.new_zeros(len(f)), f.new_full((len(f),), -torch.inf)
        for _ in range(LINES):
            plans = self.plans(f, price)
            reached = plans.value + price * plans.cost
            climbing = (reached < target) & (reached > worth) & (plans.cost > 0)
            if not bool(climbing.any()):
                break
            worth = torch.where(climbing, reached, worth)
            price = torch.where(climbing, (target - plans.value) / plans.cost, price)
        plans = self.plans(f, price)
        earned = values.gather(-1, plans.target) @ self.masses
        return torch.where(plans.cost > 0, (target - earned) / plans.cost.clamp_min(1e-300), price)

    def _mixed(
        self, values: Tensor, radius: Tensor, far: Plans, near: Plans, affordable: Tensor, multiplier: Tensor
    ) -> Worst:
        span = (far.cost - near.cost).clamp_min(torch.finfo(radius.dtype).tiny)
        share = torch.where(affordable, 1.0, ((radius - near.cost) / span).clamp(0, 1))[:, None]
        weights = torch.zeros_like(values, requires_grad=False)
        weights.scatter_add_(-1, far.target, share * self.masses)
        weights.scatter_add_(-1, near.target, (1 - share) * self.masses)
        slope = -multiplier
        if values.requires_grad:
            change = (values.gather(-1, far.target) - values.gather(-1, near.target)) @ self.masses
            slope = torch.where(multiplier > 0, change / span, slope)
        return Worst((weights * values.detach()).sum(-1), slope, weights)

    def _longest(self) -> float:
        extent = self.points.amax(0) - self.points.amin(0)
        return float(torch.linalg.vector_norm(extent, ord=self.norm))

    @abstractmethod
    def _shortest(self) -> float:
        """The smallest positive distance between two points."""


class Anywhere(Transport):
    """Contexts of any dimension: a table of all costs."""

    @cached_property
    def costs(self) -> Tensor:
        """(s, n) of moving a unit from each source to each point."""
        return pairwise(self.points[self.sources], self.points, self.norm)

    def targets(self, values: Tensor, multiplier: Tensor) -> Tensor:
        """Compare every pair."""
        rows = max(1, TABLE // self.costs.numel())
        blocks = zip(values.split(rows), multiplier.split(rows), strict=True)
        return torch.cat([(v[:, None, :] + m[:, None, None] * self.costs).argmin(-1) for v, m in blocks])

    def _shortest(self) -> float:
        positive = self.costs[self.costs > 0]
        return float(positive.min()) if len(positive) else 1.0


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

    def targets(self, values: Tensor, multiplier: Tensor) -> Tensor:
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
