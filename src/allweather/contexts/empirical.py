"""The contexts seen so far, as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from allweather.contexts.base import Reference, seen, with_unseen
from allweather.contexts.learned import LearnedModel, point_masses
from allweather.errors import MAX_COUNT, require_count, require_number


@dataclass(frozen=True)
class Empirical(LearnedModel):
    """Every context seen so far with the same weight; repeated contexts become one point.

    Example:
        >>> seen = torch.tensor([[0.2], [0.6], [0.2]], dtype=torch.float64)
        >>> Empirical().reference(seen, 3, torch.Generator()).weights
        tensor([0.6667, 0.3333], dtype=torch.float64)
    """

    unseen: int = 0
    """Zero-weight points added where nature could go."""
    bootstrap: bool = True
    """Whether intervals account for how few contexts the law is learned from."""

    def __post_init__(self) -> None:
        require_count(self.unseen, "Empirical(unseen=...)", high=MAX_COUNT)

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The distinct contexts, weighted by how often each was seen."""
        contexts = seen(contexts, self)
        return with_unseen(merged(contexts, torch.ones(len(contexts), dtype=torch.float64)), self.unseen, generator)

    def log_component(self, contexts: Tensor, points: Tensor) -> Tensor:
        """Point masses."""
        return point_masses(contexts, points)


@dataclass(frozen=True)
class Drifting(LearnedModel):
    """The contexts seen so far, the older the lighter: a context loses half its weight every `half_life` steps.

    Example:
        >>> seen = torch.tensor([[0.1], [0.9]], dtype=torch.float64)
        >>> Drifting(half_life=1).reference(seen, 2, torch.Generator()).weights
        tensor([0.3333, 0.6667], dtype=torch.float64)
    """

    exchangeable: ClassVar[bool] = False

    half_life: float
    """After this many further observations a context weighs half as much."""
    unseen: int = 0
    """Zero-weight points added where nature could go."""
    bootstrap: bool = True
    """Whether intervals account for how few contexts the law is learned from."""

    def __post_init__(self) -> None:
        require_number(self.half_life, "Drifting(half_life=...)", above=0)
        require_count(self.unseen, "Drifting(unseen=...)", high=MAX_COUNT)

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The distinct contexts, weighted by how recently each was seen."""
        contexts = seen(contexts, self)
        return with_unseen(merged(contexts, self._faded(len(contexts))), self.unseen, generator)

    def component_weights(self, contexts: Tensor) -> Tensor:
        """Halved every `half_life` rows."""
        weights = self._faded(len(contexts))
        return weights / weights.sum()

    def log_component(self, contexts: Tensor, points: Tensor) -> Tensor:
        """Point masses."""
        return point_masses(contexts, points)

    def _faded(self, count: int) -> Tensor:
        """(t,) a half to the power of the age in half-lives."""
        age = torch.arange(count - 1, -1, -1, dtype=torch.float64)
        return torch.as_tensor(0.5 ** (age / self.half_life))


def merged(contexts: Tensor, weights: Tensor) -> Reference:
    """The distinct rows of `contexts` with their summed, normalised weights."""
    points, place = contexts.unique(dim=0, return_inverse=True)
    total = torch.zeros(len(points), dtype=torch.float64).index_add_(0, place, weights)
    return Reference(points, total / total.sum())
