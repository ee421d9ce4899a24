"""Projected BFGS from many starts at once, where every step evaluates one batch of those not yet converged.

Each start has its own curvature, and steps to where its quadratic model is best within the polytope, so that bounds
and linear constraints that begin or cease to bind are found in one step. A step that fails is shortened, after
learning from it how the slope turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allweather.acquisition.optimize.polytope import INSIDE_MARGIN, Polytope
from allweather.acquisition.optimize.quadratic_program import definite, model_step

Slopes = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Maps points (b, k), and which start each comes from (b,), to values (b,) and gradients (b, k)."""

ARRIVED_SHARE = 1e-10
"""A start has arrived when its model promises less than this share of the spread of all scores."""

STUCK_SHARE = 1e-7
"""A start is stuck, most likely at a kink, when its last evaluations gained less than this share."""

MAX_SLOPE = 1e120
"""Starts with steeper slopes, in spreads of the scores, do not climb."""


class Climbed(NamedTuple):
    """How far each start came, and what it learned on the way."""

    points: np.ndarray  # (b, k)
    values: np.ndarray  # (b,)
    curvature: np.ndarray  # (b, r, r) along the basis, in the units of the scores


@dataclass
class _Climbers:
    """The starts that still move; all in units where scores have spread one and less is better."""

    name: np.ndarray  # (b,) index among all starts
    points: np.ndarray  # (b, k)
    values: np.ndarray  # (b,)
    gradients: np.ndarray  # (b, r) along the basis
    curvature: np.ndarray  # (b, r, r)
    steps: np.ndarray  # (b, r)
    length: np.ndarray  # (b,) part of the step to try
    reach: np.ndarray  # (b,) how far to go at most, after a step that failed
    recent: np.ndarray  # (b,) what the last few evaluations gained
    fresh: np.ndarray  # (b,) whether the curvature is still a guess
    other: np.ndarray  # (b, r) the gradient seen on the other side of a kink
    below: np.ndarray  # (b,) how far that side's tangent lies below the value here; infinite where there is none

    def among(self, alive: np.ndarray) -> _Climbers:
        return _Climbers(*(part[alive] for part in vars(self).values()))

    @property
    def promise(self) -> np.ndarray:
        """What the models promise to gain (b,)."""
        return np.asarray(-(self.gradients * self.steps).sum(-1))


def climb(
    slopes: Slopes,
    points: np.ndarray,
    polytope: Polytope,
    scale: float,
    steps: int,
    curvature: np.ndarray | None = None,
) -> Climbed:
    """The best points found from each of the starting `points`, and their values.

    Args:
        slopes: values and gradients, larger is better; neither need be finite.
        points: (b, k) starts inside the polytope.
        polytope: where they may go.
        scale: the spread of the scores, which says how much of a difference matters.
        steps: how often `slopes` may be called.
        curvature: (b, r, r) what an earlier climb learned about a function much like this one.

    Example:
        >>> free = Polytope(np.zeros((0, 1)), np.zeros((2, 0)), np.eye(1))
        >>> hill = lambda x, start: (-((x - 0.3) ** 2).sum(-1), -2 * (x - 0.3))
        >>> climb(hill, np.array([[0.1], [0.9]]), free, 1.0, 20).points.round(6)
        array([[0.3],
               [0.3]])
    """
    found = slopes(points, np.arange(len(points)))
    values, gradients = _downhill(found, polytope, scale)
    best_points, best_values = points.copy(), np.where(np.isnan(found[0]), -np.inf, found[0])
    climbers = _begin(points, values, gradients, curvature)
    bends = climbers.curvature.copy()
    climbers = climbers.among(np.isfinite(values) & np.isfinite(gradients).all(-1))
    _aim(climbers, polytope.among(climbers.name))
    for _ in range(steps - 1):
        climbers = climbers.among(_moving(climbers, -best_values.max() / scale))
        if not len(climbers.name):
            break
        trial = _trial(climbers, polytope)
        found = slopes(trial, climbers.name)
        values, gradients = _downhill(found, polytope, scale)
        moved = (trial - climbers.points) @ polytope.basis
        good = _settle(climbers, moved, values, gradients)
        climbers.points = np.where(good[:, None], trial, climbers.points)
        bends[climbers.name], names = climbers.curvature, climbers.name[good]
        best_points[names], best_values[names] = trial[good], found[0][good]
        climbers = climbers.among(~good | np.isfinite(climbers.gradients).all(-1))
        _aim(climbers, polytope.among(climbers.name))
    return Climbed(best_points, best_values, bends)


