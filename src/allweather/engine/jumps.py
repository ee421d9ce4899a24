"""Where outcomes seem to jump: a step explains them far better than a smooth function alone.

A Gaussian process takes a jump for a short lengthscale or for noise, and its intervals then hold the truth too rarely.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from allweather._utils.formatting import brief
from allweather.space import Integer, Real, Space
from allweather.space.variables import Context, Value, Variable
from allweather.surrogates import Posterior
from allweather.surrogates.posteriors.leave_one_out import product_of
from allweather.surrogates.posteriors.product import ProductPosterior

# The constants below were chosen on functions with and without jumps at 20, 40 and 60 trials, seeds below 100.
MIN_EXAMINED_OUTCOMES = 20
"""Below this many outcomes, a jump cannot be told from a slope."""
MAX_EXAMINED_OUTCOMES = 100
"""Above this many outcomes, examine a random subset of this size."""
MIN_SIDE = 3
"""Outcomes on each side of a step, at least."""
MIN_GAIN = 7.0
"""Least log likelihood that a step gains."""
MIN_GAIN_WITHOUT = 4.0
"""The same without the outcomes that a smooth function predicts worst: a few wrong outcomes are no jump."""
LEFT_OUT_SHARE = 0.1
"""Their share."""
MIN_STEP = 0.7
"""Least size of a step, in standard deviations of the outcomes: kinks look like small steps."""
STRETCHES = (1.0, 1.6, 2.5, 4.0)
"""Of the lengthscales: without the jump, a function may be smoother than the fit says."""
NOISES = (1.0, 0.1, 0.01)
"""Of the noise, likewise."""
MAX_OBLIQUE_COLUMNS = 4
"""Up to this many columns, steps may depend on two variables; above, on one."""
ANGLES = (30, 60, 120, 150)
"""Of such steps to the first of the two, in degrees."""


@dataclass(frozen=True)
class Jump:
    """Two places between which outcomes seem to jump.

    Example:
        >>> print(Jump({"load": 0.41}, {"load": 0.47}))
        outcomes seem to jump between load = 0.41 and 0.47: intervals may be too narrow
    """

    low: Mapping[str, Value]
    high: Mapping[str, Value]

    def __str__(self) -> str:
        first = ", ".join(f"{name} = {_digits(value)}" for name, value in self.low.items())
        second = ", ".join(f"{name} = {_digits(value)}" for name, value in self.high.items())
        if len(self.high) == 1:
            second = _digits(next(iter(self.high.values())))
        return f"outcomes seem to jump between {first} and {second}: intervals may be too narrow"


def find_jump(space: Space, posterior: Posterior) -> Jump | None:
    """Return where outcomes seem to jump; None where they do not, or are too few to tell.

    Args:
        space: the variables, in the order of the surrogate's columns.
        posterior: of the outcomes.
    """
    model = product_of(posterior)
    if model is None or len(model.targets) < MIN_EXAMINED_OUTCOMES:
        return None
    variables = _numeric(space, model.data.points.shape[1])
    examined = _Examined.of(model)
    step = _likeliest(examined, sorted(variables))
    return None if step is None else _between(examined.points, step, variables)


class _Examined(NamedTuple):
    """The outcomes that are examined."""

    model: ProductPosterior
    points: np.ndarray
    """(t, d)"""
    targets: np.ndarray
    """(t,) standardised."""
    noise: np.ndarray
    """(t,) variances."""

    @classmethod
    def of(cls, model: ProductPosterior) -> _Examined:
        points, targets = model.data.points.cpu().numpy(), model.targets.cpu().numpy()
        known, t = model.data.variances, len(targets)
        noise = np.full(t, model.fitted.noise) if known is None else known.cpu().numpy()
        found = cls(model, points, targets, noise)
        chosen = np.random.default_rng(t).permutation(t)[:MAX_EXAMINED_OUTCOMES]
        return found if t <= MAX_EXAMINED_OUTCOMES else found.rows(np.sort(chosen))

    def rows(self, chosen: np.ndarray) -> _Examined:
        """Some of the outcomes."""
        return _Examined(self.model, self.points[chosen], self.targets[chosen], self.noise[chosen])

    def smooth(self) -> list[np.ndarray]:
        """Cholesky factors (t, t) of covariances with smoother functions and less noise than was fitted."""
        kernel = self.model.data.kernel
        points = torch.from_numpy(self.points).to(kernel.lengthscales)
        found = []
        for stretch in STRETCHES:
            covariance = replace(kernel, lengthscales=kernel.lengthscales * stretch)(points, points).cpu().numpy()
            found += [np.linalg.cholesky(covariance + np.diag(share * self.noise + 1e-6)) for share in NOISES]
        return found


class _Step(NamedTuple):
    """A step between neighbours along a direction."""

    direction: np.ndarray
    """(d,)"""
    above: np.ndarray
    """(t,) whether an outcome is beyond the step."""


class _Likelihoods(NamedTuple):
    """Log likelihoods, variance and mean being the likeliest, of the covariance that suits best."""

    smooth: float
    """Without a step."""
    stepped: np.ndarray
    """(m,) with each step."""
    sizes: np.ndarray
    """(m,) of the steps."""
    residuals: np.ndarray
    """(t,) standardised leave-one-out residuals without a step."""


def _likeliest(examined: _Examined, columns: list[int]) -> _Step | None:
    """The step that explains outcomes best, where it is large and does not rest on a few outcomes."""
    steps = [
        _Step(direction, above)
        for direction in _directions(columns, examined.points.shape[1])
        for above in _sides(examined.points @ direction)
    ]
    if not steps:
        return None
    found = _likelihoods(examined, np.stack([step.above for step in steps], 1))
    top = int(found.stepped.argmax())
    if found.stepped[top] - found.smooth < MIN_GAIN or abs(found.sizes[top]) < MIN_STEP:
        return None
    t = len(examined.targets)
    kept = np.sort(np.argsort(np.abs(found.residuals))[: t - round(LEFT_OUT_SHARE * t)])
    above = steps[top].above[kept]
    if not 2 <= above.sum() <= len(above) - 2:
        return None
    without = _likelihoods(examined.rows(kept), above[:, None])
    return steps[top] if without.stepped[0] - without.smooth >= MIN_GAIN_WITHOUT else None


def _likelihoods(examined: _Examined, steps: np.ndarray) -> _Likelihoods:
    from scipy.linalg import solve_triangular  # here, since it takes time to import

    t = len(examined.targets)
    columns = np.column_stack([np.ones(t), examined.targets, steps])
    best = _Likelihoods(-math.inf, np.full(steps.shape[1], -math.inf), np.zeros(steps.shape[1]), np.zeros(t))
    for root in examined.smooth():
        white = solve_triangular(root, columns, lower=True)
        level = white[:, 0] / np.linalg.norm(white[:, 0])
        white = white[:, 1:] - np.outer(level, level @ white[:, 1:])
        outcomes, directions = white[:, 0], white[:, 1:]
        volume, left = float(np.log(root.diagonal()).sum()), float(outcomes @ outcomes)
        squares = np.maximum((directions**2).sum(0), 1e-12)
        sizes = directions.T @ outcomes / squares
        stepped = -t / 2 * np.log(np.maximum(left - sizes**2 * squares, 1e-300) / t) - volume
        better = stepped > best.stepped
        best = best._replace(stepped=np.where(better, stepped, best.stepped), sizes=np.where(better, sizes, best.sizes))
        smooth = -t / 2 * math.log(max(left, 1e-300) / t) - volume
        if smooth > best.smooth:
            unroot = solve_triangular(root, np.eye(t), lower=True)
            scaled = (unroot.T @ outcomes) / np.sqrt((unroot**2).sum(0) - (level @ unroot) ** 2)
            best = best._replace(smooth=smooth, residuals=scaled / math.sqrt(max(left, 1e-300) / t))
    return best


def _directions(columns: list[int], d: int) -> list[np.ndarray]:
    """Unit vectors (d,) along each column, and between two where there are few."""
    axes = np.eye(d)
    found = [axes[column] for column in columns]
    if len(columns) <= MAX_OBLIQUE_COLUMNS:
        found += [
            math.cos(math.radians(angle)) * axes[first] + math.sin(math.radians(angle)) * axes[second]
            for first, second in itertools.combinations(columns, 2)
            for angle in ANGLES
        ]
    return found


def _sides(along: np.ndarray) -> list[np.ndarray]:
    """Which of the outcomes (t,) are above each place between neighbours."""
    ordered = np.sort(along)
    places = range(MIN_SIDE, len(along) - MIN_SIDE + 1)
    return [along >= ordered[place] for place in places if ordered[place] - ordered[place - 1] > 1e-9]


def _numeric(space: Space, count: int) -> dict[int, tuple[str, Variable]]:
    """Those of the first columns that are of variables that are numbers; options have no order to jump in."""
    variables = [*space.decisions.items(), *space.contexts.items()]
    found, start = {}, 0
    for name, variable in variables:
        inner = variable.variable if isinstance(variable, Context) else variable
        if isinstance(inner, Real | Integer) and start < count:
            found[start] = name, variable
        start += variable.columns
    return found


def _between(points: np.ndarray, step: _Step, variables: Mapping[int, tuple[str, Variable]]) -> Jump:
    """The nearest outcomes on either side, in the variables that the step depends on."""
    columns = [column for column in variables if abs(step.direction[column]) > 1e-9]
    some = points[:, columns]
    low, high = some[~step.above], some[step.above]
    apart = ((low[:, None] - high[None]) ** 2).sum(-1)
    first, second = np.unravel_index(int(apart.argmin()), apart.shape)

    def place(row: np.ndarray) -> dict[str, Value]:
        named = zip(columns, row, strict=True)
        return {variables[column][0]: variables[column][1].decode([float(number)]) for column, number in named}

    return Jump(place(low[first]), place(high[second]))


def _digits(value: Value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else brief(value)
