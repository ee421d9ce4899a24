"""A posterior averaged over hyperparameters: an equal mixture of posteriors that differ in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather.surrogates.base import ContextKernel, Paths, Posterior
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.low_rank import truncated_roots
from allweather.surrogates.mixture_field import MixtureField
from allweather.surrogates.posterior import DRAW_RANK, DRAW_TOLERANCE, ProductPosterior


@dataclass(frozen=True, eq=False)
class MixturePosterior(Posterior):
    """An equal mixture of posteriors of the same data."""

    best: ProductPosterior
    """At the hyperparameters that fit best."""
    parts: tuple[ProductPosterior, ...]
    """At draws of the hyperparameters."""
    _roots: WeakTensorKeyDictionary = field(default_factory=WeakTensorKeyDictionary, repr=False)
    """What `draws` computed for contexts that are still in use."""

    def field(self, contexts: Tensor) -> MixtureField:
        """The fields of all parts."""
        return MixtureField([part.field(contexts) for part in self.parts])

    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Each sample has hyperparameters of its own."""
        return self._sampled(lambda part, n: part.paths(contexts, n, generator, features), count, generator)

    def fourier_paths(
        self, contexts: Tensor, count: int, generator: Generator, features: int = 1024, pairs: bool = True
    ) -> Paths:
        """Each sample has hyperparameters of its own."""
        return self._sampled(
            lambda part, n: part.fourier_paths(contexts, n, generator, features, pairs), count, generator
        )

    def draws(self, decisions: Tensor, contexts: Tensor, count: int, generator: Generator) -> Tensor:
        """Samples of the parts, as many of each, in no order."""
        shares = self._shares(count, generator)
        parts = [(part, n) for part, n in zip(self.parts, shares, strict=True) if n]
        roots = self._roots.get(contexts)
        if roots is None:  # of all parts: which ones are needed depends on the generator
            points = torch.stack([part.scaled_contexts(contexts) for part in self.parts])
            found = truncated_roots(self.best.data.kernel.factor, points, DRAW_RANK, DRAW_TOLERANCE)
            roots = self._roots[contexts] = dict(zip(map(id, self.parts), found, strict=True))
        drawn = [part.draws_with(roots[id(part)], decisions, contexts, n, generator) for part, n in parts]
        return torch.cat(drawn)[torch.randperm(count, generator=generator)]

    def given(self, points: Tensor, values: Tensor | None = None) -> MixturePosterior:
        """Every part after further outcomes."""
        return self._each(lambda part: part.given(points, values))

    def arranged(self, order: Sequence[int], split: int) -> MixturePosterior:
        """Every part with its columns in another order."""
        return self._each(lambda part: part.arranged(order, split))

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Those that fit best."""
        return self.best.hyperparameters

    @property
    def approximation(self) -> str:
        """That of the hyperparameters that fit best."""
        return self.best.approximation

    @property
    def information_gain(self) -> float:
        """At the hyperparameters that fit best."""
        return self.best.information_gain

    @property
    def context_kernel(self) -> ContextKernel | None:
        """At the hyperparameters that fit best."""
        return self.best.context_kernel

    def model(self) -> Any:
        """The BoTorch model of the hyperparameters that fit best."""
        return self.best.model()

    def _each(self, change: Callable[[ProductPosterior], ProductPosterior]) -> MixturePosterior:
        return MixturePosterior(change(self.best), tuple(change(part) for part in self.parts))

    def _shares(self, count: int, generator: Generator) -> list[int]:
        """How many of `count` samples each part gives: as equal as can be, the rest by lot."""
        k = len(self.parts)
        shares = torch.full((k,), count // k)
        shares[torch.randperm(k, generator=generator)[: count % k]] += 1
        return [int(share) for share in shares]

    def _sampled(self, sample: Callable[[ProductPosterior, int], Paths], count: int, generator: Generator) -> Paths:
        shares = self._shares(count, generator)
        paths = [sample(part, n) for part, n in zip(self.parts, shares, strict=True) if n]
        return lambda decisions: torch.cat([path(decisions) for path in paths])
