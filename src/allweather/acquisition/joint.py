"""Scores of decisions where several outcomes count: objectives to improve, limits to keep.

Any acquisition is scored like this, unless it has a score of its own for several outcomes (`Acquisition.joint`).

Several objectives are combined by a random augmented Chebyshev scalarisation of their scores (Knowles 2006; with risk
measures this is MARS, Daulton et al. 2022); of scores that are logarithms of gains, by the logarithm of a randomly
weighted sum of the gains. Limits are kept optimistically: a decision may be tried while the upper bound of each limit's
own objective reaches its level, or under a sample by the sample itself; logarithms of gains are added to the logarithm
of the probability that limits are kept. As long as no tried decision is believed feasible, that probability is
maximised (Gardner et al. 2014; Gelbart et al. 2014).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import torch
from torch import Generator, Tensor

from allweather.acquisition.base import Acquisition, Belief, Score
from allweather.acquisition.limits import (
    Combined,
    Limit,
    believed_feasible,
    likely_feasible,
    penalised,
    penalty,
    typical_spread,
)
from allweather.acquisition.scalarisation import chebyshev, objective_units, random_weights

LIMIT_OPTIMISM = 1.0
"""Standard deviations that limits may be broken by where the acquisition has no bound of its own."""


@dataclass(frozen=True, eq=False)
class JointBelief:
    """What is known about all outcomes at one step, under one control set."""

    objectives: tuple[Belief, ...]
    """What to improve: one belief for each outcome that is maximized or minimized."""
    limits: tuple[Limit, ...] = ()
    """What to keep."""
    cautious: float | None = None
    """The probability with which every decision must keep all limits, where it must."""

    @property
    def main(self) -> Belief:
        """The belief about the first objective."""
        return self.objectives[0]

    @property
    def generator(self) -> Generator:
        """The source of randomness that all outcomes share."""
        return self.main.generator

    @property
    def width(self) -> float:
        """Standard deviations that a limit must be kept by in cautious mode: errors of several limits add up."""
        missed = (1 - (self.cautious or 0.5)) / max(len(self.limits), 1)
        return NormalDist().inv_cdf(1 - missed)

    def tried(self) -> Tensor:
        """The decisions (k, d_x) so far."""
        found: Tensor = torch.cat([each.observations.decisions for each in self.objectives]).unique(dim=0)
        return found

    def hopeful(self) -> bool:
        """Whether a tried decision is believed to keep all limits."""
        return not self.limits or bool(believed_feasible(self.limits, self.tried()).any())


def joint_scores(acquisition: Acquisition, beliefs: Sequence[JointBelief]) -> list[Score]:
    """Return scores to maximise, from decisions (b, d_x) to (b,), which can be compared with each other.

    Args:
        acquisition: how each objective is scored.
        beliefs: about all outcomes, one for each control set.
    """
    own = [acquisition.joint(each) for each in beliefs]
    if all(score is not None for score in own):
        return [score for score in own if score is not None]
    tried = [each.tried() if each.limits or len(each.objectives) > 1 else None for each in beliefs]
    kept = [None if k is None else believed_feasible(each.limits, k) for each, k in zip(beliefs, tried, strict=True)]
    # Samples tell by themselves which decisions may be feasible.
    sought = [acquisition.uses_field and found is not None and not bool(found.any()) for found in kept]
    scored = [place for place in range(len(beliefs)) if not sought[place]]
    parts: dict[int, list[Score]] = {place: [] for place in scored}
    for objective in range(len(beliefs[0].objectives)):
        about = [_among_kept(acquisition, beliefs[place], objective, tried[place], kept[place]) for place in scored]
        for place, score in zip(scored, acquisition.together(about), strict=True):
            parts[place].append(score)
    return [
        _combined(acquisition, belief, parts[place], tried[place]) if place in parts else likely_feasible(belief.limits)
        for place, belief in enumerate(beliefs)
    ]


def joint_score(acquisition: Acquisition, belief: JointBelief) -> Score:
    """Return the score to maximise, from decisions (b, d_x) to (b,).

    Args:
        acquisition: how each objective is scored.
        belief: about all outcomes.
    """
    return joint_scores(acquisition, [belief])[0]


def _among_kept(
    acquisition: Acquisition, belief: JointBelief, objective: int, tried: Tensor | None, kept: Tensor | None
) -> Belief:
    """The belief about an objective; gains are over those tried decisions that are believed to keep all limits."""
    about = belief.objectives[objective]
    if not acquisition.logarithmic or not belief.limits or tried is None or kept is None:
        return about
    return _restricted(about, tried[kept])


def _combined(acquisition: Acquisition, belief: JointBelief, scores: list[Score], tried: Tensor | None) -> Score:
    """One score of those of all objectives and limits."""
    limits = belief.limits
    if tried is None:
        return scores[0]
    if acquisition.logarithmic:
        gain = scores[0] if len(scores) == 1 else _total_gain(scores, belief)
        score = Combined([gain, likely_feasible(limits)], lambda parts: parts[0] + parts[1]) if limits else gain
        return score if belief.cautious is None else penalised(score, limits, 1.0, belief.width)
    if not acquisition.bounds_objective:
        wanted, unit = _in_own_units(scores, belief, tried)
        return penalised(wanted, limits, unit, -LIMIT_OPTIMISM if belief.cautious is None else belief.width)
    wanted, unit = scalarised(scores, belief, tried)
    if belief.cautious is not None:
        return penalised(wanted, limits, unit, belief.width)
    bounds = [acquisition.of_limit(limit.belief) for limit in limits]
    return Combined([wanted, *bounds], lambda parts: parts[0] - unit * penalty(parts[1:], limits))


def _total_gain(scores: Sequence[Score], belief: JointBelief) -> Score:
    """The logarithm of a randomly weighted sum of gains, each in units of its outcome's spread."""
    weights = random_weights(len(scores), belief.generator)
    units = [typical_spread(each) for each in belief.objectives]
    shifts = [math.log(float(weight) / unit) for weight, unit in zip(weights, units, strict=True)]

    def total(parts: list[Tensor]) -> Tensor:
        return torch.stack([part + by for part, by in zip(parts, shifts, strict=True)]).logsumexp(0)

    return Combined(scores, total)


def _in_own_units(scores: Sequence[Score], belief: JointBelief, tried: Tensor) -> tuple[Score, float]:
    """One score of several whose units are not known, measured by how they differ among decisions tried; its spread."""
    ideal, units = [], []
    for score in scores:
        with torch.no_grad():
            values = torch.cat([score(block) for block in tried.split(64)])
        values = values[values.isfinite()]
        ideal.append(float(values.max()) if len(values) else 0.0)
        units.append(float(values.max() - values.min()) or 1.0 if len(values) else 1.0)
    if len(scores) == 1:
        return scores[0], units[0]
    shares = random_weights(len(scores), belief.generator)

    def scalar(parts: list[Tensor]) -> Tensor:
        stacked = torch.stack(parts, -1)
        return chebyshev((stacked - stacked.new_tensor(ideal)) / stacked.new_tensor(units), shares.to(stacked))

    return Combined(scores, scalar), 1.0


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


def _restricted(belief: Belief, decisions: Tensor) -> Belief:
    """The belief with only those of its observations whose decision is among some (k, d_x)."""
    seen = belief.observations
    among = (seen.decisions[:, None] == decisions).all(-1).any(-1)
    return replace(belief, observations=seen.rows(among.nonzero()[:, 0].cpu().numpy())) if bool(among.any()) else belief
