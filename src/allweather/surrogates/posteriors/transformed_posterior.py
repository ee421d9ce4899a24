"""A posterior of transformed outcomes, in the outcomes' own units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from allweather.surrogates.base import ContextKernel, Field, Moments, Paths, Posterior
from allweather.surrogates.gp.outcome_transform import OutcomeTransform
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.step import Step

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(9)
NODES = torch.from_numpy(_NODES)
SHARES = torch.from_numpy(_SHARES / math.sqrt(2 * math.pi))
"""Gauss-Hermite quadrature of a standard normal law."""
SAMPLED_CONTEXTS = 32
"""Above twice as many contexts with shared weights, estimate the spread of a sum from a sample of this size."""


@dataclass(frozen=True, eq=False)
class TransformedPosterior(Posterior):
    """The posterior of outcomes, computed from that of transformed outcomes."""

    inner: Any
    """The posterior of transformed outcomes."""
    transform: OutcomeTransform

    def field(self, contexts: Tensor) -> TransformedField:
        """The field of transformed outcomes, and the way back."""
        return TransformedField(self.inner.field(contexts), self)

    def back(self, transformed: Tensor) -> Tensor:
        """Transformed outcomes in their own units."""
        return self.transform.inverse(transformed)

    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Samples of transformed outcomes, brought back."""
        paths = self.inner.paths(contexts, count, generator, features)
        return lambda decisions: self.back(paths(decisions))

    def fourier_paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Samples of transformed outcomes, brought back."""
        paths = self.inner.fourier_paths(contexts, count, generator, features)
        return lambda decisions: self.back(paths(decisions))

    def draws(self, decisions: Tensor, contexts: Tensor, count: int, generator: Generator) -> Tensor:
        """Samples of transformed outcomes, brought back."""
        return self.back(self.inner.draws(decisions, contexts, count, generator))

    def given(self, points: Tensor, values: Tensor | None = None) -> TransformedPosterior:
        """After further outcomes; without values they are the median ones."""
        return replace(self, inner=self.inner.given(points, None if values is None else self.transform(values)))

    def arranged(self, order: Sequence[int], split: int) -> TransformedPosterior:
        """With its columns in another order."""
        return replace(self, inner=self.inner.arranged(order, split))

    @property
    def order(self) -> tuple[int, ...] | None:
        """That of the warped outcomes' GP."""
        order: tuple[int, ...] | None = self.inner.order
        return order

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Those of the transformed outcomes' GP."""
        fitted: Hyperparameters = self.inner.hyperparameters
        return fitted

    @property
    def approximation(self) -> str:
        """That of the transformed outcomes' GP."""
        told: str = self.inner.approximation
        return told

    @property
    def information_gain(self) -> float | None:
        """That of the transformed outcomes' GP."""
        gained: float | None = self.inner.information_gain
        return gained

    @property
    def context_kernel(self) -> ContextKernel | None:
        """That of the transformed outcomes' GP."""
        kernel: ContextKernel | None = self.inner.context_kernel
        return kernel


