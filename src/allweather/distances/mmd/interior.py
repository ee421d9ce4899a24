"""A primal-dual interior point method for many linear functions over one kernel ball.

All decisions move together. On the way each decision's support is guessed; on the right support the answer has a closed
form, and a decision leaves the batch once its duality gap proves the guess right.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from allweather.distances.interior_point import path_following, predictor_corrector
from allweather.distances.mmd.ball import GAP_TOLERANCE, KernelBall, Solver, total
from allweather.errors import AllweatherError

MAX_STEPS, MAX_CAREFUL_STEPS = 100, 400
LEAST_CENTRING, STEP_SHARE = 1e-3, 0.95
"""Of the predictor and corrector: where slacks are quadratic, larger steps end too close to the ball."""
CAREFUL_CENTRING = 0.3
"""Of steps along the central path, where the corrector goes in circles."""


def minimise(
    ball: KernelBall, values: Tensor, p: Tensor, radius: Tensor, careful: bool = False
) -> tuple[Tensor, Tensor]:
    """The worst q (b, n) of values between 0 and 1 in each row, and the multiplier (b, 1) of half the squared norm.

    Args:
        ball: the kernel matrix.
        values: (b, n) between 0 and 1.
        p: (b, n) centres.
        radius: (b, 1).
        careful: whether all steps are short ones along the central path, as rows try that are left unsolved.
    """
    q, multiplier = torch.empty_like(values), torch.empty_like(radius)
    rows, all_p = torch.arange(len(values), device=values.device), p
    state = State.start(ball, values, p, radius)
    for _ in range(MAX_CAREFUL_STEPS if careful else MAX_STEPS):
        step = state.newton(ball, careful)
        ahead = state.moved(step)
        if not bool(torch.isfinite(ahead.q).all()):  # limited by rounding: return what was reached
            break
        state, trial = ahead, step.promising(ball)
        if not len(trial):
            continue
        face = ball.face(step.support[trial], state.values[trial], p[trial], state.radius[trial])
        answer = face.worst(p[trial])
        exact = ball.duality_gap(*answer, state.values[trial], p[trial], state.radius[trial]) < GAP_TOLERANCE
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
        if not careful:
            return minimise(ball, values, all_p, radius, careful=True)
        raise AllweatherError("MMD: the interior point method left a decision unsolved")
    return nearest, state.multiplier


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

    def newton(self, ball: Geometry, careful: bool = False) -> Step:
        """Mehrotra's predictor and corrector, or a careful step along the central path."""
        system = _System(self, ball)
        step = path_following if careful else predictor_corrector
        guess, move, size = step(system, CAREFUL_CENTRING if careful else LEAST_CENTRING, STEP_SHARE)
        agreed = ((move.u - move.v) * (guess.u - guess.v)).amin(-1, keepdim=True) > 0
        loss = -size * (move.linear + size * move.square / 2)
        return Step(move.u, move.v, move.pull, move.multiplier, loss, size, system.gap, agreed)

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


class _Direction(NamedTuple):
    """Relative changes of q and z, and what follows from them."""

    u: Tensor  # (b, n)
    v: Tensor  # (b, n)
    pull: Tensor  # (b, n) change of K (q - p)
    multiplier: Tensor  # (b, 1) its change
    linear: Tensor  # (b, 1) loss of the slack, to first order in the step
    square: Tensor  # (b, 1) and twice that to second order
    longest: Tensor  # (b, 1)


class _System:
    """The Newton system of a state: combinations of solves with the values, ones and the ball's gradient."""

    def __init__(self, state: State, ball: Geometry) -> None:
        self.state, self.ball = state, ball
        q, z, pull, multiplier, slack = state.q, state.z, state.pull, state.multiplier, state.slack
        self.qz = q * z
        self.gap_q = total(self.qz)
        self.gap, self.pairs = self.gap_q + multiplier * slack, q.shape[-1] + 1
        self.inverse = ball.factor(z / (q * multiplier))
        self.by_values, self.by_ones, self.by_pull = self.inverse(state.values, torch.ones_like(q), pull)
        self.a11, self.a12 = total(self.by_ones), total(pull * self.by_ones)
        self.a22 = total(pull * self.by_pull) + slack
        self.determinant = self.a11 * self.a22 - self.a12**2
        self.missing, self.owed = 1 - total(q), multiplier * state.short

    def direction(self, centring: Tensor | None = None, guess: _Direction | None = None) -> _Direction:
        """Changes that centre q z and multiplier * slack."""
        q, pull, multiplier, slack = self.state.q, self.state.pull, self.state.multiplier, self.state.slack
        ratio: Tensor | float = 0.0
        corrected: Tensor | float = 0.0
        target = -self.owed
        if centring is not None:
            ratio, target = centring / self.qz, centring - self.owed
            if guess is not None:
                ratio = ratio - guess.u * guess.v
                target = target + guess.multiplier * guess.linear + multiplier * guess.square / 2
            (corrected,) = self.inverse(ratio * self.state.z)
        x = (corrected - self.by_values) / multiplier
        b1, b2 = total(x) - self.missing, total(pull * x) + target / multiplier
        growth = (self.a11 * b2 - self.a12 * b1) / self.determinant
        dq = x - self.by_ones * ((self.a22 * b1 - self.a12 * b2) / self.determinant) - self.by_pull * growth
        dpull, change = self.ball.times(dq), multiplier * (growth - 1)
        u = dq / q
        v = ratio - 1 - u
        linear, square = total(pull * dq) - self.state.short, total(dq * dpull)
        longest = _longest(u, v, change / multiplier, linear / slack, square / slack)
        return _Direction(u, v, dpull, change, linear, square, longest)

    def gap_after(self, direction: _Direction, size: Tensor) -> Tensor:
        """The gap (b, 1) after a step of this size (b, 1)."""
        after = (1 - size) * self.gap_q + size**2 * total(self.qz * (direction.u * direction.v))
        slack = self.state.slack - size * direction.linear - size**2 * direction.square / 2
        return after + (self.state.multiplier + size * direction.multiplier) * slack


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
