"""Where an interior point method stands, and the Newton step from there (Mehrotra's predictor and corrector).

Every direction is a combination of three solves with the values, ones and the ball's gradient, plus one for the
corrector.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from allweather.distances.mmd_ball import KernelBall, Solver, total


class Geometry(Protocol):
    """The kernel matrix K that a step is taken in."""

    def times(self, x: Tensor) -> Tensor:
        """The products of x and K."""

    def factor(self, diagonal: Tensor) -> Solver:
        """A solver of `(K + diag) x = b`."""


class Step(NamedTuple):
    """One Newton step, relative to q and z, and its estimate of the support."""

    u: Tensor  # (b, n) relative change of q
    v: Tensor  # (b, n) relative change of z
    pull: Tensor  # (b, n) change of K (q - p)
    multiplier: Tensor  # (b, 1)
    slack: Tensor  # (b, 1) change of the slack, of the size of the step
    size: Tensor  # (b, 1)
    gap: Tensor  # (b, 1)
    agreed: Tensor  # (b, 1) whether predictor and corrector see the same support

    @property
    def support(self) -> Tensor:
        """A point is in the support if q shrinks more slowly than z (Tapia's indicator)."""
        return self.u > self.v

    def promising(self, ball: KernelBall) -> Tensor:
        """Rows whose support is worth trying."""
        small = (self.support.sum(-1, keepdim=True) <= ball.rank) | (self.gap < 1e-6)
        return (self.agreed & small | (self.gap < 1e-10)).squeeze(-1).nonzero().squeeze(-1)


@dataclass(frozen=True)
class State:
    """Where the decisions still in the batch stand: all strictly inside their constraints."""

    values: Tensor  # (b, n)
    radius: Tensor  # (b, 1)
    q: Tensor  # (b, n)
    z: Tensor  # (b, n) multipliers of q >= 0
    pull: Tensor  # (b, n) K (q - p)
    multiplier: Tensor  # (b, 1) of (radius^2 - |q - p|^2) / 2 >= 0
    slack: Tensor  # (b, 1) stands for that, and is positive
    short: Tensor  # (b, 1) what is missing from it

    @classmethod
    def start(cls, ball: KernelBall, values: Tensor, p: Tensor, radius: Tensor) -> State:
        """A little towards the uniform distribution from p, well inside the ball."""
        n = p.shape[-1]
        outward = 1 / n - p
        norm = total(outward * ball.product(outward)).sqrt().clamp_min(1e-300)
        q = p + outward * (0.1 * radius / norm).clamp_max(0.1)
        pull = ball.times(q - p)
        multiplier = 16 / (n * radius**2)
        z = values + multiplier * pull
        z = z - z.amin(-1, keepdim=True) + 0.1
        slack = (radius**2 - total((q - p) * pull)) / 2
        return cls(values, radius, q, z, pull, multiplier, slack, torch.zeros_like(slack))

    def newton(self, ball: Geometry) -> Step:
        """Mehrotra's predictor and corrector."""
        q, z, pull, multiplier, slack = self.q, self.z, self.pull, self.multiplier, self.slack
        qz = q * z
        gap_q = total(qz)
        gap = gap_q + multiplier * slack
        inverse = ball.factor(z / (q * multiplier))
        by_values, by_ones, by_pull = inverse(self.values, torch.ones_like(q), pull)
        a11, a12, a22 = total(by_ones), total(pull * by_ones), total(pull * by_pull) + slack
        determinant = a11 * a22 - a12**2
        missing = 1 - total(q)

        def direction(centring: Tensor | float, target: Tensor | float) -> tuple[Tensor, Tensor, Tensor]:
            """Changes of q, of K (q - p) and of the multiplier that centre q z and multiplier * slack."""
            x = (centring - by_values) / multiplier
            b1, b2 = total(x) - missing, total(pull * x) + target / multiplier
            growth = (a11 * b2 - a12 * b1) / determinant
            dq = x - by_ones * ((a22 * b1 - a12 * b2) / determinant) - by_pull * growth
            return dq, ball.times(dq), multiplier * (growth - 1)

        owed = multiplier * self.short
        dq, dpull, change = direction(0.0, -owed)
        u = dq / q
        v = -1 - u
        lean, uv, linear, square = u - v, u * v, total(pull * dq) - self.short, total(dq * dpull)
        size = _longest(u, v, change / multiplier, linear / slack, square / slack).clamp_max(1)
        after = (1 - size) * gap_q + size**2 * total(qz * uv)
        after = after + (multiplier + size * change) * (slack - size * linear - size**2 * square / 2)
        centre = (after / gap).clamp(1e-3, 1) ** 3 * gap / (q.shape[-1] + 1)
        ratio = centre / qz - uv
        (corrected,) = inverse(ratio * z)
        dq, dpull, change = direction(corrected, centre + change * linear + multiplier * square / 2 - owed)
        u = dq / q
        v = ratio - 1 - u
        linear, square = total(pull * dq) - self.short, total(dq * dpull)
        size = (0.95 * _longest(u, v, change / multiplier, linear / slack, square / slack)).clamp_max(1)
        agreed = ((u - v) * lean).amin(-1, keepdim=True) > 0
        return Step(u, v, dpull, change, -size * (linear + size * square / 2), size, gap, agreed)

    def moved(self, step: Step) -> State:
        """This state after the step."""
        q, z = self.q * (1 + step.size * step.u), self.z * (1 + step.size * step.v)
        pull, multiplier = self.pull + step.size * step.pull, self.multiplier + step.size * step.multiplier
        slack, short = self.slack + step.slack, (1 - step.size) * self.short
        return State(self.values, self.radius, q, z, pull, multiplier, slack, short)

    def double(self) -> State:
        """The same in double precision."""
        return State(*(getattr(self, each.name).double() for each in fields(self)))

    def only(self, rows: Tensor) -> State:
        """The part of the batch with these row numbers."""
        if len(rows) == len(self.q):
            return self
        return State(*(getattr(self, each.name)[rows] for each in fields(self)))


def _longest(
    u: Tensor,  # (b, n) relative change of q
    v: Tensor,  # (b, n) relative change of z
    growth: Tensor,  # (b, 1) relative change of the multiplier
    linear: Tensor,  # (b, 1) relative loss of the slack, to first order in the step
    square: Tensor,  # (b, 1) and twice that to second order
) -> Tensor:
    """The longest step (b, 1) that keeps q, z, the multiplier and the slack positive."""
    edge = (linear + (linear**2 + 2 * square).clamp_min(0).sqrt()) / 2
    bounds = [-u.amin(-1, keepdim=True), -v.amin(-1, keepdim=True), -growth, edge]
    return 1 / torch.cat(bounds, -1).amax(-1, keepdim=True).clamp_min(1e-9)