@np.errstate(all="ignore")
def _downhill(found: tuple[np.ndarray, np.ndarray], polytope: Polytope, scale: float) -> tuple[np.ndarray, np.ndarray]:
    values, gradients = found
    # Slopes whose squares are infinite are treated as NaN: they would warn in products.
    slopes = np.where(np.abs(gradients / scale) < MAX_SLOPE, gradients / scale, np.nan)
    return np.where(np.isnan(values), np.inf, -values / scale), -slopes @ polytope.basis


def _begin(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, curvature: np.ndarray | None) -> _Climbers:
    b, r = gradients.shape
    known = curvature is not None
    if curvature is None:
        # A first step of a few percent of the cube: less than the way to the next of the screened points.
        guess = np.maximum(np.linalg.norm(gradients, axis=-1) / 0.1, 1e-12)
        curvature = guess[:, None, None] * np.eye(r)
    return _Climbers(
        np.arange(b),
        points,
        values,
        gradients,
        curvature,
        np.zeros((b, r)),
        np.ones(b),
        np.full(b, np.inf),
        np.ones(b),
        np.full(b, not known),
        np.zeros((b, r)),
        np.full(b, np.inf),
    )


def _aim(climbers: _Climbers, polytope: Polytope) -> None:
    """New steps, no longer than each climber's reach."""
    if len(climbers.name):
        sides, room = polytope.rows(climbers.points)
        climbers.steps = model_step(_mixed(climbers), climbers.curvature, sides, room)
        length = np.linalg.norm(climbers.steps, axis=-1)
        climbers.length = np.where(length > climbers.reach, climbers.reach / np.maximum(length, 1e-300), 1.0)


@np.errstate(all="ignore")
def _mixed(climbers: _Climbers) -> np.ndarray:
    """Gradients (b, r) of the lower tangents' best mixture: at a kink the way down is between its two sides."""
    turn = climbers.other - climbers.gradients
    curvature = climbers.curvature + 1e-300 * np.eye(turn.shape[-1])
    try:
        weighed = np.linalg.solve(curvature, turn[..., None])[..., 0]
    except np.linalg.LinAlgError:  # rounding has made one of them singular, as where slopes differ by sixty orders
        weighed = np.linalg.solve(definite(curvature), turn[..., None])[..., 0]
    share = (-climbers.below - (weighed * climbers.gradients).sum(-1)) / (weighed * turn).sum(-1)
    share = np.where(np.isfinite(climbers.below) & np.isfinite(share), np.clip(share, 0.0, 1.0), 0.0)
    return np.asarray(climbers.gradients + share[:, None] * turn)


def _moving(climbers: _Climbers, lowest: float) -> np.ndarray:
    """Who goes on: not those that have arrived, nor those that follow or stay behind another start."""
    promise = climbers.promise
    stride = climbers.length * np.abs(climbers.steps).max(-1, initial=0.0)
    moving = (promise > ARRIVED_SHARE) & (stride > 1e-9) & (climbers.recent > STUCK_SHARE)
    hope = np.minimum(promise, climbers.recent)
    near = np.abs(climbers.points[:, None] - climbers.points[None]).max(-1, initial=0.0) < 1e-4
    ahead = (climbers.values[None] < climbers.values[:, None]) | (
        (climbers.values[None] == climbers.values[:, None]) & (climbers.name[None] < climbers.name[:, None])
    )
    beaten = climbers.values - 10 * hope - 1e-3 > lowest
    return np.asarray(moving & ~(near & ahead).any(-1) & ~(beaten & (hope < 1e-3)))


def _trial(climbers: _Climbers, polytope: Polytope) -> np.ndarray:
    """The points to evaluate next (b, k)."""
    moves = climbers.length[:, None] * climbers.steps @ polytope.basis.T
    normals, limits = polytope.normals, polytope.limits[climbers.name]
    rates = moves @ normals.T
    slack = np.maximum(limits - climbers.points @ normals.T, 0.0) + 1e-13
    share = np.where(rates > slack, slack / np.maximum(rates, 1e-300), 1.0).min(-1, initial=1.0)
    trial = np.clip(climbers.points + share[:, None] * moves, 0.0, 1.0)
    # A bound that was meant is met exactly, as far as the constraints' margin allows.
    edge = INSIDE_MARGIN / 10 if len(normals) else 1e-9
    return np.where(trial < edge, 0.0, np.where(trial > 1 - edge, 1.0, trial))


