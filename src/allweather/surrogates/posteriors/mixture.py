"""A posterior averaged over hyperparameters: an equal mixture of posteriors that differ in nothing else."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Generator, Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather.surrogates.approximations.low_rank import truncated_roots
from allweather.surrogates.base import ContextKernel, Field, Moments, Paths, Posterior
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.posteriors.field import ProductField
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.step import MeanStep
from allweather.surrogates.samples.joint_draws import (
    MAX_ROOT_COLUMNS,
    ROOT_TOLERANCE,
    Drawn,
    Noise,
    Truncated,
    mean_moments,
)

MIN_EFFECTIVE_DRAWS = 25
"""Below this many independent draws of the hyperparameters, say so."""


@dataclass(frozen=True, eq=False)
class MixturePosterior(Posterior):
    """An equal mixture of posteriors of the same data."""

    best: ProductPosterior
    """At the hyperparameters that fit best."""
    parts: tuple[ProductPosterior, ...]
    """At draws of the hyperparameters."""
    effective: float = math.inf
    """How many independent draws of the hyperparameters these are worth."""
    _roots: WeakTensorKeyDictionary = field(default_factory=WeakTensorKeyDictionary, repr=False)
    """What `draws` computed for contexts that are still in use."""

    def field(self, contexts: Tensor) -> MixtureField:
        """The fields of all parts."""
        return MixtureField([part.field(contexts) for part in self.parts])

    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Each sample has hyperparameters of its own."""
        return self._sampled(lambda part, n: part.paths(contexts, n, generator, features), count, generator)

    def fourier_paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Each sample has hyperparameters of its own."""
        return self._sampled(lambda part, n: part.fourier_paths(contexts, n, generator, features), count, generator)

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

    def mean_moments(self, decisions: Tensor, contexts: Tensor, laws: Tensor) -> Moments:
        """Those of the parts, each law under one of them; parts have about equally many laws."""
        roots, shares = self._truncated(contexts), laws.tensor_split(len(self.parts))
        found = [
            mean_moments(part.data, roots[_kernel(part)], decisions, contexts, own)
            for part, own in zip(self.parts, shares, strict=True)
            if len(own)
        ]
        return Moments(torch.cat([each.mean for each in found]), torch.cat([each.sd for each in found]))

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
            roots = truncated_roots(self.best.data.kernel.factor, points, MAX_ROOT_COLUMNS, ROOT_TOLERANCE)
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
        """That of the hyperparameters that fit best, and where few draws stand for the others."""
        few = f"intervals rest on {self.effective:.0f} independent draws of the hyperparameters"
        notes = [self.best.approximation, few if self.effective < MIN_EFFECTIVE_DRAWS else ""]
        return "; ".join(note for note in notes if note)

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
        return MixturePosterior(change(self.best), tuple(change(part) for part in self.parts), self.effective)

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


class MixtureField(Field):
    """Moments of an equal mixture: the spread of the parts' means adds to their variances.

    The parts share their data, so that means and weighted sums of all parts are computed at once.
    """

    def __init__(self, fields: Sequence[ProductField]) -> None:
        self._fields = list(fields)
        kernels = [field.data.kernel for field in fields]
        data = fields[0].data
        self._points = data.points[:, : kernels[0].split]
        self._factor = kernels[0].factor
        self._precisions = torch.stack([kernel.lengthscales[: kernel.split] for kernel in kernels]) ** -2.0  # (k, d_x)
        self._outputscales = torch.stack([kernel.outputscale for kernel in kernels])
        self._units = data.shift, data.scale
        self._means = torch.tensor([field.data.mean for field in fields], dtype=torch.float64).to(data.points.device)
        self._weights = torch.stack([field.data.weights for field in fields])  # (k, t)
        self._unroots = torch.stack([field.data.unroot for field in fields])  # (k, t, t)

    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation at every context."""
        return _mixed(*_stacked([field(decisions) for field in self._fields]))

    def mean(self, decisions: Tensor) -> Tensor:
        """The mean alone."""
        return torch.stack([field.mean(decisions) for field in self._fields]).mean(0)

    def combination(self, decisions: Tensor, weights: Tensor) -> Moments:
        """Of weighted sums over the contexts; all parts at once where decisions share their weights."""
        if weights.ndim > 1:
            return _mixed(*_stacked([field.combination(decisions, weights) for field in self._fields]))
        bound = [field.shared(weights) for field in self._fields]
        with_data, for_spread, variance = (torch.stack(part) for part in zip(*bound, strict=True))  # (k, t) twice, (k,)
        near = self._near(decisions)  # (k, b, t)
        at_data = near * with_data[:, None]
        explained = ((near * for_spread[:, None]) @ self._unroots.mT).square().sum(-1)
        total, (shift, scale) = weights.sum(), self._units
        means = shift * total + scale * (self._means[:, None] * total + (at_data @ self._weights[..., None])[..., 0])
        prior = (self._outputscales * variance)[:, None]
        return _mixed(means, scale * (prior - explained).maximum(1e-12 * prior).sqrt())

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> MeanStep:
        """The mean of the parts' steps."""
        return MeanStep([field.step(compared, weights, contexts) for field in self._fields])

    def slopes(self, decisions: Tensor) -> Moments:
        """Derivatives of the mixture's moments."""
        means, sds = _stacked([field(decisions) for field in self._fields])
        rising, widening = _stacked([field.slopes(decisions) for field in self._fields])
        mean, sd = _mixed(means, sds)
        slope = rising.mean(0)
        second = (sds[..., None] * widening + means[..., None] * rising).mean(0)
        return Moments(slope, (second - mean[..., None] * slope) / sd[..., None])

    def rough(self, chosen: Tensor) -> MixtureField:
        """The parts at some of the contexts."""
        return MixtureField([field.rough(chosen) for field in self._fields])

    def _near(self, decisions: Tensor) -> Tensor:
        """(k, b, t) the parts' prior covariances with the data as far as the decisions decide them."""
        apart = decisions[:, None] - self._points  # (b, t, d_x)
        if self._factor.columns and apart.shape[-1]:
            rates = self._precisions.sqrt().T[..., None, None]  # (d_x, k, 1, 1)
            distances = (rate * each for each, rate in zip(apart.abs().unbind(-1), rates, strict=True))
            return self._outputscales[:, None, None] * self._factor.product(distances)
        squared = torch.einsum("btd,kd->kbt", apart.square(), self._precisions)
        return self._outputscales[:, None, None] * self._factor.of(squared)


def _stacked(parts: Sequence[Moments]) -> tuple[Tensor, Tensor]:
    return torch.stack([part.mean for part in parts]), torch.stack([part.sd for part in parts])


def _mixed(means: Tensor, sds: Tensor) -> Moments:
    """The moments of a mixture whose parts are stacked in front."""
    mean = means.mean(0)
    return Moments(mean, ((means - mean).square() + sds.square()).mean(0).sqrt())
