"""When to stop: how much better the best decision may still be, and what one more trial is expected to gain."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.warm_starts import warm_starts
from allweather.acquisition import Belief
from allweather.acquisition.optimize import Search
from allweather.engine.sampled_peaks import MAXIMISED_FUNCTIONS, SAMPLED_LAWS, Samples, peaks, replaced
from allweather.engine.screening import highest, tangent_values
from allweather.objectives import Expectation
from allweather.surrogates import Posterior
from allweather.surrogates.botorch_model import ModelField, ModelPosterior
from allweather.surrogates.posteriors.field import ProductField
from allweather.surrogates.posteriors.kernel_average import KernelAveragePosterior
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior

SAMPLED_FUNCTIONS, FEATURES = 96, 256
"""Sampled functions to compare decisions with, and the random cosines of each."""
GAIN_LEVEL = 0.95
NEAR_STEP, NEAR_DECISIONS = 0.15, 24
"""Standard deviation of steps around the chosen decision, and how many decisions there are compared after a trial."""
SPREAD_CANDIDATES = 48
"""Decisions, spread over all, that samples are compared at."""
COMING_CONTEXTS, OUTCOME_NODES, FARTHEST_OUTCOME = 4, 13, 3.6
"""Contexts (twice as many at most) and outcomes that the next trial is averaged over, and how many deviations off the
last of these are. They are equally far apart: the best objective afterwards has kinks, which Gaussian quadrature
misses."""
_NODES = np.linspace(-FARTHEST_OUTCOME, FARTHEST_OUTCOME, OUTCOME_NODES)
_SHARES = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()


class Gain(NamedTuple):
    """What is left to gain over the chosen decision, in the objective's units; never negative."""

    possible: float
    """With 95% probability no decision is better by more than this; infinite where it cannot be told."""
    expected: float | None
    """What one more trial is expected to gain; None where the surrogate cannot say."""
    trial: Tensor | None = None
    """(d_x,) the decision of that trial: the most promising one."""


def gain_left(belief: Belief, chosen: Tensor, search: Search) -> Gain:
    """How much better than the chosen decision another may be, under the posterior.

    Samples of the function, each with hyperparameters and a context distribution of its own, are maximised one by one.

    Args:
        belief: what is known about the function and the context.
        chosen: (d_x,) the decision that looks best.
        search: the legal decisions.
    """
    belief = belief.rough() or belief
    generator = Generator().manual_seed(belief.generator.initial_seed())
    compared = torch.cat([chosen[None], search.sample(SPREAD_CANDIDATES, generator), belief.incumbents(16)])
    with warm_starts():
        samples = Samples.drawn(belief, generator)
        if samples is None or belief.objective.slow:
            possible, drawn = _of_candidates(belief, compared, search, samples, generator)
        else:
            drawn = samples.shared(compared)
            points, possible = peaks(samples, compared, search, drawn, generator)
            near = (
                search.around(chosen, NEAR_STEP, NEAR_DECISIONS, generator) if search.candidates is None else points[:0]
            )
            drawn = torch.cat([drawn, samples.shared(torch.cat([points, near]))], 1)
            compared = torch.cat([compared, points, near])
        with torch.no_grad():
            gained = replaced(possible - drawn[:, 0], math.inf).clamp_min(0)
            most = float(gained.quantile(GAIN_LEVEL, interpolation="higher"))
            if not bool(drawn.isfinite().all()):
                return Gain(most, None)
            promising = compared[(drawn.mean(0) + drawn.std(0)).argmax()]
            return Gain(most, _expected(belief, compared, promising), promising)


