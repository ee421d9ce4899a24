"""A primal-dual interior point method for many linear functions over one kernel ball.

All decisions move together. On the way each decision's support is guessed; on the right support the answer has a closed
form, and a decision leaves the batch once its duality gap proves the guess right.
"""

from __future__ import annotations

import torch
from torch import Tensor

from allweather.distances.interior_state import State
from allweather.distances.mmd_ball import KernelBall
from allweather.distances.mmd_few import TOLERANCE, FewContexts, worth_few
from allweather.errors import AllweatherError

ITERATIONS = 100


def minimise(
    ball: KernelBall,
    values: Tensor,  # (b, n), between 0 and 1 in each row
    p: Tensor,  # (b, n)
    radius: Tensor,  # (b, 1)
) -> tuple[Tensor, Tensor]:
    """The worst q (b, n), and the multiplier (b, 1) of half the squared norm."""
    if not worth_few(values):
        return _on_all(ball, values, p, radius)
    few = FewContexts(ball, values, p, radius)
    few.solve()
    rows = (~few.solved).nonzero().squeeze(-1)
    if len(rows):
        few.q[rows], few.multiplier[rows] = _on_all(ball, values[rows], p[rows], radius[rows])
    return few.q, few.multiplier


def _on_all(ball: KernelBall, values: Tensor, p: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """The same with all contexts from the start to the end."""
    q, multiplier = torch.empty_like(values), torch.empty_like(radius)
    rows, all_p = torch.arange(len(values), device=values.device), p
    state = State.start(ball, values, p, radius)
    for _ in range(ITERATIONS):
        step = state.newton(ball)
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
            q[row], multiplier[row] = _on_all(ball, values[row], all_p[row], radius[row])
        return q, multiplier
    # As accurate as rounding allows; the duality gap tells whether that is enough.
    nearest = state.q / state.q.sum(-1, keepdim=True)
    if bool((ball.duality_gap(nearest, state.multiplier, values, p, radius) > 1e-4).any()):
        raise AllweatherError("MMD: the interior point method left a decision unsolved")
    return nearest, state.multiplier
