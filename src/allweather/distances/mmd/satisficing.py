"""The largest loss per unit of a kernel's distance, for many decisions at once, as one quadratic program each.

The loss is `max (target - q'f) / |q - p|` over distributions q. With `w = s q` for any s > 0 the fraction does not
change, so it is `max g'w / sqrt(w' A w)` over `w >= 0`, where `g = target - f` and `A` is the kernel matrix after p was
subtracted: `w' A w = |w - p sum(w)|^2`. Where the mean reaches the target, `max g'w - w' A w / 2` is attained, at the
square of the loss by two. All decisions move together through its primal-dual interior point method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from allweather.distances.interior_point import predictor_corrector
from allweather.distances.mmd.ball import KernelBall, total

Solve = Callable[[Tensor], Tensor]
GAP_TOLERANCE = 1e-11
"""Of the duality gap, relative to the squared loss: the relative error of the loss is half of it."""
MAX_STEPS, MAX_IDLE = 60, 3
"""Steps at most, and how many may pass without progress: rounding limits it."""
LEAST_CENTRING, STEP_SHARE = 1e-4, 0.99
"""Of the predictor and corrector."""


def largest_loss(
    ball: KernelBall,
    gains: Tensor,  # (b, n) target minus values: some entry positive, and the mean negative
    p: Tensor,  # (n,) or (b, n)
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss per unit of distance (b,), its derivative in the gains (b, n), and which rows (b,) were solved.

    Rows are given up where rounding keeps the duality gap open.
    """
    scale = gains.abs().amax(-1, keepdim=True)
    program = _Program(ball, gains / scale, p)
    best, gap = _descended(program)
    length = program.squared_length(best).clamp_min(1e-300).sqrt()
    loss = total(program.gains * best) / length
    return (scale * loss).squeeze(-1), best / length, (gap < 1e3 * GAP_TOLERANCE).squeeze(-1)


def _descended(program: _Program) -> tuple[Tensor, Tensor]:
    """The best w (b, n) of each program, and its gap (b, 1); programs that are solved leave the batch."""
    state, rows = program.start(), torch.arange(len(program.gains), device=program.gains.device)
    best, gap, idle = state.w.clone(), torch.full_like(state.w[:, :1], torch.inf), 0
    for _ in range(MAX_STEPS if len(rows) else 0):
        state = program.stepped(state)
        fresh = program.gap(state)
        better = torch.isfinite(fresh) & (fresh < gap[rows])
        best[rows], gap[rows] = torch.where(better, state.w, best[rows]), torch.where(better, fresh, gap[rows])
        going = gap[rows, 0] > GAP_TOLERANCE
        idle = 0 if bool((better[:, 0] & going).any()) else idle + 1
        left = going.nonzero().squeeze(-1)
        if not len(left) or idle > MAX_IDLE:
            break
        if 4 * len(left) < 3 * len(rows):
            rows, program, state = rows[left], program.only(left), _State(state.w[left], state.z[left])
    return best, gap


@dataclass(frozen=True)
class _State:
    w: Tensor  # (b, n) positive
    z: Tensor  # (b, n) multipliers of w >= 0, positive


class _Program:
    """Minimise `w' A w / 2 - g'w` over `w >= 0`, with `A = K - 1u' - u1'`."""

    def __init__(self, ball: KernelBall, gains: Tensor, p: Tensor) -> None:
        self.ball, self.gains, self.p = ball, gains, p
        mean = ball.product(p)
        self.shift = (mean - total(p * mean) / 2).expand_as(gains)  # u
        self.ones = torch.ones_like(gains)

    def only(self, rows: Tensor) -> _Program:
        """The programs of some rows."""
        return _Program(self.ball, self.gains[rows], self.p if self.p.ndim == 1 else self.p[rows])

    def times(self, w: Tensor) -> Tensor:
        """`A w` (b, n)."""
        pulled = self.ball.times(w - self.p * total(w))
        return pulled - total(self.p * pulled)

    def squared_length(self, w: Tensor) -> Tensor:
        """`w' A w` (b, 1)."""
        apart = w - self.p * total(w)
        return total(apart * self.ball.times(apart))

    def start(self) -> _State:
        """All of p and a little everywhere, as much as the point of the largest gain would take."""
        most, where = self.gains.max(-1, keepdim=True)
        apart = self.ball.to_points(self.p).expand_as(self.gains).gather(-1, where).square().clamp_min(1e-12)
        w = most / apart * (self.p + 1 / self.p.shape[-1])
        z = self.times(w) - self.gains
        return _State(w, z - z.amin(-1, keepdim=True).clamp_max(0) + 0.1)

    def gap(self, state: _State) -> Tensor:
        """The duality gap (b, 1) relative to the squared loss, and how far the multipliers are from theirs."""
        w, z = state.w, state.z
        reached = total(self.gains * w).clamp_min(1e-300)
        missing = (self.times(w) - self.gains - z).abs().amax(-1, keepdim=True)
        return total(w * z) / reached + missing

    def stepped(self, state: _State) -> _State:
        """The state after Mehrotra's predictor and corrector."""
        _, move, size = predictor_corrector(_System(self, state), LEAST_CENTRING, STEP_SHARE)
        return _State(state.w * (1 + size * move.u), state.z * (1 + size * move.v))

    def factor(self, diagonal: Tensor) -> Solve:
        """A solver of `(A + diag) x = b`: that of the kernel matrix, corrected for two columns (Woodbury)."""
        inverse = self.ball.factor(diagonal)
        by_ones, by_shift = inverse(self.ones, self.shift)
        a11, a12, a22 = total(by_ones), total(by_shift) - 1, total(self.shift * by_shift)
        determinant = a11 * a22 - a12**2

        def solve(side: Tensor) -> Tensor:
            (x,) = inverse(side)
            b1, b2 = total(x), total(self.shift * x)
            return (
                x - by_ones * ((a22 * b1 - a12 * b2) / determinant) - by_shift * ((a11 * b2 - a12 * b1) / determinant)
            )

        return solve


class _Direction(NamedTuple):
    """Relative changes of w and z."""

    u: Tensor  # (b, n)
    v: Tensor  # (b, n)
    longest: Tensor  # (b, 1)


class _System:
    """The Newton system of a program at a state."""

    def __init__(self, program: _Program, state: _State) -> None:
        self.w, self.z = state.w, state.z
        self.gap, self.pairs = total(state.w * state.z) / state.w.shape[-1], 1  # their mean
        self.solve = program.factor(state.z / state.w)
        self.residual = program.gains - program.times(state.w)

    def direction(self, centring: Tensor | None = None, guess: _Direction | None = None) -> _Direction:
        """Relative changes of w and z that centre w z."""
        centre = torch.zeros_like(self.w)
        if centring is not None and guess is not None:
            centre = centring - self.w * guess.u * self.z * guess.v
        change = self.solve(self.residual + centre / self.w)
        u, v = change / self.w, (centre / self.w - self.z - self.z / self.w * change) / self.z
        longest = 1 / torch.maximum(-u.amin(-1, keepdim=True), -v.amin(-1, keepdim=True)).clamp_min(1.0)
        return _Direction(u, v, longest)

    def gap_after(self, direction: _Direction, size: Tensor) -> Tensor:
        """The mean product (b, 1) after a step of this size (b, 1)."""
        after = total(self.w * (1 + size * direction.u) * self.z * (1 + size * direction.v))
        return after / self.w.shape[-1]
