"""The decision to recommend: where objectives are not linear, the posterior mean function says too much."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from allweather._utils.warm_starts import warm_starts
from allweather.acquisition import Belief
from allweather.acquisition.objective_ucb import mean_score
from allweather.acquisition.optimize import Best, Search
from allweather.engine.condensed import Expected
from allweather.engine.gain import sampled_functions, sampled_objectives
from allweather.engine.objective_draws import draws_to_compare
from allweather.engine.screening import leading_medians, tangent_values
from allweather.objectives import Expectation

MAX_TRIED, SPREAD_DECISIONS = 32, 32
"""Decisions compared: tried ones that look best, and ones spread over all."""
FINALISTS = 4
"""So many of all, and so many of those tried, that are best on few contexts with few samples are compared with all."""
SCREENING_SAMPLES = 48
"""Samples that finalists are chosen by where worst cases take long."""
CLEAR_MARGIN = 0.25
"""Another decision is recommended if its median is higher by this share of the first one's standard deviation."""
STEP_DEVIATIONS = (0.1, 0.03)
"""Standard deviations of the steps around the best of them, in the unit cube."""


def best_expected(belief: Belief, search: Search) -> Best:
    """Return the decision whose objective is best under the posterior mean.

    Args:
        belief: what is known about the function and the context.
        search: the legal decisions.
    """
    rough = belief.rough() if belief.objective.slow else None
    if rough is None:
        return search.best(mean_score(belief) or belief.expected, belief.generator, belief.incumbents(16))
    return search.best(Expected(belief, rough), belief.generator, rough.incumbents(16))


def likely_best(belief: Belief, first: Tensor, search: Search) -> Tensor:
    """Return `first`, or a decision (d_x,) among candidates whose objective has a clearly higher posterior median.

    A worst case of the posterior mean function is no worst case of the function: where nothing was tried the mean is
    flat, so the worst case looks as good as the mean. The median of the objective itself allows for what is not known.

    Args:
        belief: what is known about the function and the context.
        first: (d_x,) the decision whose objective is best under the posterior mean.
        search: the legal decisions.
    """
    if type(belief.objective) is Expectation:  # linear
        return first
    # The same data give the same decision, whatever else happened.
    belief = replace(belief, generator=torch.Generator().manual_seed(0), bound=belief.field)
    with warm_starts():
        finalists = _finalists(belief, search)
    drawn = draws_to_compare(belief, torch.cat([first[None], finalists]), _clearly_higher)
    middle = drawn.median(0).values
    best = int(middle.argmax())
    return finalists[best - 1] if best and bool(middle[best] > _clearly_higher(drawn[:, 0])) else first


def _clearly_higher(drawn: Tensor) -> Tensor:
    """What the median of another decision must be above, by draws (k,) of the first one's objective."""
    levels = torch.tensor([0.16, 0.5, 0.84], dtype=torch.float64).to(drawn.device)
    low, middle, high = drawn.quantile(levels, interpolation="nearest").unbind()
    return middle + CLEAR_MARGIN * (high - low) / 2


def _finalists(belief: Belief, search: Search) -> Tensor:
    """Decisions (m, d_x) with the highest medians on few contexts with few samples: of all, and of those tried."""
    rough = belief.rough() or belief
    tried = search.permitted(rough.incumbents(MAX_TRIED))
    decisions = torch.cat([tried, search.sample(SPREAD_DECISIONS, belief.generator)])
    medians = _medians(rough, decisions, len(tried))
    known = tried[medians[: len(tried)].argsort(descending=True, stable=True)[:FINALISTS]]
    for step in STEP_DEVIATIONS if search.candidates is None else ():
        near = search.around(decisions[medians.argmax()], step, SPREAD_DECISIONS, belief.generator)
        decisions = torch.cat([decisions, near])
        medians = torch.cat([medians, _medians(rough, near)])
    others = decisions[medians.argsort(descending=True, stable=True)[:FINALISTS]]
    repeated = (others[:, None] == known).all(-1).any(-1)
    return torch.cat([known, others[~repeated]])


def _medians(belief: Belief, decisions: Tensor, tried: int = 0) -> Tensor:
    """Posterior medians (b,) of the objectives of decisions (b, d_x), the law taken as known.

    Where worst cases take long, -inf for those that are not among the best: of all, and of the first `tried`.
    """
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        if not belief.objective.slow:
            return sampled_objectives(belief, decisions, generator).median(0).values
        values = sampled_functions(belief, decisions, generator)[:SCREENING_SAMPLES]
        estimate = tangent_values(belief, decisions, values)
        medians = leading_medians(belief, values, estimate, FINALISTS)
        if tried:
            known = medians[:tried]
            medians[:tried] = leading_medians(belief, values[:, :tried], estimate[:, :tried], FINALISTS, known)
        return medians


def promising(belief: Belief, search: Search, first: Tensor) -> Tensor:
    """Return decisions (m, d_x) that may be the best after one more trial, the most promising first.

    Args:
        belief: what is known about the function and the context.
        search: the legal decisions.
        first: (d_x,) the decision that is best under the posterior mean.
    """
    spread = search.sample(256, belief.generator)
    near = search.around(first, 0.1, 16, belief.generator)
    decisions = torch.cat([search.permitted(belief.observations.decisions), spread, near])
    with torch.no_grad():
        upper = torch.cat([belief.field.upper(block, belief.weights(block), 1.0) for block in decisions.split(64)])
    return torch.cat([first[None], decisions[upper.argsort(descending=True)[:63]]])
