"""When to stop: how much better the best decision may still be, and what one more trial is expected to gain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.warm_starts import warm_starts
from allweather.acquisition import Belief
from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.region import listed, neighbours
from allweather.contexts import Reference
from allweather.engine.screening import highest, tangent_values
from allweather.objectives import Expectation, Objective
from allweather.surrogates import Posterior
from allweather.surrogates.botorch_model import ModelField, ModelPosterior
from allweather.surrogates.posteriors.field import ProductField
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior
from allweather.surrogates.samples.separate_paths import SeparatePaths

SAMPLED_FUNCTIONS, FEATURES = 96, 256
"""Sampled functions to compare decisions with, and the random cosines of each."""
MAXIMISED_FUNCTIONS, SAMPLED_LAWS = 64, 8
"""Sampled functions that are maximised, and context distributions they share; for means each has its own."""
GAIN_LEVEL = 0.95
SPREAD_CANDIDATES = 48
"""Candidates of the expected gain that are spread over all decisions."""
CANDIDATES_PER_COLUMN, MAX_CANDIDATES, MAX_LISTED = 24, 256, 2000
"""Further decisions that the climbs begin from, per column and at most; and at most where nothing is continuous."""
LEAST_GROUPS, MAX_REPEATED_OUTCOMES = 8, 512
"""Groups of samples with frequencies of their own, so that errors of few cosines cancel, up to so many outcomes."""
STARTS, CLIMBING_STEPS, NEIGHBOUR_ROUNDS = 3, 12, 6
"""Climbs of each sample, steps of each, and moves of whole numbers and choices: more change the possible gain by less
than 5% on seeds below 100 of `python -m benchmarks possible_gain`."""
CLIMBED_CONTEXTS = 32
"""Contexts with weight, at most, where the objective is not linear in outcomes."""
COMING_CONTEXTS, OUTCOME_NODES = 4, 5
"""Contexts and outcomes that the next trial is averaged over."""
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(OUTCOME_NODES)
_SHARES = _SHARES / math.sqrt(2 * math.pi)


class Gain(NamedTuple):
    """What is left to gain over the chosen decision, in the objective's units; never negative."""

    possible: float
    """With 95% probability no decision is better by more than this; infinite where it cannot be told."""
    expected: float | None
    """What one more trial is expected to gain; None where the surrogate cannot say."""


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
        samples = _Samples.drawn(belief, generator)
        if samples is None or belief.objective.slow:
            possible, drawn = _of_candidates(belief, compared, search, samples, generator)
        else:
            drawn = samples.shared(compared)
            _, possible = _peaks(samples, compared, search, drawn, generator)
        with torch.no_grad():
            gained = _replaced(possible - drawn[:, 0], math.inf).clamp_min(0)
            most = float(gained.quantile(GAIN_LEVEL, interpolation="higher"))
            return Gain(most, _expected(belief, compared, drawn, generator))


