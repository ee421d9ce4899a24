"""When to stop: how much better the best decision may still be, and what one more trial is expected to gain."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.warm_starts import warm_starts
from allweather.acquisition import Belief
from allweather.engine.screening import highest, tangent_values
from allweather.objectives import Expectation
from allweather.surrogates import Posterior
from allweather.surrogates.botorch_model import ModelField, ModelPosterior
from allweather.surrogates.posteriors.field import ProductField
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior

SAMPLED_FUNCTIONS, FEATURES = 96, 256
"""Sampled functions, and the random cosines of each."""
GAIN_LEVEL = 0.95
SPREAD_CANDIDATES = 48
"""Candidates that are spread over all decisions."""
COMING_CONTEXTS, OUTCOME_NODES = 4, 5
"""Contexts and outcomes that the next trial is averaged over."""
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(OUTCOME_NODES)
_SHARES = _SHARES / math.sqrt(2 * math.pi)


class Gain(NamedTuple):
    """What is left to gain over the chosen decision, in the objective's units; never negative."""

    possible: float
    """With 95% probability no decision is better by more than this."""
    expected: float | None
    """What one more trial is expected to gain; None where the surrogate cannot say."""


def gain_left(belief: Belief, chosen: Tensor, candidates: Tensor) -> Gain:
    """How much better than the chosen decision the best candidate may be, under the posterior.

    Args:
        belief: what is known about the function and the context.
        chosen: (d_x,) the decision that looks best.
        candidates: (m, d_x) legal decisions, spread out.
    """
    belief = belief.rough() or belief
    decisions = torch.cat([chosen[None], candidates, belief.incumbents(16)])
    generator = Generator().manual_seed(belief.generator.initial_seed())
    with torch.no_grad(), warm_starts():
        if belief.objective.slow:
            values = sampled_functions(belief, decisions, generator)
            drawn = tangent_values(belief, decisions, values)  # which decision may be best is seen from tangents
            first = belief.objective(values[:, 0], belief.reference)
            best = torch.maximum(highest(belief, values, drawn), first)
        else:
            drawn = sampled_objectives(belief, decisions, generator)
            first, best = drawn[:, 0], drawn.amax(1)
        possible = float((best - first).nan_to_num(nan=math.inf).quantile(GAIN_LEVEL, interpolation="higher"))
        return Gain(possible, _expected(belief, decisions, drawn, generator))


def sampled_objectives(belief: Belief, decisions: Tensor, generator: Generator) -> Tensor:
    """The objective (k, b) of decisions under sampled functions, the same functions for all decisions."""
    points, weights = belief.reference
    if type(belief.objective) is Expectation:
        state = generator.get_state()
        means = belief.surrogate.mean_paths(points, weights, SAMPLED_FUNCTIONS, generator, FEATURES)
        if means is not None:
            return means(decisions)[..., 0]
        generator.set_state(state)
    paths = belief.surrogate.paths(points, SAMPLED_FUNCTIONS, generator, FEATURES)
    blocks = [belief.objective(paths(block), belief.reference) for block in decisions.split(16)]
    return torch.cat(blocks, 1)


def sampled_functions(belief: Belief, decisions: Tensor, generator: Generator) -> Tensor:
    """Sampled functions (k, b, n) of decisions at the reference's points, the same for all decisions."""
    paths = belief.surrogate.paths(belief.reference.points, SAMPLED_FUNCTIONS, generator, FEATURES)
    return torch.cat([paths(block) for block in decisions.split(16)], 1)


def _expected(belief: Belief, decisions: Tensor, drawn: Tensor, generator: Generator) -> float | None:
    """The gain of a trial of the most promising decision, averaged over its context and outcome."""
    if not bool(drawn.isfinite().all()):
        return None
    promising = decisions[(drawn.mean(0) + drawn.std(0)).argmax()]
    weights, points = belief.reference.weights, belief.reference.points
    places = torch.multinomial(weights.cpu(), min(COMING_CONTEXTS, len(weights)), replacement=True, generator=generator)
    before = float(belief.expected(decisions).max())
    means = []
    for context in points[places]:
        point = torch.cat([promising, context])[None]
        outcomes = possible_outcomes(belief.surrogate, point, len(promising))
        if outcomes is None:
            return None
        means.append(_means_after(belief, decisions, point, outcomes))
    values = torch.cat(means)  # (contexts x outcomes, b, n)
    if belief.objective.slow:
        after = highest(belief, values, tangent_values(belief, decisions, values))
    else:
        after = belief.objective(values, belief.reference).amax(-1)
    shares = torch.from_numpy(_SHARES).to(after.device).repeat(len(places)) / len(places)
    return max(float(shares @ (after - before)), 0.0)


def _means_after(belief: Belief, decisions: Tensor, point: Tensor, outcomes: Tensor) -> Tensor:
    """Posterior means (5, b, n) of decisions after each of the `possible_outcomes` of a trial at a point (1, d)."""
    field = belief.field
    if isinstance(field, ProductField | ModelField):  # means are linear in the outcome
        surprise = outcomes - outcomes[OUTCOME_NODES // 2]
        return field.mean(decisions) + surprise[:, None, None] * field.reaction(decisions, point[0])
    points = belief.reference.points
    return torch.stack([belief.surrogate.given(point, each[None]).field(points).mean(decisions) for each in outcomes])


def possible_outcomes(posterior: Posterior, point: Tensor, split: int) -> Tensor | None:
    """Outcomes (5,) of a trial at a joint point (1, d), noise included: nodes of a Gaussian quadrature.

    None where the surrogate does not know its noise.
    """
    if isinstance(posterior, TransformedPosterior):
        transformed = possible_outcomes(posterior.inner, point, split)
        return None if transformed is None else posterior.back(transformed)
    if isinstance(posterior, ModelPosterior):
        mean = posterior.field(point[:, split:]).mean(point[:, :split])[0, 0]
        return mean + posterior.outcome_sd(point) * torch.from_numpy(_NODES).to(mean.device)
    best = posterior.best if isinstance(posterior, MixturePosterior) else posterior
    if not isinstance(best, ProductPosterior):
        return None
    mean, sd = posterior.field(point[:, split:])(point[:, :split])
    spread = (sd[0, 0].square() + best.data.noise * best.data.scale**2).sqrt()
    return mean[0, 0] + spread * torch.from_numpy(_NODES).to(spread.device)
