"""What an acquisition is, and all that it may look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Generator, Tensor

from allweather._utils.registry import Named
from allweather.acquisition.optimize.scores import HintedScore, Score
from allweather.contexts import ContextModel, Reference
from allweather.contexts.learned import unseen_shares
from allweather.errors import require
from allweather.objectives import Band, Expectation, Objective
from allweather.schedules import Progress
from allweather.surrogates import Field, Posterior
from allweather.surrogates.observations import Observations

if TYPE_CHECKING:
    from allweather.acquisition.joint import JointBelief


__all__ = ["Acquisition", "Belief", "HintedScore", "Score"]

ROUGH_CONTEXTS = 128
"""So many contexts of each kind, likely and merely possible, tell decisions apart."""
MAX_SCORED_INCUMBENTS = 1024
"""Of more tried decisions, the objective is computed for a quarter as many, whose mean outcomes are best."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Everything known at one step."""

    surrogate: Posterior
    """What the observations say about the function."""
    reference: Reference
    """What the context model believes."""
    objective: Objective
    """What is wanted, its schedules turned into numbers."""
    observations: Observations
    progress: Progress
    generator: Generator
    """The only source of randomness."""
    context_model: ContextModel | None = None
    """The model of the reference; None where the context itself is known, or ignored."""
    averaged: Posterior | None = None
    """The surrogate averaged over hyperparameters, which intervals are drawn from; the surrogate itself if None."""
    bound: Field | None = None
    """The posterior bound to the reference's points, where it was bound before."""
    compared: Tensor | None = None
    """(m, d_x) legal decisions that may be the best after one more trial, the most promising first."""
    chooses: bool = False
    """Whether the context of the coming trial is chosen, as in a simulator, instead of met."""
    law_seed: int | None = None
    """Of the draws of the context distribution, where beliefs about several outcomes share them."""
    unlikely: Tensor | None = None
    """(m, d_c) contexts where nothing was seen, to which draws of a learned law give some probability."""
    added: int = 0
    """How many of the last points of the reference are such contexts."""
    residuals: Tensor | None = None
    """(t,) outcomes less their predictions, where these are no mean outcomes because outcomes were transformed."""

    def laws(self, count: int, generator: Generator) -> Tensor:
        """Draws (count, n) of the reference's weights; the same for all where the law is not learned.

        Args:
            count: number of draws.
            generator: the source of randomness.
        """
        if self.context_model is None:
            return self.reference.weights.expand(count, -1)
        model, seen, (points, weights) = self.context_model, self.observations.seen, self.reference.to("cpu")
        if not self.added:
            return model.resample(seen, Reference(points, weights), count, generator).to(self.reference.weights.device)
        likely = len(points) - self.added
        drawn = model.resample(seen, Reference(points[:likely], weights[:likely]), count, generator)
        shares = unseen_shares(count, self.added, max(len(seen), 1), generator)
        drawn = torch.cat([(1 - shares.sum(-1, keepdim=True)) * drawn, shares], -1)
        return drawn.to(self.reference.weights.device)

    @cached_property
    def wide(self) -> Belief:
        """The same belief on a reference with the unlikely contexts, which weigh nothing there but may in draws."""
        if self.unlikely is None:
            return self
        points = torch.cat([self.reference.points, self.unlikely.to(self.reference.points)])
        weights = torch.cat([self.reference.weights, self.reference.weights.new_zeros(len(self.unlikely))])
        reference = Reference(points, weights)
        return replace(self, reference=reference, bound=None, unlikely=None, added=len(self.unlikely))

    def rough(self) -> Belief | None:
        """The same belief on fewer contexts, enough to see which decisions are worth a closer look, or None."""
        sampled = self.reference.sampled(ROUGH_CONTEXTS)
        if sampled is None:
            return None
        chosen, reference = sampled
        known = "field" in vars(self)  # else it is bound to the fewer contexts, if ever
        return replace(self, reference=reference, bound=self.field.rough(chosen) if known else None)

    @property
    def step(self) -> int:
        """Observations so far."""
        return self.progress.step

    @cached_property
    def field(self) -> Field:
        """The posterior bound to the reference's points, once."""
        return self.surrogate.field(self.reference.points) if self.bound is None else self.bound

    def band(self, decisions: Tensor, width: float = 0.0) -> Band:
        """The functions within `width` standard deviations of the posterior mean."""
        if width == 0:
            mean, spread = self.field.mean(decisions), None
        else:
            mean, sd = self.field(decisions)
            spread = width * sd
        return Band(mean, spread, lambda: self.field.steepness(decisions, width))

    def weights(self, decisions: Tensor) -> Tensor:
        """How the objective of decisions changes with the mean outcome in each context: (n,) or (b, n)."""
        if isinstance(self.objective, Expectation):
            return self.reference.weights
        with torch.no_grad():
            return self.objective.tangent(self.field.mean(decisions), self.reference).nan_to_num(0.0, 0.0, 0.0)

    def mean_bound(self, decisions: Tensor, width: float) -> Tensor:
        """An upper bound (b,) of the mean over the reference of `mean + width * sd`, cheap where the field has one."""
        found = self.field.mean_bound(decisions, self.reference.weights, width)
        return self.band(decisions, width).upper @ self.reference.weights if found is None else found

    def incumbents(self, count: int) -> Tensor:
        """The decisions so far (at most `count`) that look best under the posterior mean."""
        tried: Tensor = self.observations.decisions.unique(dim=0)
        allowed = ((tried >= 0) & (tried <= 1)).all(-1)  # bounds may have been narrowed since
        if not bool(allowed.all()):
            tried = tried[allowed] if bool(allowed.any()) else tried.clamp(0, 1).unique(dim=0)
        if len(tried) <= count:
            return tried
        plain = type(self.objective) is Expectation
        if plain or len(tried) > MAX_SCORED_INCUMBENTS:  # mean outcomes are cheap to compute
            with torch.no_grad():
                means = [self.field.combination_mean(block, self.reference.weights) for block in tried.split(256)]
            order = torch.cat(means).argsort(descending=True)
            if plain:
                return tried[order[:count]]
            tried = tried[order[: MAX_SCORED_INCUMBENTS // 4]]
        with torch.no_grad():
            expected = torch.cat([self.expected(block) for block in tried.split(64)])
        return tried[expected.argsort(descending=True)[:count]]

    def expected(self, decisions: Tensor) -> Tensor:
        """The objective (b,) of the posterior mean, as a finite score."""
        return self.objective.upper(self.band(decisions), self.reference)


class Acquisition(Named, ABC):
    """A way to choose the next decision: the maximum of what `build` returns.

    Limits, several objectives and several control sets are dealt with around `build`. An acquisition that knows better
    overrides `joint`, `of_limit` or `together`.
    """

    logarithmic: ClassVar[bool] = False
    """Whether scores are logarithms of what is gained."""
    bounds_objective: ClassVar[bool] = False
    """Whether scores are values that the objective may have, so that they are in its units."""
    compares: ClassVar[bool] = False
    """Whether it looks at what other decisions are worth after the trial (`Belief.compared`)."""
    uses_field: ClassVar[bool] = True
    """Whether it looks at posterior means and deviations, and not only at samples."""
    fewest_objectives: ClassVar[int] = 1
    """How many outcomes must be maximized or minimized, at least."""

    @abstractmethod
    def build(self, belief: Belief) -> Score:
        """The score to maximise, from decisions (b, d_x) to (b,), differentiable; a `HintedScore` is found faster."""

    def together(self, beliefs: Sequence[Belief]) -> list[Score]:
        """Scores that can be compared with each other, for beliefs about different decisions with equal generators."""
        return [self.build(belief) for belief in beliefs]

    def of_limit(self, belief: Belief) -> Score:
        """The score of a limit's objective, where scores are values that it may have."""
        return self.build(belief)

    def joint(self, belief: JointBelief) -> Score | None:
        """The score where several outcomes count; None to have limits and scalarisation applied around `build`."""
        return None

    def check_objectives(self, count: int) -> None:
        """Refuse fewer outcomes to maximize or minimize than the acquisition is about."""
        where, said = "Study(acquisition=..., outcomes=...)", "have several outcomes to maximize or minimize"
        require(count >= self.fewest_objectives, where, said, self)