@dataclass(frozen=True, eq=False)
class _Samples:
    """Samples of the objective, that can be evaluated at decisions of their own."""

    paths: SeparatePaths
    objective: Objective
    contexts: Tensor
    """(n, d_c)"""
    laws: Tensor
    """(g, k, n) of each sample, or (l, n) of sample i % l."""
    right: Tensor
    """The contexts' share (g, 2F + t, n); for means (g, k, 2F + t) the weights with the law's share."""
    back: TransformedPosterior | None

    @classmethod
    def drawn(cls, belief: Belief, generator: Generator) -> _Samples | None:
        """Draw samples; None for surrogates that are no Gaussian processes of ours."""
        posterior = belief.averaged or belief.surrogate
        back = posterior if isinstance(posterior, TransformedPosterior) else None
        inner = posterior if back is None else back.inner
        if isinstance(inner, MixturePosterior):
            parts: tuple[ProductPosterior, ...] = inner.parts[:MAXIMISED_FUNCTIONS]
        elif isinstance(inner, ProductPosterior):
            parts = (inner,)
        else:
            return None
        if len(parts) > 1 and parts[0].data.noise_root is not None:  # they need not share inducing points
            return None
        if len(parts[0].data.points) <= MAX_REPEATED_OUTCOMES:
            parts = parts * max(1, LEAST_GROUPS // len(parts))
        is_mean = type(belief.objective) is Expectation
        if not (is_mean and back is None) and not belief.objective.slow:
            grouped = belief.reference.grouped(CLIMBED_CONTEXTS)
            belief = belief if grouped is None else replace(belief, reference=grouped[1], bound=None)
        each = -(-MAXIMISED_FUNCTIONS // len(parts))
        with torch.no_grad():
            paths = SeparatePaths.drawn(parts, each, generator)
            right, contexts = paths.of_contexts(belief.reference.points), belief.reference.points
            laws = belief.laws(len(parts) * each if is_mean else SAMPLED_LAWS, generator)
            if is_mean:
                laws = laws.unflatten(0, (len(parts), each))
                if back is None:
                    right = (laws @ right.mT) * paths.weights
            elif bool((laws == laws[0]).all()):
                laws = laws[:1]
        return cls(paths, belief.objective, contexts, laws, right, back)

    @property
    def size(self) -> tuple[int, int]:
        """Groups of samples, and samples in each."""
        return self.paths.weights.shape[0], self.paths.weights.shape[1]

    def shared(self, decisions: Tensor) -> Tensor:
        """The objective (g k, b) of the same decisions (b, d_x) for all samples, without gradient."""
        g, k = self.size
        with torch.no_grad():
            found = []
            for block in decisions.split(64):
                left = self.paths.of_decisions(block.expand(g, -1, -1))  # (g, b, 2F + t)
                found.append(self._objective(left[:, None]).reshape(g * k, len(block)))
            return torch.cat(found, 1)

    def own(self, decisions: Tensor) -> Tensor:
        """The objective (g k, b) of decisions (g k, b, d_x) of each sample."""
        g, k = self.size
        left = self.paths.of_decisions(decisions.reshape(g, -1, decisions.shape[-1]))
        return self._objective(left.unflatten(1, (k, -1))).flatten(0, 1)

    def values(self, decisions: Tensor) -> Tensor:
        """The function (g k, b, n) at decisions (b, d_x) and all contexts, without gradient."""
        with torch.no_grad():
            blocks = [
                self._values(self.paths.of_decisions(block.expand(self.size[0], -1, -1))[:, None])
                for block in decisions.split(16)
            ]
        return torch.cat(blocks, 2).flatten(0, 1)

    def _values(self, left: Tensor) -> Tensor:
        """(g, k, b, n) from the decisions' share (g, k or 1, b, 2F + t)."""
        weighed = left * self.paths.weights[:, :, None]
        values = self.paths.outcomes((weighed.flatten(1, 2) @ self.right).unflatten(1, weighed.shape[1:3]))
        return values if self.back is None else self.back.back(values)

    def _objective(self, left: Tensor) -> Tensor:
        """(g, k, b) from the decisions' share (g, k or 1, b, 2F + t)."""
        if type(self.objective) is Expectation:
            if self.back is None:
                if left.shape[1] == 1:  # the same decisions for all samples
                    return self.paths.outcomes((left[:, 0] @ self.right.mT).mT)
                return self.paths.outcomes((left @ self.right[..., None])[..., 0])
            means: Tensor = (self._values(left) @ self.laws[..., None])[..., 0]
            return means
        values = self._values(left)
        flat, laws = values.flatten(0, 1), self.laws
        found = [self.objective(flat[i :: len(laws)], Reference(self.contexts, law)) for i, law in enumerate(laws)]
        order = torch.cat([torch.arange(i, len(flat), len(laws)) for i in range(len(laws))]).argsort()
        mixed: Tensor = torch.cat(found)[order.to(flat.device)].unflatten(0, values.shape[:2])
        return mixed

    def toward(self, weights: Tensor) -> _Samples:
        """The same functions, with their means under weights (n,) as objective."""
        g, k = self.size
        laws = weights.expand(g, k, -1)
        if self.back is not None:
            return replace(self, objective=Expectation(), laws=laws)
        return replace(self, objective=Expectation(), laws=laws, right=(laws @ self.right.mT) * self.paths.weights)


def _peaks(
    samples: _Samples, compared: Tensor, search: Search, drawn: Tensor, generator: Generator
) -> tuple[Tensor, Tensor]:
    """The best decision (k, d_x) of each sample, and its objective (k,).

    Args:
        samples: of the objective.
        compared: (b, d_x) decisions that were evaluated.
        search: the legal decisions.
        drawn: (k, b) their objectives.
        generator: the source of randomness.
    """
    region = search.region
    everything = listed(region) if search.candidates is None else search.candidates.cpu().numpy()
    if everything is None:
        more = search.sample(min(CANDIDATES_PER_COLUMN * compared.shape[1], MAX_CANDIDATES), generator)
    else:
        more = torch.from_numpy(everything[:MAX_LISTED]).to(compared.device)
    values = _replaced(torch.cat([drawn, samples.shared(more)], 1), -math.inf)
    decisions = torch.cat([compared, more])
    top = values.topk(1 if everything is not None else min(STARTS, values.shape[1]), 1)
    points = decisions[top.indices]
    if everything is not None:
        return points[:, 0], top.values[:, 0]
    points[:, -1], heights = decisions[0], top.values.clone()  # one start is the chosen decision
    heights[:, -1] = values[:, 0]
    if region.real.any():
        points, heights = _ascended(samples, points, search)
    if not region.real.all():
        points, heights = _walked(samples, points, heights, search)
    best = heights.argmax(1)
    rows = torch.arange(len(best), device=best.device)
    return points[rows, best], heights[rows, best]


def _ascended(samples: _Samples, points: Tensor, search: Search) -> tuple[Tensor, Tensor]:
    """Points (k, b, d_x) after projected gradient steps in the continuous columns, and their objectives (k, b).

    Steps have the lengths of Barzilai and Borwein (1988), in columns divided by their lengthscales.
    """
    real = torch.from_numpy(search.region.real).to(points.device)
    split = points.shape[-1]
    units = real * samples.paths.lengthscales[:, :split].square().clamp_max(4.0)
    units = units.repeat_interleave(samples.size[1], 0)[:, None]  # (k, 1, d_x)
    bound = bool(search.constraints)
    values, slopes = _slopes(samples, points)
    steepest = (units * slopes).abs().amax(-1, keepdim=True)
    length = 0.1 / steepest.clamp_min(1e-300)
    for _ in range(CLIMBING_STEPS):
        trial = (points + length * units * slopes).clamp(0, 1)
        if bound:
            legal = search.region.legal(trial.flatten(0, 1).cpu().numpy())
            legal[~search.region.feasible(legal)] = np.nan
            trial = torch.from_numpy(legal).to(points.device).view_as(points)
            trial = torch.where(trial.isnan(), points, trial)
        heights, found = _slopes(samples, trial)
        moved, turned = trial - points, slopes - found
        along = (moved * turned).sum(-1, keepdim=True)
        across = (moved.square() / units.clamp_min(1e-12)).sum(-1, keepdim=True)
        good = (heights >= values)[..., None]
        natural = torch.where(along > 0, across / along.clamp_min(1e-300), 4 * length)
        length = torch.where(good, natural, torch.minimum(natural, 0.25 * length))
        points, slopes = torch.where(good, trial, points), torch.where(good, found, slopes)
        values = torch.where(good[..., 0], heights, values)
        steepest = (units * slopes).abs().amax(-1, keepdim=True)
        length = torch.minimum(length, 0.5 / steepest.clamp_min(1e-300))
    return points, values


def _slopes(samples: _Samples, points: Tensor) -> tuple[Tensor, Tensor]:
    """Objectives (k, b) of points (k, b, d_x) and their gradients (k, b, d_x)."""
    with torch.enable_grad():
        moved = points.detach().requires_grad_()
        values = samples.own(moved)
        (slopes,) = torch.autograd.grad(values.sum(), moved)
    return _replaced(values.detach(), -math.inf), slopes.nan_to_num(0.0, 0.0, 0.0)


def _walked(samples: _Samples, points: Tensor, heights: Tensor, search: Search) -> tuple[Tensor, Tensor]:
    """The best point (k, 1, d_x) of each sample, after moves to better neighbours in whole numbers and choices."""
    k, device = len(points), points.device
    best, rows = heights.argmax(1), torch.arange(k, device=device)
    points, heights = points[rows, best], heights[rows, best]
    for _ in range(NEIGHBOUR_ROUNDS):
        trials, owners = neighbours(search.region, points.cpu().numpy())
        if not len(trials):
            break
        counts = np.bincount(owners, minlength=k)
        order = np.argsort(owners, kind="stable")
        rank = np.arange(len(order)) - np.repeat(counts.cumsum() - counts, counts)
        spread = points[:, None].repeat(1, int(counts.max()), 1)
        spread[torch.from_numpy(owners[order]), torch.from_numpy(rank)] = torch.from_numpy(trials[order]).to(device)
        with torch.no_grad():
            found, place = _replaced(samples.own(spread), -math.inf).max(1)
        better = found > heights
        if not bool(better.any()):
            break
        points = torch.where(better[:, None], spread[rows, place], points)
        heights = torch.where(better, found, heights)
    if search.region.real.any():
        ascended, after = _ascended(samples, points[:, None], search)
        return ascended, after
    return points[:, None], heights[:, None]


def _of_candidates(
    belief: Belief, compared: Tensor, search: Search, samples: _Samples | None, generator: Generator
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
            peaks, _ = _peaks(mean, compared, search, mean.shared(compared), generator)
            decisions = torch.cat([compared, peaks])
            values = samples.values(decisions)
        else:
            more = search.sample(min(32 * compared.shape[1], 256), generator)
            decisions = torch.cat([compared, more])
            surrogate = belief.averaged or belief.surrogate
            paths = surrogate.paths(reference.points, MAXIMISED_FUNCTIONS, generator, FEATURES)
            values = torch.cat([paths(block) for block in decisions.split(16)], 1)
        if not objective.slow:
            drawn = objective.under(values, reference.points, belief.laws(SAMPLED_LAWS, generator))
            return _replaced(drawn, -math.inf).amax(1), drawn[:, :count]
        drawn = tangent_values(belief, decisions, values)
        first = objective(values[:, 0], reference)
        best = torch.maximum(highest(belief, values, drawn), first)
        return best - first + drawn[:, 0], drawn[:, :count]


def _replaced(values: Tensor, number: float) -> Tensor:
    """Values with a number in place of NaN; infinite ones stay."""
    return torch.where(values.isnan(), number, values)


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
    spread: Tensor = (sd[0, 0].square() + best.data.noise_at(point) * best.data.scale**2).sqrt()
    return mean[0, 0] + spread * torch.from_numpy(_NODES).to(spread.device)
