"""Whole numbers and choices: listing all of them, and the steps from one decision to its neighbours."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np

from allweather.acquisition.optimize.region import Region
from allweather.space.variables import Choice, Integer, Variable

MAX_LISTED_DECISIONS = 2000
"""Up to this many decisions, score every one."""


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
