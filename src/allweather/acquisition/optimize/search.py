"""The search for the decision with the best score, over any mix of variables and linear constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from allweather._utils.tensors import as_tensor
from allweather._utils.warm_starts import warm_starts
from allweather.acquisition.optimize.bfgs import Climbed, climb
from allweather.acquisition.optimize.region import Region, listed, neighbours
from allweather.acquisition.optimize.scores import HintedScore, Score, Scores, hinted, spread_of, starts_among
from allweather.errors import require, require_count
from allweather.space import Box
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Context

FIRST_LISTED = 64
"""Listed decisions with the highest bounds that are scored before others are ruled out."""
REFINED_PEAKS = 3
"""Number of peaks of a rough score that are refined."""


class Best(NamedTuple):
    """The best decision found, and its score."""

    decision: Tensor  # (d,) legal and feasible, in the unit cube
    value: float


@dataclass(frozen=True, eq=False)
class Search:
    """The region and effort of a search for the best decision.

    Spread points are scored first; the best of them, from different hills, climb together by gradient; whole numbers
    and choices then move to better neighbours, until none is better. A few discrete decisions are all scored.

    Example:
        >>> from allweather import Real, Space
        >>> box = Space(sand=Real(0, 1), lime=Real(0, 1)).decisions
        >>> search = Search(box, (LinearConstraint({"sand": 1, "lime": 1}, upper=1),))
        >>> best = search.best(lambda u: -((u - 0.8) ** 2).sum(-1), torch.Generator().manual_seed(0))
        >>> best.decision.round(decimals=4), round(best.value, 4)
        (tensor([0.5000, 0.5000], dtype=torch.float64), -0.18)
    """

    box: Box
    """The decisions' variables."""
    constraints: tuple[LinearConstraint, ...] = ()
    """What every decision must meet."""
    candidates: Tensor | None = None
    """(m, d) encoded decisions; if given, only those of them that meet the constraints may be chosen."""
    raw: int | None = None
    """How many spread points are scored first; by default 64 for every column, at most 512."""
    starts: int = 8
    """How many of these climb."""
    steps: int | None = None
    """How often, at most, the climbers are evaluated; by default 20 times and 5 more for every column."""
    block: int = 64
    """How many points are scored at once where no gradient is needed."""
    device: str = "cpu"
    """Where scores are computed, and where the decisions that are returned are."""
    region: Region = field(init=False, repr=False)
    """The legal and feasible decisions."""

    def __post_init__(self) -> None:
        fits = isinstance(self.box, Box) and not any(isinstance(v, Context) for v in self.box.values())
        require(fits, "Search(box=...)", "be the decisions of a Space", self.box)
        require(self.box.columns > 0, "Search(box=...)", "have at least one variable", self.box)
        if self.raw is None:
            object.__setattr__(self, "raw", min(64 * self.box.columns, 512))
        if self.steps is None:
            object.__setattr__(self, "steps", 20 + 5 * self.box.columns)
        for name in ("raw", "starts", "steps", "block"):
            require_count(getattr(self, name), f"Search({name}=...)", low=1)
        object.__setattr__(self, "constraints", tuple(self.constraints))
        object.__setattr__(self, "region", Region.of(self.box, self.constraints))
        if self.candidates is not None:
            object.__setattr__(self, "candidates", self._allowed(self.candidates))

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """Decisions (n, d) that are legal, feasible and spread out, or drawn among the candidates."""
        require_count(n, "Search.sample(n=...)")
        if self.candidates is not None:
            rounds = -(-n // len(self.candidates))
            orders = [torch.randperm(len(self.candidates), generator=generator) for _ in range(rounds)]
            return self.candidates[torch.cat([torch.zeros(0, dtype=torch.long), *orders])[:n]]
        return torch.from_numpy(self.region.spread(n, generator)).to(self.device)

    def permitted(self, points: Tensor) -> Tensor:
        """Decisions that may be chosen: the points (k, d) moved into the constraints, or those that are candidates.

        Args:
            points: (k, d) decisions in the unit cube, such as tried ones, which need not meet the constraints.
        """
        if self.candidates is None:
            return torch.from_numpy(self._near(points)).to(self.device)
        apart = (points[:, None] - self.candidates).abs().amax(-1)
        return points[apart.amin(-1) <= 1e-6]

    def around(self, decision: Tensor, step: float, n: int, generator: torch.Generator) -> Tensor:
        """Legal and feasible decisions (at most n, d) near a decision (d,); it is the first of them.

        Args:
            decision: (d,) legal and feasible.
            step: standard deviation of the distance in each column.
            n: how many to draw; those that are not feasible are left out.
            generator: the source of randomness.
        """
        drawn = torch.randn(n, len(decision), generator=generator, dtype=torch.float64)
        moved = decision + step * drawn.to(decision.device)
        near = self._near(torch.cat([decision[None], moved.clamp(0, 1)]))
        return torch.from_numpy(_distinct(near)).to(self.device)

    def best(self, function: Score, generator: torch.Generator, near: Tensor | None = None) -> Best:
        """The decision with the largest score.

        Args:
            function: maps decisions (b, d) to scores (b,), differentiable by torch. Scores that are NaN count as the
                worst. Where there is no gradient, only scores decide. The hints of a `HintedScore` are used.
            generator: the source of randomness.
            near: (k, d) further decisions that deserve a look, such as the last best one.
        """
        with warm_starts():
            return self._best(hinted(function), generator, near)

    def _best(self, function: HintedScore, generator: torch.Generator, near: Tensor | None) -> Best:
        scores = Scores(function, self.block, self.device)
        everything = listed(self.region) if self.candidates is None else self.candidates.cpu().numpy()
        if everything is not None:
            return self._listed(scores, everything)
        points = _distinct(np.concatenate([self._near(near), self.region.spread(int(self.raw or 1), generator)]))
        rough = function.rough
        survey = scores if rough is None else Scores(hinted(rough), self.block, self.device)
        values = survey.values(points)
        chosen = starts_among(points, values, self.starts)
        if not len(chosen):
            return self._answer(points, values if rough is None else scores.values(points))
        scale = spread_of(values)
        points, values = points[chosen], values[chosen]
        climbed = self._climbed(survey, points, values, scale)
        if rough is not None:  # where the rough score ends, the score itself has not far to go
            top = _peaks(climbed, REFINED_PEAKS)
            points = climbed.points[top]
            values = scores.values(points)
            climbed = self._climbed(scores, points, values, scale, climbed.curvature[top])
        found, heights = climbed.points, climbed.values
        if not self.region.real.all():
            found, heights = self._walked(scores, found, heights, scale)
        return self._answer(np.concatenate([found, points]), np.concatenate([heights, values]))

    def _answer(self, points: np.ndarray, values: np.ndarray) -> Best:
        first = int(np.argmax(values))
        return Best(torch.from_numpy(points[first].copy()).to(self.device), float(values[first]))

    def _listed(self, scores: Scores, points: np.ndarray) -> Best:
        """The best of these points; where scores have bounds, those whose bound is too low are not scored."""
        bound = scores.function.bound
        if bound is None:
            return self._answer(points, scores.values(points))
        limits = Scores(hinted(bound), 8 * self.block, self.device).values(points)
        limits += 1e-9 * spread_of(limits)  # bounds are rounded, too
        order = np.argsort(-limits, kind="stable")
        values = np.full(len(points), -np.inf)
        first, others = order[:FIRST_LISTED], order[FIRST_LISTED:]
        values[first] = scores.values(points[first])
        left = others[limits[others] >= values.max()]
        values[left] = Scores(scores.function, max(len(left), 1), self.device).values(points[left])
        return self._answer(points, values)

    def _climbed(
        self,
        scores: Scores,
        points: np.ndarray,
        values: np.ndarray,
        scale: float,
        curvature: np.ndarray | None = None,
    ) -> Climbed:
        """Points (b, d) with their continuous columns improved, and their values."""
        real = self.region.real
        polytope = self.region.slice(points)
        if not polytope.basis.shape[1]:
            return Climbed(points, values, np.zeros((len(points), 0, 0)))

        def slopes(moved: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            whole = points[owners]
            whole[:, real] = moved
            heights, gradients = scores.slopes(whole)
            return heights, gradients[:, real]

        climbed = climb(slopes, points[:, real], polytope, scale, int(self.steps or 1), curvature)
        points = points.copy()
        points[:, real] = climbed.points
        return climbed._replace(points=points)

    def _walked(
        self, scores: Scores, points: np.ndarray, values: np.ndarray, scale: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best few points, walked from neighbour to neighbour until none is better."""
        top = np.argsort(-values, kind="stable")[:3]
        points, values = points[top], values[top]
        active = np.arange(len(points))
        for _ in range(int(self.steps or 1)):
            trials, owners = neighbours(self.region, points[active])
            if not len(trials):
                break
            # Continuous columns have not adapted yet: the second best may turn out the best.
            heights = scores.values(trials)
            tried = _best_of_each(owners, heights, 2)
            climbed, heights, _ = self._climbed(scores, trials[tried], heights[tried], scale)
            owners = active[owners[tried]]
            top = _best_of_each(owners, heights, 1)
            top = top[heights[top] > values[owners[top]] + 1e-10 * scale]
            active = owners[top]
            points[active], values[active] = climbed[top], heights[top]
        return points, values

    def _near(self, near: Tensor | None) -> np.ndarray:
        d = self.box.columns
        if near is None:
            return np.zeros((0, d))
        points = as_tensor(near, "Search.best(near=...)").detach().cpu()
        fits = points.ndim == 2 and points.shape[1] == d
        require(fits, "Search.best(near=...)", f"have shape (k, {d})", tuple(points.shape))
        legal = self.region.legal(points.numpy())
        return np.asarray(legal[self.region.feasible(legal)])

    def _allowed(self, candidates: Tensor) -> Tensor:
        where, d = "Search(candidates=...)", self.box.columns
        points = as_tensor(candidates, where).detach().cpu()
        fits = points.ndim == 2 and points.shape[1] == d and len(points) > 0
        require(fits, where, f"have shape (m, {d}) with m of at least 1", tuple(points.shape))
        legal = self.box.snap(points)
        strays = (legal - points).abs().amax(-1) > 1e-6
        require(not bool(strays.any()), where, "be legal encoded decisions", points[strays].tolist())
        legal = legal[torch.from_numpy(self.region.feasible(legal.numpy()))]
        require(len(legal) > 0, where, "hold at least one decision that meets the constraints", points.tolist())
        return legal.to(self.device)


def _distinct(points: np.ndarray) -> np.ndarray:
    """The points without repetitions, which whole numbers and choices make likely."""
    _, first = np.unique(points, axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])


def _peaks(climbed: Climbed, n: int) -> np.ndarray:
    """Indices of the n best points, none next to a better one."""
    order = np.argsort(-climbed.values, kind="stable")
    points = climbed.points[order]
    near = np.abs(points[:, None] - points).max(-1, initial=0.0) < 1e-2
    followers = (near & np.tri(len(points), k=-1, dtype=bool)).any(-1)
    return np.asarray(order[~followers][:n])


def _best_of_each(owners: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Indices of the n best rows of every owner."""
    order = np.lexsort((-values, owners))
    rank = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
    return order[rank < n]
