"""Which context a simulator is run in, once the decision is chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from allweather._utils.registry import Named
from allweather.acquisition.base import Belief
from allweather.acquisition.expected_maximum import expected_maximum
from allweather.errors import MAX_COUNT, require, require_count, require_number
from allweather.objectives import Expectation
from allweather.space import Box, Space
from allweather.space.variables import Variable

CANDIDATE_CONTEXTS, OTHER_DRAWS = 96, 8
"""Contexts that are compared where some variables are chosen, and draws of the others."""
MAX_SLOW_SAMPLES = 8
"""Samples, at most, where worst cases take long."""


class ContextRule(Named, ABC):
    """A way to choose the context of the next trial among the points of the reference."""

    @abstractmethod
    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the index () of the reference's point for a trial of `decision` (d_x,)."""

    def scores(self, belief: Belief, decision: Tensor, contexts: Tensor) -> Tensor | None:
        """Return how much each context (m, d_c) is worth for a trial of `decision` (d_x,); None where all are equal."""
        return None

    def on(self, space: Space) -> Self:
        """Return the rule for the contexts of a space."""
        return self

    def chosen(self, space: Space) -> list[str]:
        """Return the context variables that are chosen: all, unless the rule says otherwise."""
        return list(space.contexts)

    def restricted(self, names: Sequence[str]) -> ContextRule | None:
        """Return the rule where only these variables are contexts; None where there is nothing to choose."""
        return self if names else None


@dataclass(frozen=True)
class AmongLikely(ContextRule, ABC):
    """A rule that compares the points that count most."""

    candidates: int = 256
    """Points compared, at most: those with the largest weights of the objective's tangent, then the likeliest."""

    def __post_init__(self) -> None:
        require_count(self.candidates, f"{type(self).__name__}(candidates=...)", low=1)

    def among(self, belief: Belief, weights: Tensor) -> Tensor:
        """Return the indices (m,) of the points compared, given weights (n,) or (b, n) of tangents."""
        wide = weights.abs().amax(0) if weights.ndim > 1 else weights.abs()
        return (wide + 1e-3 * belief.reference.weights).argsort(descending=True, stable=True)[: self.candidates]


@dataclass(frozen=True)
class LargestDeviation(ContextRule):
    """The context whose outcome is most uncertain, among those that the objective may depend on.

    Example:
        >>> LargestDeviation()
        LargestDeviation()
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point with the largest posterior standard deviation."""
        with torch.no_grad():
            return belief.field(decision[None]).sd[0].argmax()

    def scores(self, belief: Belief, decision: Tensor, contexts: Tensor) -> Tensor:
        """Posterior standard deviations."""
        return belief.surrogate.field(contexts)(decision[None]).sd[0]


