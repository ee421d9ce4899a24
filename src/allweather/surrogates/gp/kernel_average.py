"""An average over Gaussian processes with different kernels, for functions whose smoothness is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from allweather.errors import InvalidInput, require
from allweather.space import Space
from allweather.surrogates.base import Posterior, Surrogate
from allweather.surrogates.gp.gp import GP
from allweather.surrogates.hyperparameters import Hyperparameters, KernelHyperparameters
from allweather.surrogates.kernels import over_columns, require_family
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.kernel_average import KernelAveragePosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior, transformed_outcomes

KERNELS = ("rbf", "rational-quadratic", "matern32", "matern52")
"""Those of LEDRBO."""
COMMON = GP()


@dataclass(frozen=True, eq=False)
class KernelAverage(Surrogate):
    """Gaussian processes that differ in their kernel, each fitted by itself; predictions are averaged over them.

    Reference: T. Ramazyan and D. Derkach, "Ensemble distributionally robust Bayesian optimisation", arXiv:2605.07565,
    whose LEDRBO averages the upper bounds of four kernels (`bounds="average"`).

    Example:
        >>> table = Observations.of([[0.0], [0.5], [1.0]], [[0.5]] * 3, [0.0, 1.0, 0.0])
        >>> posterior = KernelAverage(kernels=["rbf", "matern32"]).fit(table)
        >>> mean, sd = posterior.field(table.contexts[:1])(table.decisions)
        >>> bool(mean[1, 0] > mean[0, 0])
        True
    """

    kernels: Sequence[str] = KERNELS
    """Of `GP`, two or more."""
    surrogate: GP = COMMON
    """What the models have in common; each has a kernel of `kernels` in place of its own."""
    weights: Literal["equal", "evidence"] = "equal"
    """`evidence` weighs each model by the posterior density of its hyperparameters."""
    bounds: Literal["mixture", "average"] = "mixture"
    """What the standard deviation is while a decision is sought: that of the mixture, which grows where the models
    disagree, or the average of theirs, so that an upper bound is the average of their bounds."""

    def __post_init__(self) -> None:
        listed = () if isinstance(self.kernels, str) else tuple(self.kernels)
        require(len(listed) > 1, "KernelAverage(kernels=...)", "be two or more kernels", self.kernels)
        for kernel in listed:
            require_family(kernel, "KernelAverage(kernels=...)")
        distinct = len(set(listed)) == len(listed)
        require(distinct, "KernelAverage(kernels=...)", "be different kernels", list(listed))
        require(isinstance(self.surrogate, GP), "KernelAverage(surrogate=...)", "be a GP", self.surrogate)
        for name, options in (("weights", ("equal", "evidence")), ("bounds", ("mixture", "average"))):
            where = f"KernelAverage({name}=...)"
            require(getattr(self, name) in options, where, f"be {' or '.join(options)}", getattr(self, name))
        object.__setattr__(self, "kernels", listed)

    @property
    def members(self) -> list[GP]:
        """One GP for each kernel."""
        return [replace(self.surrogate, kernel=kernel) for kernel in self.kernels]

    def on(self, space: Space) -> Self:
        """This average with the lengthscales that are given by column of the space."""
        return replace(self, surrogate=self.surrogate.on(space))

    def over_columns(self) -> Self:
        """This average with kernels that are products over columns."""
        return replace(self, kernels=tuple(over_columns(kernel) for kernel in self.kernels))

    def facing(self, sign: int) -> Self:
        """The same prior for outcomes times `sign`."""
        return replace(self, surrogate=self.surrogate.facing(sign))

    def fit(self, observations: Observations, start: Hyperparameters | None = None) -> Posterior:
        """The posteriors at the best hyperparameters found for each kernel.

        The first kernel decides how outcomes are transformed and which are outliers: all models see the same outcomes.
        """
        if not len(observations):
            raise InvalidInput("`KernelAverage.fit(observations=...)` must hold at least one outcome, got none")
        known = None if start is None else self._split(start)
        starts: Sequence[Hyperparameters | None] = known or [start] * len(self.kernels)
        first, *others = self.members
        everything, outliers = observations, tuple[int, ...]()
        if first.outliers == "auto":
            outliers = first.fit(observations, starts[0]).outliers
            observations = observations.without(outliers)
        place, warm, found = first._place(observations, starts[0])
        fitted = [found or first._fitted(observations, warm, place)[0]]
        # Each kernel has an optimum of its own; that of the first one is a start for those that have none.
        begin = [each if each is not None and each.transform == place else fitted[0] for each in starts[1:]]
        fitted += [gp._fitted(observations, near, place)[0] for gp, near in zip(others, begin, strict=True)]
        for number, (gp, at) in enumerate(zip(self.members, fitted, strict=True)):
            fitted[number] = gp._with_slopes(observations, gp.resume(observations, at), at) or at
        return self._posterior(everything, [replace(each, outliers=outliers) for each in fitted])

    def resume(self, observations: Observations, fitted: Hyperparameters) -> Posterior:
        """The posterior at these hyperparameters, as they are."""
        known = self._split(fitted)
        return self.fit(observations, fitted) if known is None else self._posterior(observations, known)

    def averaged(self, observations: Observations, posterior: Posterior) -> Posterior:
        """The same average with every model averaged over draws of its hyperparameters."""
        return self._averaged(observations, posterior, None)

    def wary(self, observations: Observations, posterior: Posterior, level: float) -> Posterior:
        """Return `averaged`, but with constant means that are not above the level."""
        return self._averaged(observations, posterior, level)

    def _averaged(self, observations: Observations, posterior: Posterior, most: float | None) -> Posterior:
        fitted = posterior.hyperparameters
        known = None if fitted is None else self._split(fitted)
        if known is None:
            return posterior
        each = -(-self.surrogate.interval_draws // len(self.kernels))
        parts = [
            replace(gp, interval_draws=each).averaged(observations, gp.resume(observations, at), most)
            for gp, at in zip(self.members, known, strict=True)
        ]
        return self._joined(observations, known, parts, averaged_bounds=False)

    def _posterior(self, observations: Observations, fitted: Sequence[Hyperparameters]) -> Posterior:
        parts = [gp.resume(observations, at) for gp, at in zip(self.members, fitted, strict=True)]
        return self._joined(observations, fitted, parts, self.bounds == "average")

    def _joined(
        self,
        observations: Observations,
        fitted: Sequence[Hyperparameters],
        parts: Sequence[Posterior],
        averaged_bounds: bool,
    ) -> Posterior:
        """One posterior of several, which all transform the outcomes in the same way."""
        kept = observations.without(fitted[0].outliers)
        transformed, transform = transformed_outcomes(kept, fitted[0].transform)
        inner = tuple(part.inner if isinstance(part, TransformedPosterior) else part for part in parts)
        joined = KernelAveragePosterior(inner, self._weights(transformed, fitted), averaged_bounds)  # type: ignore[arg-type]
        return joined if transform is None else TransformedPosterior(joined, transform)

    def _weights(self, observations: Observations, fitted: Sequence[Hyperparameters]) -> tuple[float, ...]:
        if self.weights == "equal":
            return (1 / len(fitted),) * len(fitted)
        densities = [
            -gp._evidence(observations, at.noise_slopes).minus_log_posterior(
                at.logarithms, at.mean, np.array(at.noise_slopes)
            )[0]
            for gp, at in zip(self.members, fitted, strict=True)
        ]
        shares = np.exp(np.array(densities) - max(densities))
        return tuple((shares / shares.sum()).tolist())

    def _split(self, fitted: Hyperparameters) -> list[Hyperparameters] | None:
        """The hyperparameters of each kernel, where these are of as many."""
        if not isinstance(fitted, KernelHyperparameters) or len(fitted.others) != len(self.kernels) - 1:
            return None
        return [fitted.first, *fitted.others]
