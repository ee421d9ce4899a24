"""A posterior averaged over hyperparameters: an equal mixture of posteriors that differ in nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Generator, Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather.surrogates.base import ContextKernel, Paths, Posterior
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.joint_draws import RANK, TOLERANCE, Drawn, Noise, Truncated
from allweather.surrogates.low_rank import truncated_roots
from allweather.surrogates.mixture_field import MixtureField
from allweather.surrogates.posterior import ProductPosterior


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
        groups, places = self._drawn(contexts, count, generator)
        drawn = torch.cat([group.values(decisions, contexts) for group in groups])
        return drawn[places]

    def mean_draws(self, decisions: Tensor, contexts: Tensor, laws: Tensor, count: int, generator: Generator) -> Tensor:
        """Draws of one number for each decision, however many contexts there are."""
        groups, places = self._drawn(contexts, count, generator)
        laws = laws[places.argsort()]  # of each draw before they are shuffled
        sizes = [sum(len(noise.features) for noise in group.noises) for group in groups]
        drawn = [group.means(decisions, contexts, law) for group, law in zip(groups, laws.split(sizes), strict=True)]
        return torch.cat(drawn)[places]

    def _drawn(self, contexts: Tensor, count: int, generator: Generator) -> tuple[list[Drawn], Tensor]:
        """Draws of the parts, those of equal kernels together, and where (count,) each draw comes from."""
        roots, groups = self._truncated(contexts), defaultdict[Hyperparameters, list[tuple[int, Noise]]](list)
        for number, (part, share) in enumerate(zip(self.parts, self._shares(count, generator), strict=True)):
            if share:
                noise = Noise.draw(share, roots[_kernel(part)], len(contexts), generator)
                groups[_kernel(part)].append((number, noise))
        order = [number for members in groups.values() for number, _ in members]
        noises = dict(member for members in groups.values() for member in members)
        starts = torch.tensor([0, *(len(noises[number].features) for number in order)]).cumsum(0)
        place = dict(zip(order, starts.tolist(), strict=False))
        listed = [torch.arange(len(noises[each].features)) + place[each] for each in sorted(noises)]
        shuffled = torch.cat(listed)[torch.randperm(count, generator=generator)]
        made = [
            Drawn([self.parts[number].data for number, _ in members], [noise for _, noise in members], roots[kernel])
            for kernel, members in groups.items()
        ]
        return made, shuffled.to(contexts.device)

    def _truncated(self, contexts: Tensor) -> dict[Hyperparameters, Truncated]:
        """Roots of the context kernels, of all parts: which ones are needed depends on the generator."""
        found: dict[Hyperparameters, Truncated] | None = self._roots.get(contexts)
        if found is None:
            distinct = {_kernel(part): part for part in self.parts}
            points = torch.stack([part.scaled_contexts(contexts) for part in distinct.values()])
            roots = truncated_roots(self.best.data.kernel.factor, points, RANK, TOLERANCE)
            found = self._roots[contexts] = dict(zip(distinct, roots, strict=True))
        return found

    def given(self, points: Tensor, values: Tensor | None = None) -> MixturePosterior:
        """Every part after further outcomes."""
        return self._each(lambda part: part.given(points, values))

    def arranged(self, order: Sequence[int], split: int) -> MixturePosterior:
        """Every part with its columns in another order."""
        return self._each(lambda part: part.arranged(order, split))

    @property
    def order(self) -> tuple[int, ...] | None:
        """That of the parts."""
        return self.best.order

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


def _kernel(part: ProductPosterior) -> Hyperparameters:
    """What parts of equal covariance share: all but the constant mean."""
    return replace(part.fitted, mean=0.0)
