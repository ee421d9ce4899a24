"""Polytopes within the unit cube: their rows, centre and dimension, and the whole numbers inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from allweather.acquisition.optimize.quadratic_program import model_step
from allweather.errors import InvalidInput
from allweather.space.constraints import Halfspaces

MIN_THICKNESS = 1e-9
"""A polytope thinner than this has no inside in that direction."""

INSIDE_MARGIN = 1e-10
"""Where there is room, points stay this far inside: rounding must not break a constraint in the user's units."""


@dataclass(frozen=True)
class Polytope:
    """Where one batch of starts may go: `normals @ x <= limits` within the unit cube, along the columns of `basis`."""

    normals: np.ndarray  # (m, k)
    limits: np.ndarray  # (b, m)
    basis: np.ndarray  # (k, r) orthonormal

    def rows(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (2k + m, r) over coordinates of the basis, and the room (b, 2k + m) that they leave at `points`."""
        sides = np.concatenate([self.basis, -self.basis, self.normals @ self.basis])
        room = np.maximum(self.limits - points @ self.normals.T - INSIDE_MARGIN, 0.0)
        return sides, np.concatenate([1 - points, points, room], axis=-1)

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """The nearest points (b, k) within; where there are none, points outside."""
        k = points.shape[1]
        sides = np.concatenate([np.eye(k), -np.eye(k), self.normals])
        margin = INSIDE_MARGIN if self.basis.shape[1] == k else 0.0
        room = np.concatenate([1 - points, points, self.limits - points @ self.normals.T - margin], axis=-1)
        curvature = np.broadcast_to(np.eye(k), (len(points), k, k))
        return np.asarray(np.clip(points + model_step(np.zeros_like(points), curvature, sides, room), 0.0, 1.0))

    def among(self, alive: np.ndarray) -> Polytope:
        """The same for some of the starts."""
        return Polytope(self.normals, self.limits[alive], self.basis)


class Inside(NamedTuple):
    """A point well inside a polytope, and the directions one can go from there."""

    centre: np.ndarray  # (d,)
    basis: np.ndarray  # (d, r) orthonormal


def inside(constraints: Halfspaces) -> Inside:
    """The Chebyshev centre of the constraints within the unit cube; constraints that leave nothing are refused.

    Example:
        >>> line = Halfspaces(np.array([[0.6, 0.8], [-0.6, -0.8]]), np.array([0.7, -0.7]))
        >>> inside(line).centre.round(9), inside(line).basis.shape
        (array([0.5, 0.5]), (2, 1))
    """
    d = constraints.normals.shape[1]
    normals = np.concatenate([constraints.normals, np.eye(d), -np.eye(d)])
    limits = np.concatenate([constraints.limits, np.ones(d), np.zeros(d)])
    basis = np.eye(d)
    centre, radius = _chebyshev(normals, limits, basis, np.zeros(len(normals), dtype=bool))
    if radius < MIN_THICKNESS:
        # Some inequalities are equations in disguise: go on in the directions that they leave.
        tight = np.array([_most_room(normals, limits, row) < MIN_THICKNESS for row in range(len(normals))])
        basis = null_space(normals[tight], rcond=1e-9) if tight.any() else basis
        centre, _ = _chebyshev(normals, limits, basis, tight)
    return Inside(np.clip(centre, 0.0, 1.0), basis)


def _chebyshev(
    normals: np.ndarray, limits: np.ndarray, basis: np.ndarray, tight: np.ndarray
) -> tuple[np.ndarray, float]:
    """Centre and radius of the largest ball, along the basis, within all rows but the tight ones."""
    d = normals.shape[1]
    widths = np.where(tight, 0.0, np.linalg.norm(normals @ basis, axis=1))
    from scipy.optimize import linprog

    solution = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([normals, widths]),
        b_ub=limits,
        bounds=[*_free(d), (0.0, 1.0)],
        options={"primal_feasibility_tolerance": 1e-10},
    )
    if solution.x is None:
        raise InvalidInput(
            "`Search(constraints=...)` must leave at least one decision, got constraints that leave none"
        )
    return solution.x[:d], float(solution.x[d])


def _most_room(normals: np.ndarray, limits: np.ndarray, row: int) -> float:
    """The largest slack that a row can have."""
    from scipy.optimize import linprog

    solution = linprog(
        normals[row],
        A_ub=normals,
        b_ub=limits,
        bounds=_free(normals.shape[1]),
        options={"primal_feasibility_tolerance": 1e-10},
    )
    return float(limits[row] - solution.fun) if solution.success else 0.0


def _free(d: int) -> list[tuple[float | None, float | None]]:
    return [(None, None)] * d


def nearest_whole(constraints: Halfspaces, grid: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """The point (d,) nearest to `target`, in the sum of distances, with every gridded column on its grid.

    Args:
        constraints: what the point must meet.
        grid: (d,) steps of each column that is on a grid, 0 for the others.
        target: (d,) where one would like to be.

    Returns:
        The point, or None where there is none.
    """
    d = len(grid)
    unit = np.where(grid > 0, 1.0 / np.maximum(grid, 1), 1.0)
    eye, none = np.eye(d), np.zeros((len(constraints.limits), d))
    rows = np.block([[constraints.normals * unit, none], [eye * unit, -eye], [-eye * unit, -eye]])
    limits = np.concatenate([constraints.limits + MIN_THICKNESS, target, -target])
    top = np.concatenate([np.where(grid > 0, grid, 1.0), np.ones(d)])
    from scipy.optimize import Bounds, milp
    from scipy.optimize import LinearConstraint as Rows

    solution = milp(
        np.append(np.zeros(d), np.ones(d)),
        constraints=Rows(rows, -np.inf, limits),
        bounds=Bounds(np.zeros(2 * d), top),
        integrality=np.append(grid > 0, np.zeros(d, dtype=bool)).astype(int),
    )
    return None if solution.x is None else np.asarray(solution.x[:d] * unit)
