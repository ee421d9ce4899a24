"""Limits on outcomes: how far from one a decision is, how likely it keeps it, and the penalty for what stays behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch import Generator, Tensor
from torch.nn.functional import softplus

from allweather.acquisition.base import Belief, HintedScore, Score
from allweather.acquisition.optimize.scores import hinted
from allweather.objectives import Band, Expectation
from allweather.surrogates import Moments, Paths

MOMENT_SAMPLES, FEATURES = 64, 256
"""Sampled functions where the posterior of an objective has no closed form, and the random cosines of each."""
PROBABILITY_UNIT = 0.2
"""What counts as one unit of a probability."""
PENALTY_STRENGTH = 10.0
"""What staying behind a limit by one spread of its outcome costs, in spreads of the objective."""
PENALTY_SOFTNESS = 0.02
"""The penalty begins this far before the limit, in spreads of the outcome."""


def typical_spread(belief: Belief) -> float:
    """What differences between objectives are measured in: the spread of the outcomes, or a share of a probability."""
    if not belief.objective.signed:
        return PROBABILITY_UNIT
    values = belief.observations.values
    return max(float(values.std(correction=0)), 1e-6 * float(values.abs().max()), 1e-12)


@dataclass(frozen=True, eq=False)
class Limit:
    """A limit that an objective must reach, and the belief about that objective."""

    belief: Belief
    level: float
    """What the objective must reach, larger being better."""

    def moments(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation (b,) of the objective itself, of decisions (b, d_x), differentiable.

        Of a mean in closed form; of other objectives over sampled functions, the same for all decisions. These are
        sampled at few contexts, and the mean is shifted by what the objective of the mean function differs by on all.
        """
        belief, few = self.belief, self._few
        if type(belief.objective) is Expectation:
            return belief.field.combination(decisions, belief.reference.weights)
        sampled = few.objective.upper(Band(self._paths(decisions)), few.reference)  # (samples, b)
        shift = 0.0 if few is belief else belief.expected(decisions) - few.expected(decisions)
        return Moments(sampled.mean(0) + shift, (sampled.var(0) + 1e-300).sqrt())

    def log_probability(self, decisions: Tensor) -> Tensor:
        """The logarithm (b,) of the probability that decisions (b, d_x) keep the limit, differentiable."""
        mean, sd = self.moments(decisions)
        found: Tensor = torch.special.log_ndtr((mean - self.level) / (sd + 1e-6 * self.spread))
        return found

    def lower(self, decisions: Tensor, width: float) -> Tensor:
        """The lower bound `mean - width * sd` (b,) of the objective, differentiable."""
        mean, sd = self.moments(decisions)
        return mean - width * sd

    @cached_property
    def spread(self) -> float:
        """What distances from the limit are measured in."""
        return typical_spread(self.belief)

    @cached_property
    def _paths(self) -> Paths:
        generator = Generator().manual_seed(self.belief.generator.initial_seed() % 2**62)
        return self.belief.surrogate.paths(self._few.reference.points, MOMENT_SAMPLES, generator, FEATURES)

    @cached_property
    def _few(self) -> Belief:
        """The belief on few contexts, where there are many."""
        return self.belief.rough() or self.belief

    def rough(self) -> Limit:
        """The same on fewer contexts, where that saves time."""
        few = None if type(self.belief.objective) is Expectation else self.belief.rough()
        return self if few is None else replace(self, belief=few)


def uncertainty(belief: Belief, decision: Tensor) -> float:
    """The standard deviation of the objective of a decision (d_x,), in spreads of its outcome."""
    about = Limit(belief, 0.0)
    with torch.no_grad():
        return float(about.moments(decision[None]).sd) / about.spread


def believed_feasible(limits: Sequence[Limit], decisions: Tensor) -> Tensor:
    """Whether (b,) each decision keeps all limits by the mean of the objective's posterior."""
    fits = torch.ones(len(decisions), dtype=torch.bool, device=decisions.device)
    with torch.no_grad():
        for limit in limits:
            few = limit.rough()
            fits &= torch.cat([few.moments(block).mean >= few.level for block in decisions.split(64)])
    return fits


class Combined(HintedScore):
    """A score made of others, with the same of their rough forms as its own rough form."""

    def __init__(self, parts: Sequence[Score], combine: Callable[[list[Tensor]], Tensor]) -> None:
        self._parts, self._combine = parts, combine
        rough = [hinted(each).rough for each in parts]
        if any(each is not None for each in rough):
            chosen = [part if each is None else each for each, part in zip(rough, parts, strict=True)]
            self.rough = Combined(chosen, combine)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        return self._combine([part(decisions) for part in self._parts])


def likely_feasible(limits: Sequence[Limit]) -> Score:
    """Return the logarithm of the probability that all limits are kept."""
    parts = [LimitScore(limit, Limit.log_probability) for limit in limits]
    return Combined(parts, lambda found: torch.stack(found).sum(0)) if parts else lambda points: 0 * points.sum(-1)


def penalised(wanted: Score, limits: Sequence[Limit], unit: float, width: float) -> Score:
    """Return a score less a penalty where a limit is not kept by `width` standard deviations of its objective.

    Args:
        wanted: the score.
        limits: what to keep.
        unit: the spread of the score.
        width: standard deviations that limits must be kept by.
    """
    bounds = [LimitScore(limit, lambda each, decisions: each.lower(decisions, width)) for limit in limits]
    return Combined([wanted, *bounds], lambda parts: parts[0] - unit * penalty(parts[1:], limits))


def kept_by(wanted: Score, limits: Sequence[Limit], unit: float, margins: Sequence[float]) -> Score:
    """Return a score less a penalty where the expected objective of a limit is not above its level by a margin.

    Args:
        wanted: the score.
        limits: what to keep.
        unit: the spread of the score.
        margins: one for each limit, in the units of its objective.
    """
    bounds = [LimitScore(limit, _reduced(margin)) for limit, margin in zip(limits, margins, strict=True)]
    return Combined([wanted, *bounds], lambda parts: parts[0] - unit * penalty(parts[1:], limits))


def _reduced(margin: float) -> Callable[[Limit, Tensor], Tensor]:
    return lambda limit, decisions: limit.moments(decisions).mean - margin


class LimitScore(HintedScore):
    """A score about one limit, on fewer contexts as its rough form."""

    def __init__(self, limit: Limit, compute: Callable[[Limit, Tensor], Tensor]) -> None:
        self._limit, self._compute = limit, compute
        few = limit.rough()
        if few is not limit:
            self.rough = partial(compute, few)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        return self._compute(self._limit, decisions)


def penalty(bounds: Sequence[Tensor], limits: Sequence[Limit]) -> Tensor | float:
    """How far bounds (b,) stay behind their limits, times the penalty's strength."""
    if not limits:
        return 0.0
    short = [(limit.level - bound) / limit.spread for bound, limit in zip(bounds, limits, strict=True)]
    return PENALTY_STRENGTH * PENALTY_SOFTNESS * softplus(torch.stack(short) / PENALTY_SOFTNESS).sum(0)