@dataclass(frozen=True)
class LowestBound(ContextRule):
    """The context whose lower bound is lowest, where an adversary would go (Bogunovic et al. 2018).

    Example:
        >>> LowestBound().width
        2.0
    """

    width: float = 2.0
    """Of the lower bound, in standard deviations."""

    def __post_init__(self) -> None:
        require_number(self.width, "LowestBound(width=...)", low=0)

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point with the lowest bound."""
        return self.scores(belief, decision, belief.reference.points).argmax()

    def scores(self, belief: Belief, decision: Tensor, contexts: Tensor) -> Tensor:
        """How low the bounds are."""
        with torch.no_grad():
            mean, sd = belief.surrogate.field(contexts)(decision[None])
        return (self.width * sd - mean)[0]


@dataclass(frozen=True)
class MostInfluential(AmongLikely):
    """The context whose outcome reduces the uncertainty of the objective most.

    The objective is replaced by its tangent at the posterior mean: for a worst case its weights are the worst
    distribution, so contexts are chosen where that distribution has mass and the outcome is uncertain. The reduction is
    exact for Gaussian processes, BoTorch models among them; for other models it is that of the best linear prediction.

    With `samples` the tangent is the mean of those at posterior samples of the function. Then the covariance of the
    objective and the outcome is that of the objective itself and not of a tangent (Stein's lemma), but for the noise of
    the samples: contexts count that may be among the worst, though they are not on average.

    With `drawn` only so many contexts are compared, drawn by the tangent's weights: the worst distribution, or the law
    where the objective is a mean. Contexts then differ from trial to trial as those of that distribution do, which is
    safer where the surrogate is wrong about the function.

    Example:
        >>> MostInfluential(candidates=128)
        MostInfluential(candidates=128, samples=0, drawn=0)
    """

    samples: int = 0
    """Posterior samples that tangents are averaged over; 0 for the tangent at the posterior mean."""
    drawn: int = 0
    """Contexts compared, drawn by the tangent's weights; 0 to compare the `candidates` with the largest ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count(self.drawn, "MostInfluential(drawn=...)", high=MAX_COUNT)
        require_count(self.samples, "MostInfluential(samples=...)", high=MAX_COUNT)

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point where one outcome explains most of the objective's variance."""
        with torch.no_grad():
            weights = self._weights(belief, decision)
            points = self._drawn(belief, weights[0]) if self.drawn else self.among(belief, weights)
            return points[self._slopes(belief, decision, weights, belief.reference.points[points]).argmax()]

    def scores(self, belief: Belief, decision: Tensor, contexts: Tensor) -> Tensor:
        """How far one outcome moves the objective's tangent."""
        return self._slopes(belief, decision, self._weights(belief, decision), contexts)

    def _weights(self, belief: Belief, decision: Tensor) -> Tensor:
        """Weights (1, n) of the tangent."""
        points = belief.reference.points
        if self.samples and not isinstance(belief.objective, Expectation):
            count = min(self.samples, MAX_SLOW_SAMPLES) if belief.objective.slow else self.samples
            drawn = belief.surrogate.draws(decision[None], points, count, belief.generator)[:, 0]
            return belief.objective.tangent(drawn, belief.reference).nan_to_num(0.0, 0.0, 0.0).mean(0, keepdim=True)
        weights = belief.weights(decision[None])
        return weights if weights.ndim > 1 else weights[None]

    def _drawn(self, belief: Belief, weights: Tensor) -> Tensor:
        """Indices (k,) of points drawn by weights (n,)."""
        shares = weights.abs()
        shares = shares if float(shares.sum()) > 0 else belief.reference.weights
        return torch.multinomial(shares.cpu(), self.drawn, replacement=True, generator=belief.generator)

    def _slopes(self, belief: Belief, decision: Tensor, weights: Tensor, contexts: Tensor) -> Tensor:
        slopes = belief.field.step(decision[None], weights, contexts).own(decision[None], weights)
        return slopes[0].abs()


@dataclass(frozen=True)
class FromLaw(ContextRule):
    """A context drawn from the context distribution, as nature would.

    Example:
        >>> [ContextRule.named(name).__name__ for name in ("from-law", "largest-deviation")]
        ['FromLaw', 'LargestDeviation']
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return a random point of the reference, by its weights."""
        return torch.multinomial(belief.reference.weights, 1, generator=belief.generator)[0]


@dataclass(frozen=True)
class LargestGain(AmongLikely):
    """The context with the largest knowledge gradient, for the decision that was chosen.

    Example:
        >>> LargestGain(candidates=64)
        LargestGain(candidates=64)
    """

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return the point at which a trial is expected to add most to the best objective."""
        with torch.no_grad():
            points = self.among(belief, belief.weights(self._compared(belief, decision)))
            return points[self.scores(belief, decision, belief.reference.points[points]).argmax()]

    def scores(self, belief: Belief, decision: Tensor, contexts: Tensor) -> Tensor:
        """The knowledge gradient."""
        compared = self._compared(belief, decision)
        slopes = belief.field.step(compared, belief.weights(compared), contexts)(decision[None])[0]
        return expected_maximum(belief.expected(compared).expand(len(contexts), -1), slopes)

    def _compared(self, belief: Belief, decision: Tensor) -> Tensor:
        others = belief.incumbents(64) if belief.compared is None else belief.compared
        return torch.cat([decision[None], others])


@dataclass(frozen=True)
class ChooseOnly(ContextRule):
    """Some of the context variables are chosen, by a rule; the others are nature's, and are told.

    The value of a choice is averaged over draws of the other variables from the context distribution.

    Example:
        >>> ChooseOnly(("pressure",)).rule
        MostInfluential(candidates=256, samples=0, drawn=0)
    """

    variables: Sequence[str]
    """Names of the context variables that are chosen."""
    rule: ContextRule = MostInfluential()
    """How."""
    box: Box | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = self.variables
        listed = isinstance(names, Sequence) and not isinstance(names, str) and len(names) > 0
        fits = listed and all(isinstance(name, str) for name in names)
        require(fits, "ChooseOnly(variables=...)", "be the names of contexts that are chosen", names)
        fits = isinstance(self.rule, ContextRule) and not isinstance(self.rule, ChooseOnly)
        require(fits, "ChooseOnly(rule=...)", "be a rule such as MostInfluential()", self.rule)
        object.__setattr__(self, "variables", tuple(names))

    def on(self, space: Space) -> Self:
        """Return the rule for a space that has these contexts."""
        strange = [name for name in self.variables if name not in space.contexts]
        require(not strange, "Study(simulator=...)", f"name contexts among {list(space.contexts)}", strange)
        return replace(self, box=space.contexts)

    def chosen(self, space: Space) -> list[str]:
        """Return these variables."""
        return list(self.variables)

    def restricted(self, names: Sequence[str]) -> ContextRule | None:
        """Return the rule for those of its variables that are contexts; None where none is."""
        kept = tuple(name for name in self.variables if name in names)
        return replace(self, variables=kept) if kept else None

    def choose(self, belief: Belief, decision: Tensor) -> Tensor:
        """Return a point whose chosen variables are worth most, on average over the others."""
        points, weights = belief.reference
        drawn = torch.multinomial(
            weights, CANDIDATE_CONTEXTS + OTHER_DRAWS, replacement=True, generator=belief.generator
        )
        among: Tensor = drawn[OTHER_DRAWS:].unique()
        others = points[drawn[:OTHER_DRAWS]]
        with torch.no_grad():
            mixed = torch.where(self._columns(), points[among][:, None], others)  # (m, k, d_c)
            found = self.rule.scores(belief, decision, mixed.flatten(0, 1))
            if found is None:
                return among[0]
            return among[found.reshape(mixed.shape[:2]).mean(1).argmax()]

    def _columns(self) -> Tensor:
        """(d_c,) which columns are those of the chosen variables."""
        box: Mapping[str, Variable] = self.box or {}
        kept = [name in self.variables for name, variable in box.items() for _ in range(variable.columns)]
        return torch.tensor(kept)
