"""The legal and feasible decisions of a box under linear constraints: testing, repairing, spreading and listing points.

Where decisions are whole numbers and choices, also all of them, and the steps from one to its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import torch

from allweather.acquisition.optimize.polytope import Polytope, inside, nearest_whole
from allweather.errors import InvalidInput
from allweather.space import Box
from allweather.space.constraints import Halfspaces, LinearConstraint, halfspaces
from allweather.space.variables import Choice, Integer, Variable

FEASIBILITY_TOLERANCE = 1e-8
"""A constraint holds if it is broken by no more than this, measured as a distance in the unit cube."""

MAX_INTEGER_PROGRAMS = 16
"""How many points, at most, are made whole by an integer program each: exact, but some milliseconds long."""

MAX_LISTED_DECISIONS = 2000
"""Up to this many decisions, score every one."""


@dataclass(frozen=True)
class Region:
    """The decisions one may choose, as points of the unit cube."""

    box: Box
    rows: Halfspaces
    grid: np.ndarray  # (d,) steps of an Integer's column, 0 for others
    real: np.ndarray  # (d,) whether a column varies continuously
    centre: np.ndarray  # (d,)
    basis: np.ndarray  # (d, r) directions in which the relaxed region extends

    @classmethod
    def of(cls, box: Box, constraints: Sequence[LinearConstraint] = ()) -> Region:
        """The region of a box under constraints; one without any decision is refused."""
        grid, real = [], []
        for variable in box.values():
            grid += [variable.upper - variable.lower if isinstance(variable, Integer) else 0] * variable.columns
            real += [not isinstance(variable, (Integer, Choice))] * variable.columns
        rows = halfspaces(constraints, box)
        start = inside(rows) if constraints else None
        centre = np.full(box.columns, 0.5) if start is None else start.centre
        basis = np.eye(box.columns) if start is None else start.basis
        region = cls(box, rows, np.array(grid, dtype=np.float64), np.array(real), centre, basis)
        if constraints and any(grid):
            whole = nearest_whole(rows, region.grid, centre)
            # The integer program is content with six digits.
            if whole is None or not region.feasible(region.legal(whole[None])).all():
                raise InvalidInput("`Search(constraints=...)` must leave a decision of whole numbers, got none")
        return region

    def feasible(self, points: np.ndarray) -> np.ndarray:
        """Which of the legal points (b, d) meet the constraints (b,)."""
        return np.asarray((points @ self.rows.normals.T <= self.rows.limits + FEASIBILITY_TOLERANCE).all(-1))

    def slice(self, points: np.ndarray) -> Polytope:
        """Where the continuous columns of legal points (b, d) may go while the others are held."""
        normals = self.rows.normals
        real, held = normals[:, self.real], normals[:, ~self.real]
        useful = np.abs(real).max(-1, initial=0.0) > 0
        limits = self.rows.limits - points[:, ~self.real] @ held.T
        # Equations hold in every slice, so their directions need not be rediscovered.
        return Polytope(real[useful], limits[:, useful], self._slice_basis())

    def _slice_basis(self) -> np.ndarray:
        k = int(self.real.sum())
        if self.basis.shape[1] == len(self.real):
            return np.eye(k)
        # Directions that stay within the basis and move continuous columns only.
        outside = np.eye(len(self.real)) - self.basis @ self.basis.T
        values, vectors = np.linalg.eigh(outside[:, self.real].T @ outside[:, self.real])
        return np.asarray(vectors[:, values < 1e-12])

    def legal(self, points: np.ndarray) -> np.ndarray:
        """The nearest legal points (b, d), with the continuous columns moved to meet the constraints where they can."""
        snapped = np.array(self.box.snap(torch.from_numpy(np.ascontiguousarray(points))).numpy())
        broken = ~self.feasible(snapped)
        if broken.any() and self.real.any():
            now = snapped[np.ix_(broken, self.real)]
            snapped[np.ix_(broken, self.real)] = self.slice(snapped[broken]).nearest(now)
        return snapped

    def spread(self, n: int, generator: torch.Generator) -> np.ndarray:
        """Points (n, d) that are legal, feasible and spread out: scrambled Sobol points."""
        seed = int(torch.randint(2**31, (1,), generator=generator).item())
        d = len(self.real)
        cube = torch.quasirandom.SobolEngine(d + 1, scramble=True, seed=seed).draw(n, dtype=torch.float64).numpy()
        # The outermost whole numbers get as large a share of the column as the others.
        steps = np.maximum(self.grid, 1)
        whole = np.floor(cube[:, :d] * (1 - 1e-12) * (steps + 1)) / steps
        points = np.where(self.grid > 0, whole, cube[:, :d])
        points = np.array(self.box.snap(torch.from_numpy(points)).numpy())
        broken = ~self.feasible(points)
        if broken.any():
            points[broken] = self.legal(self._pulled(points[broken], cube[broken, -1]))
            points = self._replaced(points)
        return points

    def _pulled(self, points: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Points outside the relaxed region, brought inside along the ray to its centre."""
        ray = (points - self.centre) @ self.basis @ self.basis.T
        normals = np.concatenate([self.rows.normals, np.eye(len(self.real)), -np.eye(len(self.real))])
        limits = np.concatenate([self.rows.limits, np.ones(len(self.real)), np.zeros(len(self.real))])
        rates, slack = ray @ normals.T, np.maximum(limits - normals @ self.centre, 0.0)
        reach = np.where(rates > 1e-12, slack / np.maximum(rates, 1e-12), np.inf).min(-1)
        # The root makes a ball of rays evenly filled.
        share = np.minimum(reach, 1.0) * uniform ** (1 / max(self.basis.shape[1], 1))
        return np.asarray(self.centre + share[:, None] * ray)

    def _replaced(self, points: np.ndarray) -> np.ndarray:
        """The same, with points that are still infeasible exchanged for the nearest ones that are not."""
        good = self.feasible(points)
        for row in np.flatnonzero(~good)[:MAX_INTEGER_PROGRAMS]:
            whole = nearest_whole(self.rows, self.grid, points[row])
            if whole is not None:
                points[row] = self.legal(whole[None])[0]
        good = self.feasible(points)
        if not good.any():
            raise InvalidInput("`Search(constraints=...)` must leave a decision that can be found, got none")
        return points[np.resize(np.flatnonzero(good), len(points))] if not good.all() else points


