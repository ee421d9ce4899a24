"""Worst distributions from few contexts of each decision, for large batches.

Worst distributions rest on few contexts. The first steps of the interior point method, in single precision, tell which
they may be; the rest is a small program for each decision. A duality gap over all contexts, in double precision, proves
an answer; decisions without a proof are left to the method on all contexts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from allweather.distances.mmd.ball import GAP_TOLERANCE, KernelBall, Solver, cholesky, total
from allweather.distances.mmd.interior import State

FEW_CONTEXTS, MAX_CONTEXTS, MIN_DECISIONS = 24, 512, 768
"""Contexts that a decision goes on with, how many there are at most, and for how many decisions it pays."""
READY_GAP = 0.25
"""Decisions go on with few contexts once their gaps are below this, divided by the number of contexts."""
MAX_STEPS_ON_ALL, MAX_STEPS_ON_FEW = 30, 15
"""At most."""


def worth_few(values: Tensor) -> bool:
    """Whether the programs of `values` (b, n) are enough to pay for a search of their contexts."""
    return len(values) >= MIN_DECISIONS and MAX_CONTEXTS >= values.shape[-1] > 4 * FEW_CONTEXTS


class FewContexts:
    """Some programs, and the answers to those that few contexts are enough for."""

    def __init__(self, ball: KernelBall, values: Tensor, p: Tensor, radius: Tensor) -> None:
        self.ball, self.values, self.p, self.radius = ball, values, p, radius
        self.q, self.multiplier = torch.empty_like(values), torch.empty_like(radius)
        self.solved = torch.zeros(len(values), dtype=torch.bool, device=values.device)

    def solve(self) -> None:
        """Take the first steps, and go on with few contexts."""
        rough, rows = self.ball.rough, torch.arange(len(self.values), device=self.values.device)
        state = State.start(rough, *(each.float() for each in (self.values, self.p, self.radius)))
        for _ in range(MAX_STEPS_ON_ALL):
            step = state.newton(rough)
            state = state.moved(step)
            going, ready = torch.isfinite(state.q).all(-1), step.gap[:, 0] < READY_GAP / self.p.shape[-1]
            if 2 * int(ready.sum()) > len(rows):
                few = (ready & going).nonzero().squeeze(-1)
                self._on_few(rows[few], state.only(few))
                going &= ~ready
            left = going.nonzero().squeeze(-1)
            rows, state = rows[left], state.only(left)
            if not len(rows):
                break

    def _on_few(self, rows: Tensor, state: State) -> None:
        """Solve some rows from the state that the first steps led to."""
        part = Part.likely(self.ball, state.q / state.z)
        state = part.start(state.double(), self.values[rows], self.p[rows], self.radius[rows])
        for _ in range(MAX_STEPS_ON_FEW):
            step = state.newton(part)
            state = state.moved(step)
            going = (step.gap[:, 0] > 1e-8) & torch.isfinite(state.q).all(-1)
            trial = step.promising(self.ball)
            if len(trial):
                exact = self._settled(rows[trial], part.on_all(step.support, trial))
                going[trial[exact]] = False
            left = going.nonzero().squeeze(-1)
            if not len(left):
                break
            if len(left) < len(rows):
                rows, state, part = rows[left], state.only(left), part.only(left)

    def _settled(self, rows: Tensor, support: Tensor) -> Tensor:
        """Which of some rows their supports (k, n) solve; the answers are noted."""
        problem = self.values[rows], self.p[rows], self.radius[rows]
        answer = self.ball.face(support, *problem).worst(problem[1])
        exact = (self.ball.duality_gap(*answer, *problem) < GAP_TOLERANCE).squeeze(-1)
        self.q[rows[exact]], self.multiplier[rows[exact]] = answer[0][exact], answer[1][exact]
        self.solved[rows[exact]] = True
        return exact


@dataclass(frozen=True)
class Part:
    """Few contexts for each of b decisions."""

    ball: KernelBall
    index: Tensor  # (b, m)
    gram: Tensor  # (b, m, m) the regularised kernel matrix between them

    @classmethod
    def likely(cls, ball: KernelBall, share: Tensor) -> Part:
        """Those with the largest share (b, n)."""
        index = share.topk(FEW_CONTEXTS, sorted=False).indices
        return cls(ball, index, ball.between(index))

    def start(self, state: State, values: Tensor, p: Tensor, radius: Tensor) -> State:
        """The state on these contexts: nothing is anywhere else, which the next steps make up for."""
        q = torch.zeros_like(values).scatter_(-1, self.index, state.q.gather(-1, self.index))
        offset = q - p
        pull = self.ball.times(offset)
        short = (radius**2 - total(offset * pull)) / 2 - state.slack
        values, q, z, pull = (each.gather(-1, self.index) for each in (values, q, state.z, pull))
        return State(values, radius, q, z, pull, state.multiplier, state.slack, short)

    def only(self, rows: Tensor) -> Part:
        """Those of some decisions."""
        return replace(self, index=self.index[rows], gram=self.gram[rows])

    def on_all(self, chosen: Tensor, rows: Tensor) -> Tensor:
        """What is chosen (b, m) of the contexts of some rows, as a choice (k, n) among all."""
        empty = chosen.new_zeros(len(rows), self.ball.size)
        return empty.scatter_(-1, self.index[rows], chosen[rows])

    def times(self, x: Tensor) -> Tensor:
        """The products (b, m) of `x` (b, m) and the kernel matrices."""
        return torch.bmm(self.gram, x[..., None])[..., 0]

    def factor(self, diagonal: Tensor) -> Solver:
        """A solver of `(K + diag) x = b` for a batch of diagonals (b, m)."""
        matrix = self.gram.clone()
        matrix.diagonal(dim1=1, dim2=2).add_(diagonal)
        root = cholesky(matrix)
        return lambda *b: list(torch.cholesky_solve(torch.stack(b, -1), root).unbind(-1))
