"""Transport among many points in several dimensions: most pairs of a source and a target need not be compared.

A point is no target where going on to another one is cheaper: by the triangle inequality that one is better for every
source. So points that a neighbour beats are left out. The others are looked up by cells: a cell whose lowest value,
plus the distance between the cells, is above what all sources of a cell can have anyway is passed over. Targets are
those that comparing all pairs would find, but for ties.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from torch import Tensor

from allweather._utils.cells import cells_of
from allweather.distances.transport.worst_plan import Transport

POINTS_PER_CELL = 48
"""Points of a cell, at most, and half as many at least."""
NEIGHBOURS_COMPARED = 12
"""Next points by which it is seen that a point is no target."""


class Partition(NamedTuple):
    """Points in cells of about equal size, in a row."""

    order: np.ndarray
    """(n,) the points, cell by cell."""
    starts: np.ndarray
    """(c,) where each cell begins."""
    apart: np.ndarray
    """(c, c) the least distance between the boxes around two cells."""
    low: np.ndarray
    """(c, d) lower corner of the box around each cell."""
    high: np.ndarray
    """(c, d)"""

    @classmethod
    def of(
        cls,
        points: np.ndarray,  # (n, d)
        norm: float,
    ) -> Partition:
        """Divide the points into small cells."""
        cells = cells_of(points, np.ones(len(points)), np.arange(len(points)), 2 * len(points) // POINTS_PER_CELL)
        low, high = (np.array([end(points[cell], axis=0) for cell in cells]) for end in (np.min, np.max))
        gaps = np.maximum(np.maximum(low[:, None] - high, low - high[:, None]), 0.0)
        sizes = np.array([len(cell) for cell in cells])
        apart = np.linalg.norm(gaps, ord=norm, axis=-1)
        return cls(np.concatenate(cells), sizes.cumsum() - sizes, apart, low, high)

    def to_cell(
        self,
        cell: int,
        points: np.ndarray,  # (m, d)
        norm: float,
    ) -> np.ndarray:
        """The least distance (m,) of points from the box around a cell."""
        gaps = np.maximum(np.maximum(self.low[cell] - points, points - self.high[cell]), 0.0)
        return np.asarray(np.linalg.norm(gaps, ord=norm, axis=-1))


class Cells(Transport):
    """Contexts of several dimensions that are too many for a table of all pairs."""

    @cached_property
    def _places(self) -> np.ndarray:
        return np.ascontiguousarray(self.points.numpy())

    @cached_property
    def _partition(self) -> Partition:
        return Partition.of(self._places, self.norm)

    @cached_property
    def _neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n, k) to the next points, and which they are; the first is the point itself."""
        count = min(NEIGHBOURS_COMPARED + 1, len(self._places))
        apart, which = cKDTree(self._places).query(self._places, k=count, p=self.norm)
        return np.asarray(apart).reshape(len(self._places), -1), np.asarray(which).reshape(len(self._places), -1)

    @cached_property
    def _cells_of_sources(self) -> list[tuple[int, np.ndarray]]:
        """Which of the sources are in each cell that has some."""
        n, partition = len(self._places), self._partition
        cell = np.empty(n, dtype=np.int64)
        cell[partition.order] = np.repeat(np.arange(len(partition.starts)), np.diff([*partition.starts, n]))
        owners = cell[self.sources.numpy()]
        return [(int(each), np.flatnonzero(owners == each)) for each in np.unique(owners)]

    def targets(self, values: Tensor, multiplier: Tensor, known: Tensor, open_: Tensor) -> Tensor:
        """Look the open sources up, one decision and one cell at a time."""
        scaled = (values / multiplier.clamp_min(1e-300)[:, None]).numpy()
        found = known.clone()
        for row in open_.any(-1).nonzero()[:, 0].tolist():
            self._find(scaled[row], open_[row].numpy(), found[row].numpy())
        return found

    def _find(
        self,
        scaled: np.ndarray,  # (n,) values in units of cost
        open_: np.ndarray,  # (s,)
        target: np.ndarray,  # (s,) changed where open
    ) -> None:
        apart, which = self._neighbours
        points, sources, cells = self._places, self.sources.numpy(), self._partition
        order, starts = cells.order, cells.starts
        onward = (scaled[which] + apart).min(-1)
        useful = (onward >= scaled) & np.isfinite(scaled)
        lowest = np.minimum.reduceat(np.where(useful, scaled, np.inf)[order], starts)
        # Members of a cell in a row, those that are no targets left out.
        kept = useful[order]
        listed, ends = order[kept], np.append(0, kept.cumsum())[np.append(starts, len(order))]
        limit = np.minimum(onward[sources], scaled[target] + self.units(torch.from_numpy(target)[None])[0].numpy())
        for cell, members in self._cells_of_sources:
            rows = members[open_[members]]
            if not len(rows):
                continue
            reach = limit[rows].max()
            reach += 1e-12 * abs(reach)  # bounds are rounded, too
            near = np.flatnonzero((lowest + cells.apart[cell] <= reach) & np.isfinite(lowest))
            candidates = np.concatenate([listed[ends[each] : ends[each + 1]] for each in near])
            least = scaled[candidates] + cells.to_cell(cell, points[candidates], self.norm)
            candidates = candidates[least <= reach]
            table = _distances(points[sources[rows]], points[candidates], self.norm)
            table += scaled[candidates]
            target[rows] = candidates[table.argmin(-1)]

    def _shortest(self) -> float:
        apart = self._neighbours[0]
        least = np.where(apart > 0, apart, np.inf).min()
        return float(least) if np.isfinite(least) else 1.0


def _distances(a: np.ndarray, b: np.ndarray, norm: float) -> np.ndarray:
    """(n, m) between the rows of two tables."""
    if norm == 2:
        return np.asarray(cdist(a, b))
    if np.isinf(norm):
        return np.asarray(cdist(a, b, "chebyshev"))
    return np.asarray(cdist(a, b, "minkowski", p=norm))
