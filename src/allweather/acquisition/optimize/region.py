"""The legal and feasible decisions of a box under linear constraints: testing, repairing and spreading points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from allweather.acquisition.optimize.polytope import Polytope, inside, nearest_whole
from allweather.errors import InvalidInput
from allweather.space import Box
from allweather.space.constraints import Halfspaces, LinearConstraint, halfspaces
from allweather.space.variables import Choice, Integer

FEASIBILITY_TOLERANCE = 1e-8
"""A constraint holds if it is broken by no more than this, measured as a distance in the unit cube."""

MAX_INTEGER_PROGRAMS = 16
"""How many points, at most, are made whole by an integer program each: exact, but some milliseconds long."""


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
