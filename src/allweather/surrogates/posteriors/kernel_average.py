"""A posterior averaged over models whose kernels are of different families, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Generator, Tensor

from allweather.surrogates.base import ContextKernel, Field, Moments, Paths, Posterior
from allweather.surrogates.hyperparameters import KernelHyperparameters
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.quadrature import Quadrature
from allweather.surrogates.posteriors.step import MeanStep


@dataclass(frozen=True, eq=False)
class KernelAveragePosterior(Posterior):
    """A mixture of the posteriors of several models of the same data."""

    members: tuple[ProductPosterior | MixturePosterior, ...]
    """One for each kernel, the first of which the hyperparameters begin with."""
    weights: tuple[float, ...]
    """Of the members, of sum 1."""
    averaged_bounds: bool = False
    """Whether a standard deviation is the mean of the members', in place of the mixture's."""

    @property
    def best(self) -> ProductPosterior:
        """The member with the largest weight, at the hyperparameters that fit best."""
        member = self.members[max(range(len(self.weights)), key=self.weights.__getitem__)]
        return member.best if isinstance(member, MixturePosterior) else member

    def field(self, contexts: Tensor) -> KernelAverageField:
        """The fields of all members."""
        fields = [member.field(contexts) for member in self.members]
        return KernelAverageField(fields, self.weights, self.averaged_bounds)

    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Each sample has a kernel of its own."""
        return self._sampled(lambda member, n: member.paths(contexts, n, generator, features), count, generator)

    def fourier_paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Each sample has a kernel of its own."""
        return self._sampled(lambda member, n: member.fourier_paths(contexts, n, generator, features), count, generator)

    def draws(self, decisions: Tensor, contexts: Tensor, count: int, generator: Generator) -> Tensor:
        """Samples of the members, as many of each as its weight says, in no order."""
        shares = self._shares(count, generator)
        parts = zip(self.members, shares, strict=True)
        drawn = [member.draws(decisions, contexts, n, generator) for member, n in parts if n]
        return torch.cat(drawn)[torch.randperm(count, generator=generator).to(decisions.device)]

    def mean_draws(self, decisions: Tensor, contexts: Tensor, laws: Tensor, count: int, generator: Generator) -> Tensor:
        """Those of the members, each draw under a law of its own."""
        shares = self._shares(count, generator)
        order = torch.randperm(count, generator=generator).to(decisions.device)
        parts = zip(self.members, laws[order.argsort()].split(shares), shares, strict=True)
        drawn = [member.mean_draws(decisions, contexts, law, n, generator) for member, law, n in parts if n]
        return torch.cat(drawn)[order]

    def mean_moments(self, decisions: Tensor, contexts: Tensor, laws: Tensor) -> Moments:
        """Those of the members, each under a share of the laws."""
        parts = zip(self.members, laws.split(allotted(len(laws), self.weights)), strict=True)
        found = [member.mean_moments(decisions, contexts, law) for member, law in parts if len(law)]
        return Moments(torch.cat([each.mean for each in found]), torch.cat([each.sd for each in found]))

    def given(self, points: Tensor, values: Tensor | None = None) -> KernelAveragePosterior:
        """Every member after further outcomes; without values these are what each of them expects."""
        return self._each(lambda member: member.given(points, values))

    def arranged(self, order: Sequence[int], split: int) -> KernelAveragePosterior:
        """Every member with its columns in another order."""
        return self._each(lambda member: member.arranged(order, split))

    @property
    def order(self) -> tuple[int, ...] | None:
        """That of the members."""
        return self.members[0].order

    @property
    def hyperparameters(self) -> KernelHyperparameters:
        """Those of all members."""
        first, *others = (member.hyperparameters for member in self.members)
        return KernelHyperparameters(**{**vars(first), "others": tuple(others)})

    @property
    def approximation(self) -> str:
        """Those of the members, each once."""
        notes = dict.fromkeys(member.approximation for member in self.members)
        return "; ".join(note for note in notes if note)

    @property
    def information_gain(self) -> float:
        """The weighted mean of the members'."""
        gains = (member.information_gain for member in self.members)
        return sum(weight * gain for weight, gain in zip(self.weights, gains, strict=True))

    @property
    def context_kernel(self) -> ContextKernel | None:
        """The weighted mean of the members'."""
        kernels = [kernel for member in self.members if (kernel := member.context_kernel) is not None]
        parts = list(zip(self.weights, kernels, strict=True))
        return lambda a, b: torch.stack([weight * kernel(a, b) for weight, kernel in parts]).sum(0)

    def _each(
        self, change: Callable[[ProductPosterior | MixturePosterior], ProductPosterior | MixturePosterior]
    ) -> KernelAveragePosterior:
        return replace(self, members=tuple(change(member) for member in self.members))

    def _shares(self, count: int, generator: Generator) -> list[int]:
        """How many of `count` samples each member gives; what is left of its weight is drawn by lot."""
        expected = torch.tensor(self.weights, dtype=torch.float64) * count
        shares = expected.floor().long()
        missing = count - int(shares.sum())
        if missing:
            left = (expected - shares).clamp_min(1e-12)
            shares[torch.multinomial(left, missing, generator=generator)] += 1
        return [int(share) for share in shares]

    def _sampled(self, sample: Callable[[Posterior, int], Paths], count: int, generator: Generator) -> Paths:
        shares = self._shares(count, generator)
        paths = [sample(member, n) for member, n in zip(self.members, shares, strict=True) if n]
        return lambda decisions: torch.cat([path(decisions) for path in paths])


