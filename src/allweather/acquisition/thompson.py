"""Thompson sampling: the best decision for one function that could be the true one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.errors import MAX_COUNT, require_count
from allweather.objectives import Band, Expectation
from allweather.surrogates import Paths


@dataclass(frozen=True)
class Thompson(Acquisition):
    """The objective of one posterior sample path (bocu, Alg. 1), drawn once per decision asked for."""

    bounds_objective: ClassVar[bool] = True
    uses_field: ClassVar[bool] = False

    features: int = 1024
    """Random cosines that make the prior's sample."""

    def __post_init__(self) -> None:
        require_count(self.features, "Thompson(features=...)", low=1, high=MAX_COUNT)

    def build(self, belief: Belief) -> Score:
        """The sampled function's objective."""
        state, rough = belief.generator.get_state(), belief.rough()
        score = self._score(belief)
        if rough is not None:  # the same function at fewer contexts
            again = torch.Generator().set_state(state)
            score.rough = self._score(replace(rough, generator=again))
        return score

    def _score(self, belief: Belief) -> HintedScore:
        if type(belief.objective) is Expectation:
            means = self._means(belief)
            if means is not None:
                return _SampledMean(means)
        score = _Sampled(belief, self._path(belief))
        limit = belief.objective.ceiling(belief.reference)
        if limit is not None:
            score.bound = lambda decisions: limit(score.band(decisions))
        return score

    def _path(self, belief: Belief) -> Paths:
        return belief.surrogate.paths(belief.reference.points, 1, belief.generator, self.features)

    def _means(self, belief: Belief) -> Paths | None:
        """The mean of the same function over the reference, where it is cheaper by itself."""
        points, weights = belief.reference.points, belief.reference.weights
        return belief.surrogate.mean_paths(points, weights, 1, belief.generator, self.features)


class _Sampled(HintedScore):
    """The objective of one sampled function."""

    def __init__(self, belief: Belief, path: Paths) -> None:
        self._belief, self._path = belief, path

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        return self._belief.objective.upper(self.band(decisions), self._belief.reference)

    def band(self, decisions: Tensor) -> Band:
        """The function's values (b, n): a band without spread."""
        return Band(self._path(decisions)[0])


class _SampledMean(HintedScore):
    """The mean of one sampled function over the reference."""

    def __init__(self, means: Paths) -> None:
        self._means = means

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        return self._means(decisions)[0, :, 0]


@dataclass(frozen=True)
class FourierThompson(Thompson):
    """Thompson sampling of a linear model on random Fourier features, as in the published code of bocu.

    `features` is the number of frequencies, each with a weight for its cosine and one for its sine. The model
    approximates the posterior well while its weights far outnumber the data; after that its samples vary too little,
    and the search is greedier than with `Thompson` (errata E40).

    Example:
        >>> FourierThompson(features=512)
        FourierThompson(features=512)
    """

    def __post_init__(self) -> None:
        require_count(self.features, "FourierThompson(features=...)", low=1, high=MAX_COUNT)

    def _path(self, belief: Belief) -> Paths:
        points = belief.reference.points
        return belief.surrogate.fourier_paths(points, 1, belief.generator, self.features)

    def _means(self, belief: Belief) -> Paths | None:
        points, weights = belief.reference.points, belief.reference.weights
        return belief.surrogate.fourier_mean_paths(points, weights, 1, belief.generator, self.features)
