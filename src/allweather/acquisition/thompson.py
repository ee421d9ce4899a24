"""Thompson sampling: the best decision for one function that could be the true one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.errors import MAX_COUNT, require_count
from allweather.objectives import Band
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
        score = _Sampled(belief, self._path(belief))
        if rough is not None:  # the same function at fewer contexts
            again = torch.Generator().set_state(state)
            score.rough = _Sampled(rough, self._path(replace(rough, generator=again)))
        limit = belief.objective.ceiling(belief.reference)
        if limit is not None:
            score.bound = lambda decisions: limit(score.band(decisions))
        return score

    def _path(self, belief: Belief) -> Paths:
        return belief.surrogate.paths(belief.reference.points, 1, belief.generator, self.features)


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