class KernelAverageField(Field):
    """Moments of a weighted mixture: the spread of the members' means adds to their variances.

    With averaged bounds the standard deviation is the weighted mean of the members', so that an upper bound is the
    weighted mean of theirs.
    """

    def __init__(self, fields: Sequence[Field], weights: Sequence[float], averaged_bounds: bool) -> None:
        self._fields, self._weights, self._averaged = list(fields), tuple(weights), averaged_bounds

    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation at every context."""
        return self._mixed([field(decisions) for field in self._fields])

    def mean(self, decisions: Tensor) -> Tensor:
        """The mean alone."""
        return self._sum([field.mean(decisions) for field in self._fields])

    def combination(self, decisions: Tensor, weights: Tensor) -> Moments:
        """Of weighted sums over the contexts."""
        return self._mixed([field.combination(decisions, weights) for field in self._fields])

    def combination_mean(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """The mean alone of weighted sums."""
        return self._sum([field.combination_mean(decisions, weights) for field in self._fields])

    def quadrature(self, weights: Tensor, width: float) -> Quadrature | None:
        """The mean of the members' bounds in closed form, where that is the bound."""
        if width and not self._averaged:
            return None
        found = [field.quadrature(weights, width) for field in self._fields]
        parts = [each for each in found if each is not None]
        return MeanQuadrature(parts, self._weights) if len(parts) == len(found) else None

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> MeanStep:
        """The weighted mean of the members' steps."""
        return MeanStep([field.step(compared, weights, contexts) for field in self._fields], self._weights)

    def slopes(self, decisions: Tensor) -> Moments:
        """Derivatives of the moments."""
        moments = [field(decisions) for field in self._fields]
        slopes = [field.slopes(decisions) for field in self._fields]
        rising = self._sum([slope.mean for slope in slopes])
        if self._averaged:
            return Moments(rising, self._sum([slope.sd for slope in slopes]))
        mean, sd = self._mixed(moments)
        second = self._sum(
            [
                each.sd[..., None] * slope.sd + each.mean[..., None] * slope.mean
                for each, slope in zip(moments, slopes, strict=True)
            ]
        )
        return Moments(rising, (second - mean[..., None] * rising) / sd[..., None])

    def rough(self, chosen: Tensor) -> KernelAverageField:
        """The members at some of the contexts."""
        return KernelAverageField([field.rough(chosen) for field in self._fields], self._weights, self._averaged)

    def _sum(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack([weight * part for weight, part in zip(self._weights, parts, strict=True)]).sum(0)

    def _mixed(self, parts: Sequence[Moments]) -> Moments:
        mean = self._sum([part.mean for part in parts])
        if self._averaged:
            return Moments(mean, self._sum([part.sd for part in parts]))
        return Moments(mean, self._sum([(part.mean - mean).square() + part.sd.square() for part in parts]).sqrt())


class MeanQuadrature(Quadrature):
    """The weighted mean of upper confidence bounds, with its gradient."""

    def __init__(self, parts: Sequence[Quadrature], weights: Sequence[float]) -> None:
        self._parts = list(zip(weights, parts, strict=True))

    def values(self, points: np.ndarray) -> np.ndarray:
        """The bound (b,) at decisions (b, d_x)."""
        return np.asarray(sum(weight * part.values(points) for weight, part in self._parts))

    def slopes(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bound (b,) at decisions (b, d_x), and its gradient (b, d_x)."""
        found = [(weight, *part.slopes(points)) for weight, part in self._parts]
        values = sum(weight * value for weight, value, _ in found)
        return np.asarray(values), np.asarray(sum(weight * slope for weight, _, slope in found))


def allotted(count: int, weights: Sequence[float]) -> list[int]:
    """Split a number as weights say, as well as whole numbers can.

    Args:
        count: the number.
        weights: of sum 1.

    Example:
        >>> allotted(10, [0.5, 0.26, 0.24])
        [5, 3, 2]
    """
    ends = np.round(np.cumsum([0.0, *weights]) / sum(weights) * count).astype(int)
    return [int(size) for size in np.diff(ends)]