def listed(region: Region) -> np.ndarray | None:
    """Every feasible decision (m, d) if none of the variables is continuous and they are few, else None."""
    if region.real.any() or prod(_levels(variable) for variable in region.box.values()) > MAX_LISTED_DECISIONS:
        return None
    points = np.zeros((1, 0))
    for variable in region.box.values():
        column = _column(variable)
        points = np.concatenate([points.repeat(len(column), axis=0), np.tile(column, (len(points), 1))], axis=1)
    return np.asarray(points[region.feasible(points)])


def _levels(variable: Variable) -> int:
    if isinstance(variable, Choice):
        return len(variable.options)
    return variable.upper - variable.lower + 1 if isinstance(variable, Integer) else variable.columns


def _column(variable: Variable) -> np.ndarray:
    """All legal columns (levels, columns) of an Integer or a Choice."""
    if isinstance(variable, Choice):
        return np.eye(variable.columns)[: len(variable.options)]
    steps = _levels(variable) - 1
    return np.arange(steps + 1)[:, None] / steps


def neighbours(region: Region, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Feasible decisions (m, d) that differ from one of the points (b, d) in a discrete variable, and in which (m,).

    A whole number goes up or down, by one or by a long jump; where constraints tie whole numbers together, two of them
    change by one at once; a choice takes any other option. Continuous columns give way where a constraint asks for it.
    """
    moved = [points[:0]]
    owners = [np.zeros(0, dtype=int)]
    for changed in (*_single(region, points), *_paired(region, points)):
        fresh = (np.abs(changed - points) > 1e-9).any(-1)
        moved.append(changed[fresh])
        owners.append(np.flatnonzero(fresh))
    trials, owner = np.concatenate(moved), np.concatenate(owners)
    trials = region.legal(trials)
    good = region.feasible(trials)
    return trials[good], owner[good]


def _single(region: Region, points: np.ndarray) -> list[np.ndarray]:
    """Copies of the points (b, d), each with one variable changed in all of them."""
    copies, start = [], 0
    for variable in region.box.values():
        if isinstance(variable, Choice):
            for option in _column(variable):
                copies.append(points.copy())
                copies[-1][:, start : start + variable.columns] = option
        elif isinstance(variable, Integer):
            jumps = {1, *(max(1, (_levels(variable) - 1) // part) for part in (8, 3))}
            copies += [_shifted(region, points, {start: sign * jump}) for jump in sorted(jumps) for sign in (-1, 1)]
        start += variable.columns
    return copies


def _paired(region: Region, points: np.ndarray) -> list[np.ndarray]:
    """Copies with two whole numbers changed at once, if some constraint holds both."""
    whole = np.flatnonzero(region.grid > 0)
    tied = np.abs(region.rows.normals).T @ np.abs(region.rows.normals) > 0
    pairs = [(i, j) for i, j in combinations(whole.tolist(), 2) if tied[i, j]]
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    return [_shifted(region, points, {i: a, j: b}) for i, j in pairs for a, b in signs]


def _shifted(region: Region, points: np.ndarray, shifts: dict[int, int]) -> np.ndarray:
    copy = points.copy()
    for column, shift in shifts.items():
        copy[:, column] = np.clip(copy[:, column] + shift / region.grid[column], 0.0, 1.0)
    return copy
