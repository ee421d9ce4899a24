"""Many small quadratic programs at once: the minimiser of a quadratic model within a polytope.

Mehrotra's predictor-corrector method, as in Nocedal and Wright (2006), algorithm 16.4, with a leading batch dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allweather.distances.interior_point import predictor_corrector

MAX_GUESSES, MAX_STEPS = 4, 30
"""Rounds of guessing which rows bind, and interior point steps, at most."""
STEP_SHARE = 0.995
"""Of the longest step that keeps slacks and multipliers positive."""


class _State(NamedTuple):
    step: np.ndarray  # (b, k)
    slack: np.ndarray  # (b, m) > 0
    dual: np.ndarray  # (b, m) > 0


def model_step(
    gradient: np.ndarray,  # (b, k)
    curvature: np.ndarray,  # (b, k, k) positive definite
    normals: np.ndarray,  # (m, k)
    room: np.ndarray,  # (b, m)
) -> np.ndarray:
    """The steps (b, k) that minimise `gradient @ step + step @ curvature @ step / 2` with `normals @ step <= room`.

    Example:
        >>> one = np.ones((1, 1))
        >>> model_step(-2 * one, np.ones((1, 1, 1)), one, 0.5 * one).round(9)
        array([[0.5]])
    """
    curvature = definite(curvature)
    step = -np.linalg.solve(curvature, gradient[..., None])[..., 0]
    step = np.where(np.isfinite(step).all(-1, keepdims=True), step, 0.0)  # a slope that is too steep for its curvature
    hit = (step @ normals.T > room).any(-1)
    if hit.any():
        # Steps of length one and numbers of size one, so that one tolerance fits all problems.
        length = np.abs(step[hit]).max(-1, keepdims=True)
        length = np.where(length > 1e-12, np.minimum(length, 1.0), 1.0)
        slope, bend = gradient[hit], curvature[hit] * length[..., None]
        size = np.abs(bend).max((-2, -1))[:, None] + np.abs(slope).max(-1, keepdims=True)
        # Rows 10,000 steps away are brought nearer, so that they cost the near ones no digits.
        near = np.minimum(room[hit] / length, 1e4)
        step[hit] = length * _constrained(slope / size, bend / size[..., None], normals, near)
    return step


def definite(curvature: np.ndarray) -> np.ndarray:
    """Curvatures (b, k, k) with as little added to the diagonal as keeps them from being singular by rounding.

    Example:
        >>> bool(np.linalg.det(definite(np.ones((1, 2, 2))))[0] > 0)
        True
    """
    curvature = curvature.clip(-1e200, 1e200)
    ridge = 1e-13 * np.trace(curvature, axis1=-2, axis2=-1) + 1e-300
    return np.asarray(curvature + ridge[:, None, None] * np.eye(curvature.shape[-1]))


def _constrained(gradient: np.ndarray, curvature: np.ndarray, normals: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Guess which rows bind, which is right nearly always; what is left takes the interior point method."""
    steps, solved = _guessed(gradient, curvature, normals, room)
    left = np.flatnonzero(~solved)
    if len(left):
        steps[left] = _interior_point(gradient[left], curvature[left], normals, room[left])
    return steps