class TransformedField(Field):
    """Moments of outcomes by quadrature of the transformed ones."""

    def __init__(self, inner: Field, posterior: TransformedPosterior) -> None:
        self._inner, self._posterior = inner, posterior
        self._sample: tuple[Tensor, tuple[Tensor, Field, Tensor]] | None = None
        """The last weights that all decisions shared, and the sample that stands for them."""

    @property
    def inner(self) -> Field:
        """The field of transformed outcomes."""
        return self._inner

    @property
    def transform(self) -> OutcomeTransform:
        """Of the outcomes."""
        return self._posterior.transform

    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation at every context."""
        mean, sd = self._inner(decisions)
        nodes, shares = NODES.to(mean.device), SHARES.to(mean.device)
        outcomes = self._posterior.back(mean[..., None] + sd[..., None] * nodes)
        first = outcomes @ shares
        second = (outcomes - first[..., None]).square() @ shares
        tiny = 1e-300  # the root of zero has no gradient
        return Moments(first, (second + tiny).sqrt())

    def combination(self, decisions: Tensor, weights: Tensor) -> Moments:
        """The mean, and the standard deviation to first order in the transformed outcomes."""
        weighed = self._linearised(decisions, weights)
        return Moments((self(decisions).mean * weights).sum(-1), self._inner.combination(decisions, weighed).sd)

    def combination_mean(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """Of median outcomes, which need no variance."""
        return self._posterior.back(self._inner.mean(decisions)) @ weights

    def upper(self, decisions: Tensor, weights: Tensor, width: float) -> Tensor:
        """Of the transformed outcomes, all raised by as much as their weighted mean may rise, then brought back.

        Where the scale is linear this is the bound of the sum; elsewhere a common shift bends with the scale.
        """
        chosen, some, few = self._some(weights)
        slope, totals = self._posterior.transform.slope, []

        def weigh(mean: Tensor) -> Tensor:
            weighed = few * slope(mean)
            totals.append(weighed.abs().sum(-1).clamp_min(1e-300))
            return weighed

        mean, sd = self._inner.mean_and_deviation(decisions, some, chosen, weigh)
        raised = mean + (width * sd / totals[0])[:, None]
        return (self._posterior.back(raised) * weights).sum(-1)

    def _some(self, weights: Tensor) -> tuple[Any, Field, Tensor]:
        """Contexts that show how far a sum may rise, all or a sample: their indices, the field there, their weights."""
        if weights.ndim > 1 or len(weights) <= 2 * SAMPLED_CONTEXTS:
            return slice(None), self._inner, weights
        if self._sample is None or self._sample[0] is not weights:
            source = torch.Generator().manual_seed(0)
            chosen = torch.multinomial(weights.cpu(), SAMPLED_CONTEXTS, replacement=True, generator=source).to(
                weights.device
            )
            self._sample = (
                weights,
                (chosen, self._inner.rough(chosen), weights.new_full((SAMPLED_CONTEXTS,), 1 / SAMPLED_CONTEXTS)),
            )
        return self._sample[1]

    def _linearised(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """The weights (b, n) of transformed outcomes that outcomes' weights are to first order; constants."""
        with torch.no_grad():
            return weights * self._posterior.transform.slope(self._inner.mean(decisions))

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> TransformedStep:
        """That of the transformed outcomes, with weights that bring it back."""
        return TransformedStep(self, compared, weights, contexts)

    def slopes(self, decisions: Tensor) -> Moments:
        """By the chain rule through the quadrature."""
        inner, change = self._inner(decisions), self._inner.slopes(decisions)
        nodes, shares = NODES.to(inner.mean.device), SHARES.to(inner.mean.device)
        transformed = inner.mean[..., None] + inner.sd[..., None] * nodes
        slope = self._posterior.transform.slope(transformed)
        outcomes, (mean, sd) = self._posterior.back(transformed), self(decisions)
        moved = slope[..., None] * (change.mean[..., None, :] + change.sd[..., None, :] * nodes[:, None])
        rising = (moved * shares[:, None]).sum(-2)
        spread = ((outcomes - mean[..., None])[..., None] * moved * shares[:, None]).sum(-2)
        return Moments(rising, spread / sd[..., None])

    def rough(self, chosen: Tensor) -> TransformedField:
        """At some of the contexts."""
        return TransformedField(self._inner.rough(chosen), self._posterior)


class TransformedStep(Step):
    """To first order in the transformed outcomes, which move along lines."""

    def __init__(self, field: TransformedField, compared: Tensor, weights: Tensor, contexts: Tensor) -> None:
        self._field = field
        self._inner = field._inner.step(compared, field._linearised(compared, weights), contexts)

    def __call__(self, decisions: Tensor) -> Tensor:
        """Slopes of the decisions compared."""
        return self._inner(decisions)

    def own(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """Slopes of the decisions themselves."""
        return self._inner.own(decisions, self._field._linearised(decisions, weights))


def transformed_outcomes(observations: Observations, place: str) -> tuple[Observations, OutcomeTransform | None]:
    """The observations with transformed outcomes, and the transform, if there is to be one and it can be.

    Args:
        observations: the outcomes as they are.
        place: what the transform is centred on; none where it is empty.
    """
    values, errors = observations.values, observations.sds
    transform = OutcomeTransform.around(place, values) if place else None
    if transform is None:
        return observations, None
    if errors is not None:  # to first order
        errors = errors * transform.log_jacobian(values).exp()
    return replace(observations, values=transform(values), sds=errors), transform