@np.errstate(all="ignore")  # what overflows is not finite, and stops
def _settle(climbers: _Climbers, moved: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Which trials gain enough (b,) to be accepted; the others shorten their step, and all learn."""
    fall = -(climbers.gradients * moved).sum(-1)
    rounding = 1e-14 * np.abs(climbers.values)
    good = values <= climbers.values - 1e-4 * fall + rounding
    finite = np.isfinite(gradients).all(-1)
    change = np.where(finite[:, None], gradients - climbers.gradients, 0.0)
    # A step too far shows how the slope turns, which at a kink is all there is to learn.
    learn = finite & (good | ((moved * change).sum(-1) > 0))
    _learn(climbers, learn, moved, change)
    _remember(climbers, good, moved, values, gradients)
    parabola = 0.5 * fall / (values - climbers.values + fall)
    parabola = np.where(np.isfinite(parabola), np.clip(parabola, 0.1, 0.5), 0.1)
    climbers.reach = np.where(good, np.inf, parabola * np.linalg.norm(moved, axis=-1))
    climbers.recent = np.maximum(0.6 * climbers.recent, np.where(good, climbers.values - values, 0.0))
    climbers.values = np.where(good, values, climbers.values)
    climbers.gradients = np.where(good[:, None], gradients, climbers.gradients)
    return np.asarray(good)


@np.errstate(all="ignore")
def _remember(
    climbers: _Climbers, good: np.ndarray, moved: np.ndarray, values: np.ndarray, gradients: np.ndarray
) -> None:
    """Keep the tangent, of the trial or of the point that is left, that comes nearest to the value here."""
    # After a failure: the trial's tangent at the point that stays; after a success: the old tangents at the new point.
    failed = climbers.values - values + (gradients * moved).sum(-1)
    left = values - climbers.values - (climbers.gradients * moved).sum(-1)
    kept = values - climbers.values + climbers.below - (climbers.other * moved).sum(-1)
    fresh_below = np.where(good, left, failed)
    fresh_other = np.where(good[:, None], climbers.gradients, gradients)
    kept_below = np.where(good, kept, np.inf)
    fresh_below = np.where(fresh_below >= 0, fresh_below, np.inf)
    kept_below = np.where(kept_below >= 0, kept_below, np.inf)
    use = fresh_below <= kept_below
    climbers.other = np.where(use[:, None], fresh_other, climbers.other)
    climbers.below = np.where(use, fresh_below, kept_below)


@np.errstate(all="ignore")
def _learn(climbers: _Climbers, learn: np.ndarray, moved: np.ndarray, change: np.ndarray) -> None:
    """BFGS, damped where the function is not convex: Nocedal and Wright (2006), procedure 18.2 and equation 6.20."""
    along = (moved * change).sum(-1)
    guess = (change**2).sum(-1) / along
    first = learn & climbers.fresh & (along > 0) & np.isfinite(guess) & (guess > 0)
    eye = np.eye(moved.shape[-1])
    climbers.curvature = np.where(first[:, None, None], guess[:, None, None] * eye, climbers.curvature)
    climbers.fresh = climbers.fresh & ~first
    expected = (climbers.curvature @ moved[..., None])[..., 0]
    energy = (moved * expected).sum(-1)
    usable = learn & (energy > 1e-300)
    energy = np.where(usable, energy, 1.0)
    low = usable & (along < 0.2 * energy)
    share = np.where(low, 0.8 * energy / np.where(low, energy - along, 1.0), 1.0)[:, None]
    damped = share * change + (1 - share) * expected
    weight = (moved * damped).sum(-1)
    weight = np.where(usable, weight, 1.0)[:, None, None]
    outer = damped[:, :, None] * damped[:, None] / weight
    outer -= expected[:, :, None] * expected[:, None] / energy[:, None, None]
    climbers.curvature = climbers.curvature + np.where(usable[:, None, None], outer, 0.0)
