"""Draws of the objective itself: each pairs a draw of the function with a draw of the context distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass, replace

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.timing import threads
from allweather.acquisition import Belief
from allweather.distances import MMD
from allweather.engine.condensed import condensed, correction
from allweather.objectives import DRO, Expectation, Objective
from allweather.surrogates.base import Moments

DRAWS, FEW_DECISION_DRAWS = 257, 1025
"""Draws of the objective, and of that of a few decisions; an odd number has a middle, whichever way one looks."""
MAX_FEW_DECISIONS = 4
"""Up to this many decisions are few."""
MAX_LAWS = 129
"""Draws of the law that draws of an objective share, which is prepared for each law by itself."""
MEAN_LAWS = 1024
"""Normal laws that the posterior of a mean is a mixture of: a multiple of the number of averaged hyperparameters."""
UNSEEN_DEVIATIONS, UNSEEN_DEGREES_OF_FREEDOM = 2.0, 2.0
"""Scale of the t distribution of outcomes where nothing was seen, in standard deviations of all outcomes."""
NOISE_PROBABILITY = 0.5
"""Prior probability that residuals of transformed outcomes are noise, and not features of the function."""
BLOCK_VALUES = 2**22
"""Values of the function that are held at a time."""


def objective_draws(
    belief: Belief, decisions: Tensor, count: int = DRAWS, laws: int | None = None, surprises: bool = False
) -> Tensor:
    """Posterior draws (count, b) of the objective of decisions (b, d_x).

    Each is the objective of a draw of the function under a draw of the context distribution, the same two for all
    decisions: so decisions are compared, not draws. Every function is drawn anew; but for means, four functions or more
    share a distribution.

    Where worst cases take long, functions are drawn at few contexts that stand for all. Then all draws of a decision
    are shifted by how much the objective of the mean function is higher on all contexts.

    Args:
        belief: what is known about the function and the context.
        decisions: (b, d_x) in the unit cube.
        count: how many draws.
        laws: how many distributions they share; by default as many as the objective allows for (`laws_for`).
        surprises: whether to allow for failures that were not seen, or are rare, as intervals do.
    """
    belief = belief.wide
    few, shared = condensed(belief), laws or laws_for(belief.objective, count)
    if few is not None:
        return _all_drawn(few, decisions, count, shared, surprises) + correction(belief, few, decisions)
    return _all_drawn(belief, decisions, count, shared, surprises)


def mean_laws(belief: Belief, decisions: Tensor) -> Moments | None:
    """Normal laws (k, b) whose equal mixture is the posterior of the mean outcome of decisions (b, d_x).

    Each is for one draw of the hyperparameters, one of the context distribution, and one of outcomes where nothing was
    seen; what functions may be given these is known in closed form. None where the objective is no mean of normal
    outcomes.

    Args:
        belief: what is known about the function and the context.
        decisions: in the unit cube.
    """
    if type(belief.objective) is not Expectation:
        return None
    belief = belief.wide
    surrogate, laws = belief.averaged or belief.surrogate, _laws(belief, MEAN_LAWS)
    likely, surprise = _without_unseen(belief, laws)
    with threads(1), torch.no_grad():
        found = surrogate.mean_moments(decisions, belief.reference.points, likely)
        return None if found is None else found._replace(mean=found.mean + surprise[:, None])


def draws_to_compare(belief: Belief, decisions: Tensor, least: Callable[[Tensor], Tensor]) -> Tensor:
    """Draws (257, b) as `objective_draws`, with -inf for decisions whose median cannot be what is looked for.

    A worst case is nowhere above its tangents: the worst distribution of one decision, under the same draw of function
    and law, bounds the worst cases of all others. Decisions are drawn from the highest bound down, until the bounds of
    the rest are too low.

    Args:
        belief: what is known about the function and the context.
        decisions: (b, d_x) in the unit cube; the first one is always drawn.
        least: from the first one's draws (257,), the median that another must have to be looked for.
    """
    few = condensed(belief)
    objective = None if few is None else with_kernel(few)
    if few is None or not isinstance(objective, DRO):
        return objective_draws(belief, decisions)
    distance, points = objective.distance, few.reference.points
    laws, shift = _laws(few, laws_for(few.objective, DRAWS)), correction(belief, few, decisions)
    with threads(1), torch.no_grad():
        values = _functions(few, decisions, DRAWS)
        bounds, drawn = torch.full_like(values[..., 0], torch.inf), torch.full_like(values[..., 0], -torch.inf)
        place, reached = 0, -torch.inf
        for _ in range(len(decisions)):
            worst = distance.worst_cases(values[:, place : place + 1], points, laws)
            drawn[:, place] = worst.value[:, 0] + shift[place]
            bounds = torch.minimum(bounds, (values * worst.weights).sum(-1) + shift)
            middle = drawn[:, place].median() if place else least(drawn[:, 0])
            reached = max(reached, float(middle))
            limits = torch.where(drawn[0].isinf(), bounds.median(0).values, -torch.inf)
            place = int(limits.argmax())
            if limits[place] <= reached:
                break
    return drawn


def _all_drawn(belief: Belief, decisions: Tensor, count: int, shared: int, surprises: bool) -> Tensor:
    belief = replace(belief, objective=with_kernel(belief))
    laws = _laws(belief, shared)
    most = max(1, BLOCK_VALUES // (count * len(belief.reference.points)))
    with threads(1):  # many small computations
        return torch.cat([_drawn(belief, rows, laws, count, surprises) for rows in decisions.split(most)], dim=1)


def _laws(belief: Belief, shared: int) -> Tensor:
    """Draws (shared, n) of the context distribution, the same for all decisions and calls."""
    return belief.laws(shared, _stream(_seed(belief)))


def _without_unseen(
    belief: Belief,
    laws: Tensor,  # (k, n)
) -> tuple[Tensor, Tensor]:
    """The laws without contexts where nothing was seen, and what these and the residuals add to means (k,)."""
    surprise = laws.new_zeros(len(laws))
    if belief.residuals is not None:
        surprise = surprise + _mean_residuals(belief, len(laws))
    if not belief.added:
        return laws, surprise
    likely = laws.clone()
    likely[:, -belief.added :] = 0
    return likely, surprise + (laws[:, -belief.added :] * _unseen_outcomes(belief, len(laws))).sum(-1)


def _unseen_outcomes(belief: Belief, count: int) -> Tensor:
    """Draws (count, m) of mean outcomes in contexts where nothing was seen: of the order of the outcomes seen.

    A surrogate says there what smooth functions do. What is rare may well be a failure: so outcomes have the mean and
    the spread of all outcomes so far, with heavy tails.
    """
    values = belief.observations.values
    source = np.random.default_rng(np.random.SeedSequence([_seed(belief) % 2**63, 2]))
    drawn = torch.from_numpy(source.standard_t(UNSEEN_DEGREES_OF_FREEDOM, size=(count, belief.added))).to(values)
    return values.mean() + UNSEEN_DEVIATIONS * values.std(correction=0) * drawn


def _mean_residuals(belief: Belief, count: int) -> Tensor:
    """Draws (count,) of what residuals add to mean outcomes: nothing, or a Bayesian bootstrap draw of their mean.

    Rare outcomes far from the others may be features of the function, where the surrogate has placed them, or noise
    that may strike at every decision. Data rarely tell which, so both are as likely.
    """
    assert belief.residuals is not None
    source = np.random.default_rng(np.random.SeedSequence([_seed(belief) % 2**63, 3]))
    weights = torch.from_numpy(source.dirichlet(np.ones(len(belief.residuals)), size=count))
    noise = torch.from_numpy(source.random(count) < NOISE_PROBABILITY).to(belief.residuals)
    return noise * (weights.to(belief.residuals) @ belief.residuals)


def _seed(belief: Belief) -> int:
    return belief.generator.initial_seed() if belief.law_seed is None else belief.law_seed


def _functions(belief: Belief, decisions: Tensor, count: int) -> Tensor:
    """Draws (count, b, n) of the function, the same for all decisions and calls."""
    surrogate, generator = belief.averaged or belief.surrogate, Generator().manual_seed(belief.generator.initial_seed())
    return surrogate.draws(decisions, belief.reference.points, count, generator)


def _drawn(belief: Belief, decisions: Tensor, laws: Tensor, count: int, surprises: bool) -> Tensor:
    points, weights = belief.reference
    with torch.no_grad():
        if type(belief.objective) is Expectation:
            surrogate = belief.averaged or belief.surrogate
            generator = Generator().manual_seed(belief.generator.initial_seed())
            repeated = laws[torch.arange(count) % len(laws)]
            likely, surprise = _without_unseen(belief, repeated) if surprises else (repeated, laws.new_zeros(count))
            return surrogate.mean_draws(decisions, points, likely, count, generator) + surprise[:, None]
        values = _functions(belief, decisions, count)
        if surprises and belief.residuals is not None:
            values = values + _mean_residuals(belief, count)[:, None, None]
        if surprises and belief.added:
            values[..., -belief.added :] = _unseen_outcomes(belief, count)[:, None]
        if bool((laws == weights).all()):
            return belief.objective(values, belief.reference)
        return belief.objective.under(values, points, laws)


def with_kernel(belief: Belief) -> Objective:
    """The objective, with the kernel that its distance has under the reference, whatever law is drawn."""
    distance = getattr(belief.objective, "distance", None)
    if not isinstance(distance, MMD) or not is_dataclass(belief.objective):
        return belief.objective
    return replace(belief.objective, distance=distance.bound(belief.reference))


def laws_for(objective: Objective, count: int) -> int:
    """How many laws `count` draws share: every law is prepared for by itself, but for means."""
    if type(objective) is Expectation:
        return count
    return min(MAX_LAWS, count // 4 + 1)


def _stream(seed: int) -> Generator:
    """Random numbers for the law that are independent of the function's."""
    state = np.random.SeedSequence([seed % 2**63, 1]).generate_state(1, np.uint64)[0]
    return Generator().manual_seed(int(state) % 2**63)
