"""The best decision that is believed to keep all limits, or the one that is closest to it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from allweather.acquisition.base import Belief, Score
from allweather.acquisition.joint import JointBelief, scalarised
from allweather.acquisition.limits import kept_by, likely_feasible, penalised
from allweather.acquisition.objective_ucb import mean_score
from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.scores import hinted
from allweather.engine.condensed import Expected
from allweather.engine.intervals import independent_draws, tail_share
from allweather.engine.objective_draws import DRAWS, laws_for, objective_draws
from allweather.methods.control.rules import Settled

CONFIDENCE = 0.9
"""A decision is believed feasible if it keeps all limits with this probability."""
LEARNED_LAW_SHARE = 0.5
"""What the allowed misses of a cautious study are multiplied by where the context distribution is learned.

Quantiles of 40 contexts are less certain than draws of their distribution say: in five of the problems of
`python -m benchmarks constraints`, 95% of the draws stood for 84 to 91%, and 90% for 76 to 90%.
"""
LIMIT_WIDTHS = (1.3, 2.5)
"""Standard deviations that limits are kept by in the first searches for decisions to compare."""
MARGIN_ROUNDS = 2
"""Searches with margins that are taken from draws, which also say what is not known about the context distribution."""
DECISIONS_BETWEEN = 7
"""Decisions between one that is believed feasible and a better one that is not, which are compared too."""
SHARES_OF_WAY = (0.9, 0.75, 0.6, 0.5, 0.4, 0.3, 0.22, 0.16, 0.11, 0.08, 0.05)
"""Of the way from a decision that surely keeps all limits to one that may not."""
MAX_TRIED = 4
"""Tried decisions that are compared too."""


class Chosen(NamedTuple):
    """A decision, and how likely it keeps all limits."""

    decision: Tensor
    """(d_x,)"""
    probability: float


def best_feasible(
    joint: JointBelief, search: Search, weights: Tensor | None = None, point: Tensor | None = None
) -> Chosen:
    """Return the decision with the best objective among those that are believed feasible.

    Several objectives are combined by the augmented Chebyshev scalarisation, with equal weights by default. Where no
    decision is believed feasible, the one that is most likely so is returned.

    Args:
        joint: what is known about all outcomes.
        search: the legal decisions.
        weights: (m,) of several objectives.
        point: (m,) a reference point that the objectives shall exceed.
    """
    tried = search.permitted(joint.tried())
    tried = tried if len(tried) else joint.tried()
    generator = torch.Generator().manual_seed(0)  # the same data give the same decision
    shares = torch.full((len(joint.objectives),), 1 / len(joint.objectives)) if weights is None else weights
    scores = [expected_score(each) for each in joint.objectives]
    wanted, unit = scalarised(scores, joint, tried, shares.double(), point)
    if not joint.limits:
        return Chosen(search.best(wanted, generator, tried[:16]).decision, 1.0)
    kept = [penalised(wanted, joint.limits, unit, width) for width in LIMIT_WIDTHS]
    found = [search.best(score, generator, _leading(score, tried, 8)).decision for score in kept]
    for _ in range(MARGIN_ROUNDS):
        score = kept_by(wanted, joint.limits, unit, margins_at(joint, found[-1]))
        found.append(search.best(score, generator, torch.stack(found)).decision)
    likely = likely_feasible(joint.limits)
    found.append(search.best(likely, generator, _leading(likely, tried, 8)).decision)
    offered = _offer(joint, wanted, torch.stack([*found, *_leading(kept[1], search.permitted(tried), MAX_TRIED)]))
    if bool((offered.probability >= CONFIDENCE).any()):
        between = search.permitted(search.box.snap(_between(offered)))
        further = [_offer(joint, wanted, between)] if len(between) else []
        offered = Offered(*(torch.cat(parts) for parts in zip(offered, *further, strict=True)))
    best = _preferred(offered)
    return Chosen(offered.decisions[best], float(offered.probability[best]))


class Offered(NamedTuple):
    """Decisions (b, d_x) that are compared, with their objectives (b,) and how likely (b,) they keep all limits."""

    decisions: Tensor
    values: Tensor
    probability: Tensor


def _offer(joint: JointBelief, wanted: Score, decisions: Tensor) -> Offered:
    with torch.no_grad():
        return Offered(decisions, wanted(decisions), feasible_draws(joint, decisions).double().mean(0))


def _preferred(offered: Offered) -> int:
    """The place of the best that is believed feasible; if none is, of the most likely one."""
    keeps = offered.probability >= CONFIDENCE
    judged = torch.where(keeps, offered.values, -torch.inf) if bool(keeps.any()) else offered.probability
    return int(judged.argmax())


def _between(offered: Offered) -> Tensor:
    """Decisions (k, d_x) on the way from the best that is believed feasible to each better one that is not."""
    best = _preferred(offered)
    start, better = offered.decisions[best], offered.decisions[offered.values > offered.values[best]]
    steps = torch.linspace(0, 1, DECISIONS_BETWEEN + 2, dtype=start.dtype, device=start.device)[1:-1, None, None]
    return (start + steps * (better - start)).reshape(-1, len(start))


def margins_at(joint: JointBelief, decision: Tensor) -> list[float]:
    """By how much the expected objective of each limit must exceed its level for all to be kept with `CONFIDENCE`.

    Args:
        joint: what is known about all outcomes.
        decision: (d_x,) where the spread of draws of each objective is looked at.
    """
    missed, found = (1 - CONFIDENCE) / len(joint.limits), []
    with torch.no_grad():
        for limit in joint.limits:
            drawn = objective_draws(limit.belief, decision[None])[:, 0]
            found.append(float(limit.moments(decision[None]).mean[0] - drawn.quantile(missed)))
    return found


def feasible_draws(joint: JointBelief, decisions: Tensor) -> Tensor:
    """Whether (draws, b) decisions keep all limits under each draw of the functions and the context distribution.

    All outcomes share the draws of the distribution, so limits that depend on the same contexts hold or fail together.

    Args:
        joint: what is known about all outcomes.
        decisions: (b, d_x) in the unit cube.
    """
    fits = torch.ones(DRAWS, len(decisions), dtype=torch.bool, device=decisions.device)
    laws = min((laws_for(limit.belief.objective, DRAWS) for limit in joint.limits), default=None)
    for limit in joint.limits:
        fits &= objective_draws(limit.belief, decisions, laws=laws) >= limit.level
    return fits


def surely_feasible(joint: JointBelief, search: Search, decision: Tensor) -> Settled:
    """Return the decision (d_x,) if it keeps all limits with the stated probability; else one that does.

    It is the last that does on the way from the decision that is most likely feasible; or that one itself.

    Args:
        joint: what is known about all outcomes, with the probability.
        search: the legal decisions.
        decision: what the acquisition chose.
    """
    if bool(_sure(joint, decision[None])[1]):
        return Settled(decision, True)
    likely = likely_feasible(joint.limits)
    tried = _leading(likely, search.permitted(joint.tried()), 8)
    surest = search.best(likely, joint.generator, tried).decision
    steps = torch.tensor(SHARES_OF_WAY, dtype=decision.dtype, device=decision.device)[:, None]
    between = search.permitted(search.box.snap(surest + steps * (decision - surest)))
    offered = torch.cat([between, surest[None], tried])
    probability, sure = _sure(joint, offered)
    if not bool(sure.any()):
        return Settled(offered[int(probability.argmax())], False)
    return Settled(offered[int(sure.double().argmax())], True)


def _sure(joint: JointBelief, decisions: Tensor) -> tuple[Tensor, Tensor]:
    """How likely (b,) decisions keep all limits, and whether that is certainly as likely as it must be.

    As with intervals: of k draws that all keep a limit the next one breaks it with probability 1 / (k + 1), draws that
    share a context distribution count for fewer, what is estimated from few outcomes has heavier tails, and draws of a
    distribution that is learned are too narrow.
    """
    kept, needed = feasible_draws(joint, decisions).double().cpu(), joint.cautious or CONFIDENCE
    share = kept.mean(0)
    known = independent_draws(kept, min(laws_for(limit.belief.objective, DRAWS) for limit in joint.limits))
    outcomes = min(len(limit.belief.observations) for limit in joint.limits)
    missed = (1 - needed) * (LEARNED_LAW_SHARE if _learned(joint) else 1)
    allowed = tail_share(outcomes, allowance=1, beyond=missed)
    return share, ((1 - share) * known + 1) / (known + 1) <= allowed


def _learned(joint: JointBelief) -> bool:
    """Whether draws of the context distribution differ."""
    source = torch.Generator().manual_seed(0)
    return any(bool((each.belief.laws(2, source) != each.belief.reference.weights).any()) for each in joint.limits)


def _leading(score: Score, decisions: Tensor, count: int) -> Tensor:
    """The decisions (at most count, d_x) whose score is highest."""
    if len(decisions) <= count:
        return decisions
    rough = hinted(score).rough or score
    with torch.no_grad():
        values = torch.cat([rough(block) for block in decisions.split(64)])
    return decisions[values.argsort(descending=True)[:count]]


def expected_score(belief: Belief) -> Score:
    """The objective of the posterior mean as a score."""
    few = belief.rough() if belief.objective.slow else None
    return mean_score(belief) or belief.expected if few is None else Expected(belief, few)
