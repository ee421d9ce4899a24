"""A queue whose servers are paid before the demand is known: a small simulation of our own."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.problems.base import Problem, registered
from allweather.problems.formula import Formula
from allweather.space import Space
from allweather.space.variables import Context, Real

CUSTOMERS = 60
"""Customers of a simulated day."""
GRID = 12
"""Values of each context in the true law."""


@registered("queue")
def queue() -> Problem:
    """Minus the cost of speed, and of waiting, of one day at a counter; arrivals are uncertain, and correlated.

    The decision is the speed of service and the share of it spent on preparing, which makes service times more regular.
    The contexts are the mean arrival rate, uniform, and the autocorrelation of the logarithms of the times between
    arrivals, an AR(1) process, which is rarely large. Every run has the same random numbers.
    """
    middles = (np.arange(GRID) + 0.5) / GRID
    rate, memory = np.meshgrid(middles, middles**2, indexing="ij")
    points = torch.from_numpy(np.stack([rate.ravel(), memory.ravel()], 1))
    weights = torch.full((GRID**2,), 1 / GRID**2, dtype=torch.float64)

    return Problem(
        name="queue",
        space=Space(speed=Real(1, 3), prepare=Real(0, 0.5), rate=Context(0.5, 1.5), memory=Context(0, 0.9)),
        function=Formula(day, (1.0, 0.0, 0.5, 0.0), (3.0, 0.5, 1.5, 0.9)),
        sample=_Grid(points).sample,
        support=Reference(points, weights),
        source="ours: Lindley's recursion, arrivals by an AR(1) process",
    )


class _Grid:
    """Equally likely points."""

    def __init__(self, points: Tensor) -> None:
        self._points = points.numpy()

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw `n` of them (n, d_c)."""
        drawn: np.ndarray = self._points[rng.integers(len(self._points), size=n)]
        return drawn


def day(joint: Tensor) -> Tensor:
    """Minus the cost of a day, of joint points (..., 4) ordered speed, prepare, rate, memory.

    Example:
        >>> slow, fast = day(torch.tensor([[1.2, 0.1, 1.4, 0.5], [2.5, 0.1, 1.4, 0.5]]))
        >>> bool(slow < fast)
        True
    """
    speed, prepare, rate, memory = joint.unbind(-1)
    shocks, service = _numbers()
    level, wait, total = torch.zeros_like(rate), torch.zeros_like(rate), torch.zeros_like(rate)
    irregular = 1.2 * (1 - 1.6 * prepare)
    fresh = (1 - memory**2).sqrt()
    for shock, length in zip(shocks, service, strict=True):
        level = memory * level + fresh * shock
        between = torch.exp(0.7 * level - 0.245) / rate  # of mean 1 / rate
        served = torch.exp(irregular * length - irregular**2 / 2) / (speed * (1 - 0.4 * prepare))
        wait = (wait + served - between).clamp_min(0)  # Lindley's recursion
        total = total + wait
    found: Tensor = -speed - torch.log1p(total / CUSTOMERS)
    return found


@lru_cache(maxsize=1)
def _numbers() -> tuple[list[float], list[float]]:
    """The random numbers of every run."""
    rng = np.random.default_rng(20)
    return rng.standard_normal(CUSTOMERS).tolist(), rng.standard_normal(CUSTOMERS).tolist()
