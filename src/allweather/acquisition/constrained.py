"""Scores of decisions where several outcomes count: objectives to improve, limits to keep.

Several objectives are combined by a random augmented Chebyshev scalarisation (Knowles 2006; with risk measures this
is MARS, Daulton et al. 2022). Limits are kept optimistically: a decision may be tried while the upper bound of each
constraint's own objective reaches its limit, or under a sample by the sample itself. As long as no tried decision is
believed feasible, the probability of feasibility is maximised (Gardner et al. 2014; Gelbart et al. 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import torch
from torch import Generator, Tensor
from torch.nn.functional import softplus

from allweather.acquisition.base import Acquisition, Belief, Score
from allweather.acquisition.feasibility import Limit, believed_feasible, typical_spread
from allweather.acquisition.improvement import ExpectedImprovement
from allweather.acquisition.mars import MARS
from allweather.acquisition.objective_ucb import ObjectiveUCB
from allweather.acquisition.random import Random
from allweather.acquisition.scalarisation import chebyshev, objective_units, random_weights
from allweather.acquisition.thompson import Thompson
from allweather.acquisition.ucb import UCB
from allweather.errors import require

SUPPORTED = (ObjectiveUCB, UCB, Thompson, ExpectedImprovement, MARS, Random)
"""Acquisitions whose scores can be combined."""
STRENGTH = 10.0
"""What staying behind a limit by one spread of its outcome costs, in spreads of the objective."""
OPTIMISM = 1.0
"""Standard deviations that limits may be broken by where the acquisition has no bound of its own."""
SOFT = 0.02
"""The penalty begins this far before the limit, in spreads of the outcome."""


@dataclass(frozen=True, eq=False)
class JointBelief:
    """What is known about several outcomes at one step."""

    objectives: tuple[Belief, ...]
    """What to improve."""
    limits: tuple[Limit, ...] = ()
    """What to keep."""
    cautious: float | None = None
    """The probability with which every decision must keep all limits, where it must."""

    @property
    def generator(self) -> Generator:
        """The source of randomness that all outcomes share."""
        return self.objectives[0].generator

    @property
    def width(self) -> float:
        """Standard deviations that a limit must be kept by in cautious mode: errors of several limits add up."""
        missed = (1 - (self.cautious or 0.5)) / max(len(self.limits), 1)
        return NormalDist().inv_cdf(1 - missed)

    def tried(self) -> Tensor:
        """The decisions (k, d_x) so far."""
        found: Tensor = torch.cat([each.observations.decisions for each in self.objectives]).unique(dim=0)
        return found


def check_acquisition(acquisition: Acquisition, objectives: int) -> None:
    """Refuse an acquisition that cannot choose where there are several outcomes.

    Args:
        acquisition: of the study.
        objectives: how many outcomes are maximized or minimized.
    """
    known = isinstance(acquisition, SUPPORTED)
    names = ", ".join(f"{each.__name__}()" for each in SUPPORTED)
    require(known, "Study(acquisition=..., outcomes=...)", f"be one of {names}", acquisition)
    fits = objectives == 1 or not isinstance(acquisition, ExpectedImprovement)
    wanted = "not be ExpectedImprovement where several outcomes are maximized or minimized"
    require(fits, "Study(acquisition=..., outcomes=...)", wanted, acquisition, "use ObjectiveUCB() or Thompson()")
    fits = objectives > 1 or not isinstance(acquisition, MARS)
    require(fits, "Study(acquisition=..., outcomes=...)", "have several outcomes to maximize or minimize", acquisition)


def joint_score(acquisition: Acquisition, belief: JointBelief) -> Score:
    """Return the score to maximise, from decisions (b, d_x) to (b,).

    Args:
        acquisition: how each objective is scored.
        belief: about all outcomes.
    """
    if isinstance(acquisition, Random):
        return acquisition.build(belief.objectives[0])
    limits, tried = belief.limits, belief.tried()
    found = believed_feasible(limits, tried)
    if not bool(found.any()) and not isinstance(acquisition, Thompson):
        return likely_feasible(limits)
    if isinstance(acquisition, ExpectedImprovement):
        gain = acquisition.build(_restricted(belief.objectives[0], tried[found]))
        score = Combined([gain, likely_feasible(limits)], lambda parts: parts[0] + parts[1])
        return score if belief.cautious is None else penalised(score, limits, 1.0, belief.width)
    if isinstance(acquisition, MARS):
        improvement = acquisition.joint(belief.objectives, tried[found])
        return penalised(improvement, limits, 1.0, -OPTIMISM if belief.cautious is None else belief.width)
    wanted, unit = scalarised([acquisition.build(each) for each in belief.objectives], belief, tried)
    if belief.cautious is not None:
        return penalised(wanted, limits, unit, belief.width)
    build = acquisition.of_limit if isinstance(acquisition, ObjectiveUCB) else acquisition.build
    bounds = [build(limit.belief) for limit in limits]
    return Combined([wanted, *bounds], lambda parts: parts[0] - unit * _penalty(parts[1:], limits))


class Combined:
    """A score made of others, with the same of their rough forms as its own rough form."""

    def __init__(self, parts: Sequence[Score], combine: Callable[[list[Tensor]], Tensor]) -> None:
        self._parts, self._combine = parts, combine
        rough: list[Score | None] = [getattr(each, "rough", None) for each in parts]
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
    return Combined([wanted, *bounds], lambda parts: parts[0] - unit * _penalty(parts[1:], limits))


def kept_by(wanted: Score, limits: Sequence[Limit], unit: float, margins: Sequence[float]) -> Score:
    """Return a score less a penalty where the expected objective of a limit is not above its level by a margin.

    Args:
        wanted: the score.
        limits: what to keep.
        unit: the spread of the score.
        margins: one for each limit, in the units of its objective.
    """
    bounds = [LimitScore(limit, _reduced(margin)) for limit, margin in zip(limits, margins, strict=True)]
    return Combined([wanted, *bounds], lambda parts: parts[0] - unit * _penalty(parts[1:], limits))


def _reduced(margin: float) -> Callable[[Limit, Tensor], Tensor]:
    return lambda limit, decisions: limit.moments(decisions).mean - margin


class LimitScore:
    """A score about one limit, on fewer contexts as its rough form."""

    def __init__(self, limit: Limit, compute: Callable[[Limit, Tensor], Tensor]) -> None:
        self._limit, self._compute = limit, compute
        few = limit.rough()
        if few is not limit:
            self.rough: Score = partial(compute, few)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        return self._compute(self._limit, decisions)


def scalarised(
    scores: Sequence[Score],
    belief: JointBelief,
    tried: Tensor,
    weights: Tensor | None = None,
    point: Tensor | None = None,
) -> tuple[Score, float]:
    """Return one objective's score, or the augmented Chebyshev scalarisation of several; and its spread.

    With a reference point it is Wierzbicki's achievement function: the least of how far objectives exceed it.

    Args:
        scores: one for each objective.
        belief: about all outcomes.
        tried: (k, d_x) decisions whose objectives span a unit of each.
        weights: (m,) of the objectives; drawn at random if None.
        point: (m,) that distances are measured from; by default the best of each objective among those tried.
    """
    if len(scores) == 1:
        return scores[0], typical_spread(belief.objectives[0])
    ideal, units = objective_units(belief.objectives, tried)
    shares = random_weights(len(scores), belief.generator) if weights is None else weights
    start = ideal if point is None else point.to(ideal)
    return Combined(scores, lambda parts: chebyshev((torch.stack(parts, -1) - start) / units, shares)), 1.0


def _penalty(bounds: Sequence[Tensor], limits: Sequence[Limit]) -> Tensor | float:
    """How far bounds (b,) stay behind their limits, times the penalty's strength."""
    if not limits:
        return 0.0
    short = [(limit.level - bound) / limit.spread for bound, limit in zip(bounds, limits, strict=True)]
    return STRENGTH * SOFT * softplus(torch.stack(short) / SOFT).sum(0)


def _restricted(belief: Belief, decisions: Tensor) -> Belief:
    """The belief with only those of its observations whose decision is among some (k, d_x)."""
    seen = belief.observations
    among = (seen.decisions[:, None] == decisions).all(-1).any(-1)
    return replace(belief, observations=seen.rows(among.nonzero()[:, 0].cpu().numpy())) if bool(among.any()) else belief
