"""Thompson sampling: the best decision for one function that could be the true one."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, Score
from allweather.errors import require_count
from allweather.objectives import Band


@dataclass(frozen=True)
class Thompson(Acquisition):
    """The objective of one posterior sample path (bocu, Alg. 1), drawn once per decision asked for."""

    features: int = 1024
    """Random cosines that make the prior's sample."""

    def __post_init__(self) -> None:
        require_count(self.features, "Thompson(features=...)", low=1)

    def build(self, belief: Belief) -> Score:
        """The sampled function's objective."""
        path = belief.surrogate.paths(belief.reference.points, 1, belief.generator, self.features)

        def score(decisions: Tensor) -> Tensor:
            return belief.objective.upper(Band(path(decisions)[0]), belief.reference)

        return score
