"""Points in cells of equal mass: halved again and again, along their widest side."""

from __future__ import annotations

import numpy as np


def cells_of(
    points: np.ndarray,  # (n, d)
    masses: np.ndarray,  # (n,)
    members: np.ndarray,  # (m,) of the points
    most: int,
) -> list[np.ndarray]:
    """The members in at most `most` cells.

    Args:
        points: where they are.
        masses: of which every cell has about as much.
        members: which points to divide, by index.
        most: number of cells, of which a power of two is used.

    Example:
        >>> points = np.array([[0.0], [0.1], [0.7], [0.8], [1.0]])
        >>> [cell.tolist() for cell in cells_of(points, np.ones(5), np.arange(5), 2)]
        [[0, 1], [2, 3, 4]]
    """
    cells = [members]
    while 2 * len(cells) <= most:
        cells = [half for cell in cells for half in _halves(points, masses, cell)]
    return cells


def _halves(points: np.ndarray, masses: np.ndarray, cell: np.ndarray) -> list[np.ndarray]:
    if len(cell) < 2:
        return [cell]
    widest = np.ptp(points[cell], axis=0).argmax()
    ordered = cell[np.argsort(points[cell, widest], kind="stable")]
    total = masses[ordered].cumsum()
    place = int(np.clip(np.searchsorted(total, total[-1] / 2), 1, len(cell) - 1))
    return [ordered[:place], ordered[place:]]