def _guessed(
    gradient: np.ndarray, curvature: np.ndarray, normals: np.ndarray, room: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Steps (b, k), and which of them (b,) meet all conditions of an optimum.

    The rows that bind are first those that the free step breaks; then rows with a negative multiplier are let go, and
    broken ones are added.
    """
    inverse = np.linalg.inv(curvature)
    free, push = -_times(inverse, gradient), inverse @ normals.T
    over, meet = free @ normals.T - room, normals @ push
    can_bind, alone = np.diagonal(meet, axis1=1, axis2=2) > 1e-12, np.eye(len(normals))
    binding = can_bind & (over > 0)
    step, solved = free.copy(), np.zeros(len(free), dtype=bool)
    for _ in range(MAX_GUESSES):
        both = binding[:, :, None] & binding[:, None, :]
        try:
            dual = np.linalg.solve(np.where(both, meet, alone), np.where(binding, over, 0.0)[..., None])[..., 0]
        except np.linalg.LinAlgError:  # linearly dependent rows
            break
        step = np.where(solved[:, None], step, free - _times(push, dual))
        excess = step @ normals.T - room
        broken = excess > 1e-12
        tight = ~binding | (np.abs(excess) < 1e-9)  # else rows are nearly dependent, and the multipliers are noise
        solved = solved | ((dual >= 0) & ~broken & tight).all(-1)
        if solved.all():
            break
        binding = np.where(binding, dual > 0, can_bind & broken)
    return step, solved


def _interior_point(gradient: np.ndarray, curvature: np.ndarray, normals: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Solve every program of the batch; where there is no solution the answer breaks some row."""
    step = np.zeros_like(gradient)
    slack = np.maximum(room, 0.1)
    state = _State(step, slack, 0.1 / np.maximum(slack, 1.0))
    with np.errstate(all="ignore"):
        for _ in range(MAX_STEPS):
            dual_residual = _times(curvature, state.step) + gradient + state.dual @ normals
            primal_residual = state.step @ normals.T + state.slack - room
            gap = (state.slack * state.dual).mean(-1, keepdims=True)
            done = np.abs(dual_residual).max() < 1e-9 and np.abs(primal_residual).max() < 1e-11 and gap.max() < 1e-12
            if done:
                break
            system = _System(state, (dual_residual, primal_residual), curvature, normals)
            _, (move, _), size = predictor_corrector(system, 0.0, STEP_SHARE)
            step, slack, dual = (a + size * b for a, b in zip(state, move, strict=True))
            # Programs without a solution drift to infinity: stop them short of overflow.
            state = _State(step, np.clip(slack, 1e-18, 1e12), np.clip(dual, 1e-18, 1e12))
    return np.asarray(np.nan_to_num(state.step, nan=0.0, posinf=0.0, neginf=0.0))


class _Direction(NamedTuple):
    move: _State
    longest: np.ndarray  # (b, 1)


class _System:
    """The Newton system of a batch of programs at a state."""

    def __init__(
        self, state: _State, residuals: tuple[np.ndarray, np.ndarray], curvature: np.ndarray, normals: np.ndarray
    ) -> None:
        self.state, self.normals = state, normals
        self.dual_residual, self.primal_residual = residuals
        self.products, self.pairs = state.slack * state.dual, state.slack.shape[-1]
        self.gap = self.products.sum(-1, keepdims=True)
        self.ratio = state.dual / state.slack
        system = curvature + (normals.T * self.ratio[:, None, :]) @ normals
        system += 1e-14 * np.trace(system, axis1=-2, axis2=-1)[:, None, None] * np.eye(system.shape[-1])
        self.inverse = np.linalg.inv(system)

    def direction(self, centring: np.ndarray | None = None, guess: _Direction | None = None) -> _Direction:
        """Changes that centre the products of slacks and multipliers."""
        slack, dual, product = self.state.slack, self.state.dual, self.products
        if centring is not None and guess is not None:
            product = product + guess.move.slack * guess.move.dual - centring
        right = -self.dual_residual + (product / slack - self.ratio * self.primal_residual) @ self.normals
        step = _times(self.inverse, right)
        moved = -self.primal_residual - step @ self.normals.T
        move = _State(step, moved, -(product + dual * moved) / slack)
        limits = [np.where(b < 0, -a / np.minimum(b, -1e-300), np.inf) for a, b in ((slack, moved), (dual, move.dual))]
        return _Direction(move, np.concatenate(limits, -1).min(-1, keepdims=True))

    def gap_after(self, direction: _Direction, size: np.ndarray) -> np.ndarray:
        """The gap (b, 1) after a step of this size (b, 1)."""
        _, slack, dual = (a + size * b for a, b in zip(self.state, direction.move, strict=True))
        return np.asarray((slack * dual).sum(-1, keepdims=True))


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Matrices (b, k, k) times vectors (b, k)."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])
