"""Interfaces of surrogates: a `Surrogate` fits a `Posterior`, which is bound to contexts as a `Field`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Generator, Tensor

from allweather.errors import InvalidInput
from allweather.space import Space
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.quadrature import Quadrature
from allweather.surrogates.posteriors.step import Step


class Moments(NamedTuple):
    """Posterior mean and standard deviation, one row per decision."""

    mean: Tensor
    """(b, n)"""
    sd: Tensor
    """(b, n)"""


Weigh = Callable[[Tensor], Tensor]
"""Means (b, m) to the weights (b, m) of a sum."""


class Field(ABC):
    """The posterior bound to a set of contexts: a function of decisions only."""

    @abstractmethod
    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation (b, n) for decisions (b, d_x) at every context, differentiable."""

    def mean(self, decisions: Tensor) -> Tensor:
        """The mean (b, n) alone."""
        return self(decisions).mean

    def combination(self, decisions: Tensor, weights: Tensor) -> Moments:
        """Mean and standard deviation (b,) of weighted sums of values over the contexts, differentiable in decisions.

        Without a joint law of the contexts' values the standard deviation is its upper bound `|weights| . sd`.

        Args:
            decisions: (b, d_x).
            weights: (n,) the same for all decisions, or (b, n) one row each; they are constants.
        """
        mean, sd = self(decisions)
        return Moments((mean * weights).sum(-1), (sd * weights.abs()).sum(-1))

    def combination_mean(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """The mean (b,) of weighted sums over the contexts, weights (n,) the same for all decisions."""
        return self.mean(decisions) @ weights

    def mean_and_deviation(self, decisions: Tensor, some: Field, chosen: Any, weigh: Weigh) -> tuple[Tensor, Tensor]:
        """The mean (b, n), and the standard deviation (b,) of a sum over some contexts, weighted by what the mean is.

        Args:
            decisions: (b, d_x).
            some: this field at some of its contexts.
            chosen: which ones, as an index.
            weigh: from the mean (b, m) at these contexts to weights (b, m), which are constants.
        """
        mean = self.mean(decisions)
        return mean, some.combination(decisions, weigh(mean[:, chosen])).sd

    def upper(self, decisions: Tensor, weights: Tensor, width: float) -> Tensor:
        """The upper confidence bound (b,) of weighted sums over the contexts, weights as in `combination`."""
        mean, sd = self.combination(decisions, weights)
        return mean + width * sd

    def quadrature(self, weights: Tensor, width: float) -> Quadrature | None:
        """The upper confidence bound of a weighted mean with its gradient in closed form, where there is one.

        Args:
            weights: (n,) of the contexts.
            width: of the confidence bound; 0 for the mean itself.
        """
        return None

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> Step:
        """How the outcome of one trial moves the means of weighted sums over the field's contexts.

        Args:
            compared: (M, d_x) decisions whose sums are looked at.
            weights: (n,) the same for all of them, or (M, n).
            contexts: (m, d_c) that the trial may meet.
        """
        name = type(self).__name__
        problem = f"needs covariances between outcomes, which `{name}` does not have: write its `step`, or use `GP()`"
        raise InvalidInput(problem, where="KnowledgeGradient()")

    def mean_bound(self, decisions: Tensor, weights: Tensor, width: float) -> Tensor | None:
        """An upper bound (b,) of the weighted mean of `mean + width * sd`, if there is one that costs much less.

        Args:
            decisions: (b, d_x).
            weights: (n,) non-negative, of sum 1.
            width: of the confidence bound.
        """
        return None

    @abstractmethod
    def slopes(self, decisions: Tensor) -> Moments:
        """Derivatives of mean and standard deviation in the context, (b, n, d_c) each, differentiable."""

    def steepness(self, decisions: Tensor, width: float) -> Tensor:
        """The largest norm (b,) of the derivative of `mean + width * sd` in the context, differentiable."""
        slope = self.slopes(decisions)
        tiny = 1e-300  # the root of zero has no gradient
        norms = ((slope.mean + width * slope.sd).square().sum(-1) + tiny).sqrt()
        return norms.amax(-1)

    @abstractmethod
    def rough(self, chosen: Tensor) -> Field:
        """The field at some of its contexts, by their indices (m,), good enough to tell decisions apart."""


ContextKernel = Callable[[Tensor, Tensor], Tensor]
"""Contexts (n, d_c) and (m, d_c) to covariances (n, m)."""

Paths = Callable[[Tensor], Tensor]
"""Posterior samples bound to contexts: decisions (b, d_x) to values (samples, b, n), differentiable."""


class Posterior(ABC):
    """What is known about the function after the observations, in the outcome's units."""

    @abstractmethod
    def field(self, contexts: Tensor) -> Field:
        """The posterior at contexts (n, d_c): bound once, used for many decisions."""

    @abstractmethod
    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """`count` samples of the whole function, bound to contexts (n, d_c); more features, better samples."""

    def mean_paths(
        self, contexts: Tensor, weights: Tensor, count: int, generator: Generator, features: int = 1024
    ) -> Paths | None:
        """Means over contexts of what `paths` returns, (samples, b, 1), where they are much cheaper; None elsewhere.

        Args:
            contexts: (n, d_c).
            weights: (n,) of sum 1.
            count: how many samples.
            generator: the source of the samples.
            features: as for `paths`.
        """
        return None

    def fourier_paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """Samples of a linear model on random Fourier features in place of the surrogate, where it has them.

        Args:
            contexts: (n, d_c) where values are wanted.
            count: how many samples.
            generator: the source of the samples.
            features: number of frequencies.
        """
        raise InvalidInput(f"`{type(self).__name__}` has no random Fourier features: use `Thompson()`")

    def fourier_mean_paths(
        self, contexts: Tensor, weights: Tensor, count: int, generator: Generator, features: int = 1024
    ) -> Paths | None:
        """Means over contexts of what `fourier_paths` returns, where they are much cheaper; None elsewhere.

        Args:
            contexts: (n, d_c).
            weights: (n,) of sum 1.
            count: how many samples.
            generator: the source of the samples.
            features: number of frequencies.
        """
        return None

    @abstractmethod
    def given(self, points: Tensor, values: Tensor | None = None) -> Posterior:
        """The posterior after further outcomes at joint points (m, d), hyperparameters unchanged.

        Without values the outcomes are what is expected: the mean stays and only the uncertainty shrinks.
        """

    def following(self, earlier: Posterior) -> Posterior:
        """This posterior, with what was computed for an earlier one of the same study, as far as it still holds.

        Args:
            earlier: of fewer outcomes.
        """
        return self

    def arranged(self, order: Sequence[int], split: int) -> Posterior:
        """The same posterior when columns come in another order and the first `split` of them are decisions.

        `order` says which of its columns each of the new ones is.
        """
        raise InvalidInput(f"`{type(self).__name__}` cannot be split in several ways: with control sets use `GP()`")

    @property
    def order(self) -> tuple[int, ...] | None:
        """Which column of the fitted points each column is, where they were arranged."""
        return None

    @property
    def approximation(self) -> str:
        """What was approximated, as the beginning of a sentence; empty where the posterior is exact."""
        return ""

    @property
    def hyperparameters(self) -> Hyperparameters | None:
        """Where the next fit may start, if it can."""
        return None

    @property
    def outliers(self) -> tuple[int, ...]:
        """Places of the outcomes that it was not fitted to, since they count as outliers."""
        fitted = self.hyperparameters
        return () if fitted is None else fitted.outliers

    @property
    def information_gain(self) -> float | None:
        """`0.5 log det(I + K / noise)` of the data, if the surrogate has one."""
        return None

    @property
    def context_kernel(self) -> ContextKernel | None:
        """The fitted kernel between contexts at equal decisions, of standardised outcomes, if there is one."""
        return None

    def draws(self, decisions: Tensor, contexts: Tensor, count: int, generator: Generator) -> Tensor:
        """Samples (count, b, n) of the posterior at decisions x contexts."""
        with torch.no_grad():
            return self.paths(contexts, count, generator)(decisions)

    def mean_draws(self, decisions: Tensor, contexts: Tensor, laws: Tensor, count: int, generator: Generator) -> Tensor:
        """Means (count, b) of `draws` over the contexts, each under a law of its own.

        Args:
            decisions: (b, d_x).
            contexts: (n, d_c).
            laws: (count, n) weights of the contexts.
            count: how many draws.
            generator: the source of the draws, which are those of `draws`.
        """
        return torch.einsum("kbn,kn->kb", self.draws(decisions, contexts, count, generator), laws)

    def mean_moments(self, decisions: Tensor, contexts: Tensor, laws: Tensor) -> Moments | None:
        """Normal laws (k, b) whose equal mixture over k is that of `mean_draws`; None where it is no such mixture.

        Args:
            decisions: (b, d_x).
            contexts: (n, d_c).
            laws: (k, n) weights of the contexts.
        """
        return None


class Surrogate(ABC):
    """A model to fit: from observations to a posterior."""

    @abstractmethod
    def fit(self, observations: Observations, start: Hyperparameters | None = None) -> Posterior:
        """The posterior after at least one observation, from the hyperparameters of an earlier fit if there are any."""

    def resume(self, observations: Observations, fitted: Hyperparameters) -> Posterior:
        """The posterior at hyperparameters that were fitted to these very observations before."""
        return self.fit(observations, fitted)

    def averaged(self, observations: Observations, posterior: Posterior) -> Posterior:
        """Return the posterior that intervals are drawn from: averaged over hyperparameters, where they are uncertain.

        Args:
            observations: the outcomes it was fitted to.
            posterior: what `fit` or `resume` returned for them.
        """
        return posterior

    def wary(self, observations: Observations, posterior: Posterior, level: float) -> Posterior:
        """Return the posterior that says which decisions are safe: `averaged`, without hopes that data do not support.

        Args:
            observations: the outcomes it was fitted to.
            posterior: what `fit` or `resume` returned for them.
            level: what outcomes must reach; nothing is expected to where nothing is known.
        """
        return self.averaged(observations, posterior)

    def on(self, space: Space) -> Self:
        """This surrogate for the variables of a space."""
        return self

    def over_columns(self) -> Self:
        """This surrogate where control sets split the columns in several ways: posteriors can be `arranged`."""
        return self

    def facing(self, sign: int) -> Self:
        """This surrogate for outcomes times `sign`: -1 where smaller ones are better."""
        return self
