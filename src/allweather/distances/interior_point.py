"""A primal-dual interior point method for many linear functions over one kernel ball.

All decisions move together (Mehrotra's predictor and corrector). Every Newton direction is a combination of three
solves with the values, ones and the ball's gradient, plus one for the corrector. On the way each decision's support
is guessed; on the right support the answer has a closed form, and a decision leaves the batch once its duality gap
proves the guess right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from allweather.distances.mmd_ball import KernelBall, total
from allweather.errors import AllweatherError

TOLERANCE = 1e-9
"""Of the duality gap, relative to the range of a decision's values."""
ITERATIONS = 100


def minimise(
    ball: KernelBall,
    values: Tensor,  # (b, n), between 0 and 1 in each row
    p: Tensor,  # (b, n)
    radius: Tensor,  # (b, 1)
) -> tuple[Tensor, Tensor]:
    """The worst q (b, n), and the multiplier (b, 1) of half the squared norm."""
    q, multiplier = torch.empty_like(values), torch.empty_like(radius)
    rows, all_p = torch.arange(len(values), device=values.device), p
    state = _State.start(ball, values, p, radius)
    for _ in range(ITERATIONS):
        step = state.newton(ball, p)
        ahead = state.moved(step)
        if not bool(torch.isfinite(ahead.q).all()):  # limited by rounding: return what was reached
            break
        state, trial = ahead, step.promising(ball)
        if not len(trial):
            continue
        face = ball.face(step.support[trial], state.values[trial], p[trial], state.radius[trial])
        answer = face.worst(p[trial])
        exact = ball.duality_gap(*answer, state.values[trial], p[trial], state.radius[trial]) < TOLERANCE
        done = (exact | (step.gap[trial] < 1e-10)).squeeze(-1)
        finished = rows[trial[done]]
        q[finished] = torch.where(exact, answer[0], state.q[trial])[done]
        multiplier[finished] = torch.where(exact, answer[1], state.multiplier[trial])[done]
        left = torch.ones_like(rows, dtype=torch.bool).index_fill_(0, trial[done], False).nonzero().squeeze(-1)
        if not len(left):
            return q, multiplier
        rows, state, p = rows[left], state.only(left), p[left]
    if len(values) > 1:  # the whole batch shares a rank, which may not suit these few
        for row in rows.split(len(rows) if len(rows) < len(values) else 1):
            q[row], multiplier[row] = minimise(ball, values[row], all_p[row], radius[row])
        return q, multiplier
    # As accurate as rounding allows; the duality gap tells whether that is enough.
    nearest = state.q / state.q.sum(-1, keepdim=True)
    if bool((ball.duality_gap(nearest, state.multiplier, values, p, radius) > 1e-4).any()):
        raise AllweatherError("MMD: the interior point method left a decision unsolved")
    return nearest, state.multiplier


class _Step(NamedTuple):
    """One Newton step, relative to q and z, and its estimate of the support."""

    u: Tensor  # (b, n) relative change of q
    v: Tensor  # (b, n) relative change of z
    pull: Tensor  # (b, n) change of K (q - p)
    multiplier: Tensor  # (b, 1)
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
class _State:
    """Where the decisions still in the batch stand: all strictly inside their constraints."""

    values: Tensor  # (b, n)
    radius: Tensor  # (b, 1)
    q: Tensor  # (b, n)
    z: Tensor  # (b, n) multipliers of q >= 0
    pull: Tensor  # (b, n) K (q - p)
    multiplier: Tensor  # (b, 1) of (radius^2 - |q - p|^2) / 2 >= 0

    @classmethod
    def start(cls, ball: KernelBall, values: Tensor, p: Tensor, radius: Tensor) -> _State:
        """A little towards the uniform distribution from p, well inside the ball."""
        n = p.shape[-1]
        outward = 1 / n - p
        norm = total(outward * ball.product(outward)).sqrt().clamp_min(1e-300)
        q = p + outward * (0.1 * radius / norm).clamp_max(0.1)
        pull = ball.times(q - p)
        multiplier = 16 / (n * radius**2)
        z = values + multiplier * pull
        z = z - z.amin(-1, keepdim=True) + 0.1
        return cls(values, radius, q, z, pull, multiplier)

    def newton(self, ball: KernelBall, p: Tensor) -> _Step:
        """Mehrotra's predictor and corrector."""
        q, z, pull, multiplier = self.q, self.z, self.pull, self.multiplier
        slack = (self.radius**2 - total((q - p) * pull)) / 2
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

        dq, dpull, change = direction(0.0, 0.0)
        u = dq / q
        v = -1 - u
        lean, uv, linear, square = u - v, u * v, total(pull * dq), total(dq * dpull)
        size = _longest(u, v, change / multiplier, linear / slack, square / slack).clamp_max(1)
        after = (1 - size) * gap_q + size**2 * total(qz * uv)
        after = after + (multiplier + size * change) * (slack - size * linear - size**2 * square / 2)
        centre = (after / gap).clamp(1e-3, 1) ** 3 * gap / (p.shape[-1] + 1)
        ratio = centre / qz - uv
        (corrected,) = inverse(ratio * z)
        dq, dpull, change = direction(corrected, centre + change * linear + multiplier * square / 2)
        u = dq / q
        v = ratio - 1 - u
        linear, square = total(pull * dq), total(dq * dpull)
        size = (0.95 * _longest(u, v, change / multiplier, linear / slack, square / slack)).clamp_max(1)
        agreed = ((u - v) * lean).amin(-1, keepdim=True) > 0
        return _Step(u, v, dpull, change, size, gap, agreed)

    def moved(self, step: _Step) -> _State:
        """This state after the step."""
        q, z = self.q * (1 + step.size * step.u), self.z * (1 + step.size * step.v)
        pull, multiplier = self.pull + step.size * step.pull, self.multiplier + step.size * step.multiplier
        return _State(self.values, self.radius, q, z, pull, multiplier)

    def only(self, rows: Tensor) -> _State:
        """The part of the batch with these row numbers."""
        fields = (self.values, self.radius, self.q, self.z, self.pull, self.multiplier)
        return _State(*(tensor[rows] for tensor in fields))


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