def _of_candidates(
    belief: Belief, compared: Tensor, search: Search, samples: Samples | None, generator: Generator
) -> tuple[Tensor, Tensor]:
    """The highest objective (k,) of each sample among candidates, and that (k, b) of the decisions compared.

    For objectives that take long the candidates are the peaks of each sample to first order, in the tangent at the
    chosen decision, and which of them may be best is seen from tangents, too. Surrogates that are no Gaussian
    processes of ours have more candidates instead.
    """
    objective, reference, count = belief.objective, belief.reference, len(compared)
    with torch.no_grad():
        if samples is not None:
            mean = samples.toward(belief.weights(compared[:1]).reshape(-1, len(reference.weights))[0])
            highest_points, _ = peaks(mean, compared, search, mean.shared(compared), generator)
            decisions = torch.cat([compared, highest_points])
            values = samples.values(decisions)
        else:
            more = search.sample(min(32 * compared.shape[1], 256), generator)
            decisions = torch.cat([compared, more])
            surrogate = belief.averaged or belief.surrogate
            paths = surrogate.paths(reference.points, MAXIMISED_FUNCTIONS, generator, FEATURES)
            values = torch.cat([paths(block) for block in decisions.split(16)], 1)
        if not objective.slow:
            drawn = objective.under(values, reference.points, belief.laws(SAMPLED_LAWS, generator))
            return replaced(drawn, -math.inf).amax(1), drawn[:, :count]
        drawn = tangent_values(belief, decisions, values)
        first = objective(values[:, 0], reference)
        best = torch.maximum(highest(belief, values, drawn), first)
        return best - first + drawn[:, 0], drawn[:, :count]


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


def _expected(belief: Belief, decisions: Tensor, promising: Tensor) -> float | None:
    """The gain of a trial of a promising decision, averaged over its context and outcome.

    After the trial the best decision is one of those that are best under a sample, tried, spread or near the chosen
    one. Hyperparameters and the context distribution stay as they are.

    Args:
        belief: what is known about the function and the context.
        decisions: (b, d_x) that may be the best after the trial.
        promising: (d_x,) the decision of the trial.
    """
    grouped = belief.reference.grouped(COMING_CONTEXTS)
    coming = belief.reference if grouped is None else grouped[1]
    likely = np.flatnonzero(coming.weights.cpu().numpy() > 0)
    before = float(belief.expected(decisions).max())
    means = []
    for context in coming.points[likely]:
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
    shares = (coming.weights[likely][:, None] * torch.from_numpy(_SHARES).to(after.device)).flatten()
    return max(float(shares @ (after - before)), 0.0)


def _means_after(belief: Belief, decisions: Tensor, point: Tensor, outcomes: Tensor) -> Tensor:
    """Posterior means (o, b, n) of decisions after each of the `possible_outcomes` of a trial at a point (1, d)."""
    field = belief.field
    if isinstance(field, ProductField | ModelField):  # means are linear in the outcome
        surprise = outcomes - outcomes[OUTCOME_NODES // 2]
        return field.mean(decisions) + surprise[:, None, None] * field.reaction(decisions, point[0])
    points = belief.reference.points
    return torch.stack([belief.surrogate.given(point, each[None]).field(points).mean(decisions) for each in outcomes])


def possible_outcomes(posterior: Posterior, point: Tensor, split: int) -> Tensor | None:
    """Outcomes (o,) of a trial at a joint point (1, d), noise included, in equal steps.

    None where the surrogate does not know its noise.
    """
    if isinstance(posterior, TransformedPosterior):
        transformed = possible_outcomes(posterior.inner, point, split)
        return None if transformed is None else posterior.back(transformed)
    if isinstance(posterior, ModelPosterior):
        mean = posterior.field(point[:, split:]).mean(point[:, :split])[0, 0]
        return mean + posterior.outcome_sd(point) * torch.from_numpy(_NODES).to(mean.device)
    best = posterior.best if isinstance(posterior, MixturePosterior | KernelAveragePosterior) else posterior
    if not isinstance(best, ProductPosterior):
        return None
    mean, sd = posterior.field(point[:, split:])(point[:, :split])
    spread: Tensor = (sd[0, 0].square() + best.data.noise_at(point) * best.data.scale**2).sqrt()
    return mean[0, 0] + spread * torch.from_numpy(_NODES).to(spread.device)
