"""Scores of many decisions: evaluated in blocks, cleaned of NaN, and read for the best places to start from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from allweather.errors import require

Score = Callable[[Tensor], Tensor]
"""Maps decisions (b, d) to scores (b,), row by row; larger is better."""
Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Maps decisions (b, d) to scores (b,) and gradients (b, d), without automatic differentiation."""


class HintedScore(ABC):
    """A score that can tell the search more than its values; by default it does not."""

    rough: Score | None = None
    """A cheaper score much like it: it is climbed first, and the score itself only from the best of its peaks."""
    bound: Score | None = None
    """A cheaper function that is never below it: of listed decisions only the promising ones need scoring."""
    slopes: Slopes | None = None
    """Scores and gradients in closed form."""

    @abstractmethod
    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,) of decisions (b, d), differentiable."""


class PlainScore(HintedScore):
    """A function of decisions without hints."""

    def __init__(self, function: Score) -> None:
        self._function = function

    def __call__(self, decisions: Tensor) -> Tensor:
        """What the function returns."""
        return self._function(decisions)


def hinted(function: Score) -> HintedScore:
    """Return a score as one that may have hints."""
    return function if isinstance(function, HintedScore) else PlainScore(function)


@dataclass(frozen=True)
class Scores:
    """A function of decisions, called on NumPy arrays."""

    function: HintedScore
    block: int
    device: str = "cpu"
    """Where the function wants its decisions."""

    def values(self, points: np.ndarray) -> np.ndarray:
        """Scores (b,) of points (b, d), without gradients; NaN counts as the worst."""
        with torch.no_grad():
            blocks = self._moved(points).split(self.block)
            scores = torch.cat([self._called(block) for block in blocks])
        values: np.ndarray = scores.numpy()
        return np.where(np.isnan(values), -np.inf, values)

    def slopes(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores (b,) and gradients (b, d) in one call; a function without gradient is flat."""
        if self.function.slopes is not None:
            return self.function.slopes(points)
        with torch.enable_grad():
            decisions = self._moved(points).requires_grad_()
            scores = self._called(decisions)
            gradients = torch.zeros_like(decisions)
            if scores.requires_grad:
                (found,) = torch.autograd.grad(scores.sum(), decisions, allow_unused=True)
                gradients = gradients if found is None else found
        return scores.detach().numpy().copy(), gradients.cpu().numpy()

    def _moved(self, points: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(points)).to(self.device)

    def _called(self, decisions: Tensor) -> Tensor:
        scores = self.function(decisions)
        fits = isinstance(scores, Tensor) and scores.shape == decisions.shape[:1]
        received = tuple(scores.shape) if isinstance(scores, Tensor) else scores
        require(fits, "Search.best(function=...)", f"return scores of shape ({len(decisions)},)", received)
        return scores.to("cpu", torch.float64)


def spread_of(values: np.ndarray) -> float:
    """How much scores differ: from the median to the best, which holds out against terrible ones.

    Example:
        >>> spread_of(np.array([-1e30, 1.0, 2.0, 3.0, 5.0]))
        3.0
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 1.0
    best = float(finite.max())
    worst, middle, high = (best - float(np.quantile(finite, q, method="lower")) for q in (0.0, 0.5, 0.9))
    # Differences that are lost in rounding are none.
    floor = 1e-13 * abs(best)
    if floor < high < 1e-4 * middle:  # the median is among the terrible ones
        return high
    for difference in (middle, worst):
        if difference > floor:
            return difference
    return abs(best) or 1.0


def starts_among(points: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Indices (at most n) of good points, not all from one hill: high ones, far from any that are higher.

    Rodriguez and Laio (2014) find the centres of clusters like this.

    Args:
        points: (b, d) points.
        values: (b,) their scores.
        n: how many to choose.
    """
    finite = np.flatnonzero(np.isfinite(values))
    chosen = finite[np.argsort(-values[finite], kind="stable")]
    chosen = chosen[:1024]  # of which all pairs fit in memory
    points, values = points[chosen], values[chosen]
    from scipy.spatial.distance import cdist

    apart = cdist(points, points)
    higher = np.tri(len(points), k=-1, dtype=bool)
    lonely = np.where(higher, apart, np.inf).min(-1, initial=np.inf)
    with np.errstate(over="ignore"):  # terrible values have no merit
        depth = (values[:1] - values) / spread_of(values)
        merit = np.minimum(lonely, 10.0) * np.exp(-4 * depth)
    order = np.argsort(-merit, kind="stable")
    return np.asarray(chosen[order[lonely[order] > 0][:n]])
