"""The worst case over transport plans: `v = max over lam >= 0 of -lam eps + sum_i p_i min_j (f_j + lam D_ij)`.

The function of lam is concave and piecewise linear. Every lam picks a plan: source i sends its mass to the minimising
j. We keep the plan of a lam that costs more than the radius and that of a lam that does not, so each source has two
targets, and is settled where these are the same. If sources had no other targets, the lam at which the cost passes the
radius would follow from sorting the lams at which sources change over. There the best plan is looked for, among all
targets of the sources that are not settled, and takes the place of one of the two, until nothing better is found:
three or four times. The adversary then mixes two plans so that the cost is the radius; minus that lam is the slope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, argmin, argsort
from allweather.distances.base import Worst

MAX_PLANS = 10_000
"""Maximum number of plans to look for; beyond it only rounding is left."""


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


@dataclass(frozen=True)
class Transport(ABC):
    """Sources with mass, and points that anyone may move to."""

    points: Tensor  # (n, d)
    sources: Tensor  # (s,) index of the points with mass
    norm: float
    stamp: tuple[int, float]  # of the points when it was made

    @abstractmethod
    def targets(self, values: Tensor, multiplier: Tensor, known: Tensor, open_: Tensor) -> Tensor:
        """Where each source goes (b, s) when a unit of cost is worth `multiplier` (b,).

        Args:
            values: (b, n).
            multiplier: (b,).
            known: (b, s) where settled sources go.
            open_: (b, s) which are not settled.
        """

    def plans(self, values: Tensor, target: Tensor) -> Plans:
        """What it means to send mass to the targets (b, s)."""
        return Plans(target, values.gather(-1, target), self.units(target))

    def units(self, target: Tensor) -> Tensor:
        """The cost (b, s) of moving a unit to the targets (b, s)."""
        moved = self.points[target] - self.points[self.sources]
        found: Tensor = torch.linalg.vector_norm(moved, ord=self.norm, dim=-1)
        return found

    def best(self, values: Tensor, multiplier: Tensor) -> Plans:
        """The best plan per decision when a unit of cost is worth `multiplier` (b,)."""
        known = self.sources.expand(len(values), -1)
        return self.plans(values, self.targets(values, multiplier, known, torch.ones_like(known, dtype=torch.bool)))

    def solve(self, values: Tensor, weights: Tensor, radius: Tensor) -> Worst:
        """The worst case of `values` (b, n) under `weights` (n,) or (b, n), within `radius` (b,)."""
        f, masses = values.detach(), weights[..., self.sources].expand(len(values), -1)
        low, high = f.aminmax(dim=-1, keepdim=True)
        scale = (high - low).clamp_min(torch.finfo(f.dtype).tiny)
        height = (f - low) / scale
        far, near = self._farthest(height), self._nearest(height)
        limit = radius + ROUNDING * self._longest()
        most, least = (far.cost * masses).sum(-1), (near.cost * masses).sum(-1)
        affordable = most <= limit
        multiplier = torch.zeros_like(radius)
        rows = (~affordable & (least < most)).nonzero().squeeze(-1)
        for _ in range(MAX_PLANS):
            if not len(rows):
                break
            nearer, farther = near.only(rows), far.only(rows)
            change = Change.between(nearer, farther, masses[rows], limit[rows])
            multiplier[rows] = price = change.multiplier
            kept = farther.where(change.at > price[:, None], nearer)
            unsettled = nearer.target != farther.target
            at = self.plans(height[rows], self.targets(height[rows], price, kept.target, unsettled))
            expected = kept.worth(price, masses[rows])
            open_ = expected - at.worth(price, masses[rows]) > 1e-14 * (1 + expected)
            dear = (at.cost * masses[rows]).sum(-1) > limit[rows]
            far.put(rows[open_ & dear], at.only(open_ & dear))
            near.put(rows[open_ & ~dear], at.only(open_ & ~dear))
            near.put(rows[~open_], kept.only(~open_))
            far.put(rows[~open_], farther.where(change.at >= price[:, None], nearer).only(~open_))
            rows = rows[open_]
        return _mixed(values, masses, radius, far, near, affordable, multiplier * scale.squeeze(-1))

    def price(self, values: Tensor, weights: Tensor, target: float) -> Tensor:
        """The price k (b,) of a unit of cost at which the best plan of `values` (b, n), priced, is worth the target.

        What it is worth is concave in k and its slope is the plan's cost, so Newton steps from k = 0 never overshoot.
        """
        f, masses = values.detach(), weights[self.sources]
        price, worth = f.new_zeros(len(f)), f.new_full((len(f),), -torch.inf)
        rows = torch.arange(len(f), device=f.device)
        last = self._farthest(f)
        for step in range(MAX_PLANS):
            plans = last.only(rows) if step == 0 else self.best(f[rows], price[rows])
            last.put(rows, plans)
            value, cost = plans.value @ masses, plans.cost @ masses
            reached = value + price[rows] * cost
            climbing = (reached < target) & (reached > worth[rows]) & (cost > 0)
            rows = rows[climbing]
            if not len(rows):
                break
            worth[rows] = reached[climbing]
            price[rows] = ((target - value) / cost)[climbing]
        cost = last.cost @ masses
        earned = values.gather(-1, last.target) @ masses
        return torch.where(cost > 0, (target - earned) / cost.clamp_min(1e-300), price)

    def steepest(self, values: Tensor) -> Tensor | None:
        """How steeply (b,) the worst case of `values` (b, n) falls at radius 0, where there is a quick way to it."""
        return None

    def _farthest(self, height: Tensor) -> Plans:
        """Everything on the lowest value; where there are several, on the nearest of them."""
        lowest = height == height.amin(-1, keepdim=True)
        target = argmin(height)[:, None].repeat(1, len(self.sources))
        tied = (lowest.sum(-1) > 1).nonzero().squeeze(-1)
        if len(tied):
            level = torch.where(lowest[tied], 0.0, torch.inf)
            target[tied] = self.best(level, torch.ones_like(level[:, 0])).target
        return self.plans(height, target)

    def _nearest(self, height: Tensor) -> Plans:
        """Everything where it is, but for points in the same place."""
        if self._distinct:
            return self.plans(height, self.sources.repeat(len(height), 1))
        return self.best(height, torch.full_like(height[:, 0], 2 / self._shortest()))

    def _longest(self) -> float:
        extent = self.points.amax(0) - self.points.amin(0)
        return float(torch.linalg.vector_norm(extent, ord=self.norm))

    @cached_property
    def _distinct(self) -> bool:
        """Whether no two points are in the same place."""
        return len(self.points) < 2 or len(self.points.unique(dim=0)) == len(self.points)

    @abstractmethod
    def _shortest(self) -> float:
        """The smallest positive distance between two points."""


def _mixed(
    values: Tensor, masses: Tensor, radius: Tensor, far: Plans, near: Plans, affordable: Tensor, multiplier: Tensor
) -> Worst:
    """The mixture of two plans that costs just the radius."""
    spent = (near.cost * masses).sum(-1)
    span = ((far.cost * masses).sum(-1) - spent).clamp_min(torch.finfo(radius.dtype).tiny)
    share = torch.where(affordable, 1.0, ((radius - spent) / span).clamp(0, 1))[:, None]
    weights = torch.zeros_like(values, requires_grad=False)
    weights.scatter_add_(-1, far.target, share * masses)
    weights.scatter_add_(-1, near.target, (1 - share) * masses)
    slope = -multiplier
    if values.requires_grad:
        change = ((values.gather(-1, far.target) - values.gather(-1, near.target)) * masses).sum(-1)
        slope = torch.where(multiplier > 0, change / span, slope)
    return Worst((weights * values.detach()).sum(-1), slope, weights)
