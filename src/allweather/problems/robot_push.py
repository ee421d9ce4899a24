"""A robot hand pushes a disc towards a goal, for an uncertain time (phi Sec. 5.3).

The scene is that of Wang and Jegelka (2017), without their noise: a disc of radius 1 rests in the middle of a table
with friction, a rectangular hand starts at the position of the decision and drives through the disc's centre. pymunk
replaces their Box2D, so values differ in detail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from allweather._utils.installation import install_command
from allweather.contexts import Reference
from allweather.errors import AllweatherError, is_number, require
from allweather.problems.base import Problem, registered
from allweather.problems.laws import Independent, Uniform
from allweather.space import Space
from allweather.space.variables import Context, Real

STEP = 0.01
"""Seconds of a simulation step."""
STEPS_PER_UNIT = 10
"""A pushing duration of 1 is a tenth of a second."""
MIN_DURATION, MAX_DURATION = 1, 30
"""Pushing durations."""
SHORT = 6
"""The largest duration of the short problem."""
SPEED = 5.0
"""Target speed of the hand."""
DRIVE = 30.0
"""Force on the hand, per unit of mass and of missing speed."""
COAST = 100
"""Steps after the push, until everything is at rest."""


@dataclass(frozen=True)
class Push:
    """5 minus the distance between where the disc comes to rest and the goal; not differentiable."""

    goal: tuple[float, float]
    longest: float = MAX_DURATION
    """The largest duration."""

    def __call__(self, decisions: Tensor, contexts: Tensor) -> Tensor:
        """Return values (b, n) of hand positions (b, 2) and durations (n, 1) of the unit cube."""
        durations = MIN_DURATION + (self.longest - MIN_DURATION) * contexts.detach()[:, 0]
        # Rounded up a little, so that a duration of 1.1 is 11 steps although 11 / 10 rounds down.
        steps, places = torch.floor(STEPS_PER_UNIT * durations + 1e-9).to(torch.int64).unique(return_inverse=True)
        goal = torch.tensor(self.goal, dtype=torch.float64)
        rows = []
        for x, y in (10 * decisions.detach() - 5).tolist():
            rests = torch.tensor([rest(x, y, count) for count in steps.tolist()], dtype=torch.float64)
            rows.append(5 - torch.linalg.vector_norm(rests.reshape(-1, 2) - goal, dim=-1)[places])
        return torch.stack(rows) if rows else decisions.new_zeros(0, len(contexts))


@lru_cache(maxsize=2**16)
def rest(x: float, y: float, steps: int) -> tuple[float, float]:
    """Return where the disc comes to rest.

    Args:
        x: start of the hand.
        y: start of the hand.
        steps: simulation steps of the push.
    """
    engine = _engine()
    world = engine.Space()
    disc = _body(engine, world, engine.Circle, (1.0,), density=0.05, friction=0.01, grip=5.0)
    corners = [(-0.3, -1.0), (0.3, -1.0), (0.3, 1.0), (-0.3, 1.0)]
    hand = _body(engine, world, engine.Poly, (corners,), density=0.1, friction=0.1, grip=2.0)
    distance = math.hypot(x, y)
    hand.position, hand.angle = (x, y), math.atan2(y, x)
    aim = (-SPEED * x / distance, -SPEED * y / distance) if distance else (0.0, 0.0)
    for step in range(steps + COAST):
        if step < steps:
            strength = DRIVE * hand.mass
            lacking = (aim[0] - hand.velocity[0], aim[1] - hand.velocity[1])
            hand.apply_force_at_world_point((strength * lacking[0], strength * lacking[1]), hand.position)
            hand.torque = -strength * hand.angular_velocity
        elif disc.velocity.length + hand.velocity.length < 1e-9:
            break
        world.step(STEP)
    return float(disc.position[0]), float(disc.position[1])


def _body(
    engine: ModuleType, world: Any, shape: Any, form: tuple[Any, ...], density: float, friction: float, grip: float
) -> Any:
    """Return a body on a table with friction: a force of at most `grip`, a torque of at most 2."""
    body = engine.Body()
    outline = shape(body, *form)
    outline.density, outline.friction = density, friction
    slide = engine.PivotJoint(world.static_body, body, (0.0, 0.0), (0.0, 0.0))
    turn = engine.GearJoint(world.static_body, body, 0.0, 1.0)
    # A joint that corrects speeds but not positions, up to a maximal force, models dry friction from above.
    slide.max_bias = turn.max_bias = 0.0
    slide.max_force, turn.max_force = grip, 2.0
    world.add(body, outline, slide, turn)
    return body


def _engine() -> ModuleType:
    try:
        import pymunk
    except ImportError:
        raise AllweatherError(f"`problem('robot-push')` needs pymunk: `{install_command('robot')}`") from None
    return pymunk


def _ridge(goal: tuple[float, float]) -> tuple[Tensor, Tensor]:
    """Return the decisions, from the middle to the border of the table, from which the hand pushes towards the goal.

    The scene is symmetric about the disc's centre, and the disc moves along the line of the push. Of two hands at the
    same distance from the centre, the one opposite to the goal is therefore the better, for every duration.
    """
    largest = max(abs(goal[0]), abs(goal[1]))
    middle = torch.full((2,), 0.5, dtype=torch.float64)
    if largest == 0:
        return middle, torch.tensor([1.0, 0.5], dtype=torch.float64)
    return middle, 0.5 - 0.5 * torch.tensor(goal, dtype=torch.float64) / largest


@registered("robot-push")
def robot_push(goal: Sequence[float] = (3.0, 4.0)) -> Problem:
    """The decision is the start of the hand in [-5, 5]^2, the context the pushing duration, uniform in [1, 30]."""
    # Durations are rounded to steps: the midpoints of all steps represent the true law exactly.
    return _pushing("robot-push", goal, MAX_DURATION, (MAX_DURATION - MIN_DURATION) * STEPS_PER_UNIT)


@registered("robot-push-short")
def robot_push_short(goal: Sequence[float] = (0.9, 1.2)) -> Problem:
    """As `robot-push` with a near goal and 25 durations in [1, 6]: a run takes a millisecond."""
    return _pushing("robot-push-short", goal, SHORT, 25)


def _pushing(name: str, goal: Sequence[float], longest: int, count: int) -> Problem:
    numbers = len(goal) == 2 and all(is_number(each) and abs(each) <= 5 for each in goal)
    require(numbers, f"problem({name!r}, goal=...)", "be two numbers in [-5, 5]", goal)
    _engine()
    law = Independent((Uniform(),))
    middles = torch.from_numpy((np.arange(count) + 0.5) / count)[:, None]
    return Problem(
        name=name,
        space=Space(rx=Real(-5, 5), ry=Real(-5, 5), duration=Context(MIN_DURATION, longest)),
        function=Push((float(goal[0]), float(goal[1])), longest),
        sample=law.sample,
        quantile=law.quantile,
        ridge=_ridge((float(goal[0]), float(goal[1]))),
        support=Reference(middles, torch.full((count,), 1 / count, dtype=torch.float64)),
        source="phi Sec. 5.3; scene of Wang and Jegelka (2017) on pymunk; errata E57 (the goal is ours)",
    )
