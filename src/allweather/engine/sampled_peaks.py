"""Samples of an objective, each with hyperparameters and a context distribution of its own, and the peak of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Generator, Tensor

from allweather.acquisition import Belief
from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.region import listed, neighbours
from allweather.contexts import Reference
from allweather.objectives import Expectation, Objective
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior
from allweather.surrogates.samples.separate_paths import SeparatePaths

MAXIMISED_FUNCTIONS, SAMPLED_LAWS = 64, 8
"""Sampled functions that are maximised, and context distributions they share; for means each has its own."""
CANDIDATES_PER_COLUMN, MAX_CANDIDATES, MAX_LISTED = 24, 256, 2000
"""Further decisions that the climbs begin from, per column and at most; and at most where nothing is continuous."""
LEAST_GROUPS, MAX_REPEATED_OUTCOMES = 8, 512
"""Groups of samples with frequencies of their own, so that errors of few cosines cancel, up to so many outcomes."""
STARTS, CLIMBING_STEPS, NEIGHBOUR_ROUNDS = 3, 12, 6
"""Climbs of each sample, steps of each, and moves of whole numbers and choices: more change the possible gain by less
than 5% on seeds below 100 of `python -m benchmarks possible_gain`."""
CLIMBED_CONTEXTS = 32
"""Contexts with weight, at most, where the objective is not linear in outcomes."""


class Sampled(Protocol):
    """Samples of what is to be maximised."""

    def shared(self, decisions: Tensor) -> Tensor:
        """Values (k, b) of the same decisions (b, d_x) for all samples, without gradient."""

    def own(self, decisions: Tensor) -> Tensor:
        """Values (k, b) of decisions (k, b, d_x) of each sample."""

    def squared_lengths(self, split: int) -> Tensor:
        """Squared lengthscales (k, d_x) of the first `split` columns."""


@dataclass(frozen=True, eq=False)
class Samples:
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
    def drawn(cls, belief: Belief, generator: Generator, laws: int | None = None) -> Samples | None:
        """Draw samples; None for surrogates that are no Gaussian processes of ours.

        Args:
            belief: what is known about the function and the context.
            generator: the source of randomness.
            laws: the number of context distributions that samples share with those of other outcomes, where there are
                others; the i-th sample of each then has the same, and hyperparameters in an order of its own.
        """
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
        if laws is not None:
            parts = _as_many(parts, generator)
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
            if laws is None:
                found = belief.laws(len(parts) * each if is_mean else SAMPLED_LAWS, generator)
            else:
                found = belief.laws(laws, shared_stream(belief))
            if is_mean:
                found = found[torch.arange(len(parts) * each) % len(found)].unflatten(0, (len(parts), each))
                if back is None:
                    right = (found @ right.mT) * paths.weights
            elif bool((found == found[0]).all()):
                found = found[:1]
        return cls(paths, belief.objective, contexts, found, right, back)

    def squared_lengths(self, split: int) -> Tensor:
        """Squared lengthscales (g k, d_x) of the first `split` columns."""
        return self.paths.lengthscales[:, :split].square().repeat_interleave(self.size[1], 0)

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

    def toward(self, weights: Tensor) -> Samples:
        """The same functions, with their means under weights (n,) as objective."""
        g, k = self.size
        laws = weights.expand(g, k, -1)
        if self.back is not None:
            return replace(self, objective=Expectation(), laws=laws)
        return replace(self, objective=Expectation(), laws=laws, right=(laws @ self.right.mT) * self.paths.weights)


def _as_many(parts: tuple[ProductPosterior, ...], generator: Generator) -> tuple[ProductPosterior, ...]:
    """A power of two of posteriors, some of these where there are more, in random order."""
    count = 2 ** int(math.log2(len(parts)))
    return tuple(parts[place] for place in torch.randperm(len(parts), generator=generator)[:count].tolist())


def shared_stream(belief: Belief) -> Generator:
    """Random numbers for the context distributions that several outcomes share."""
    return Generator().manual_seed(belief.generator.initial_seed() if belief.law_seed is None else belief.law_seed)


def peaks(
    samples: Sampled, compared: Tensor, search: Search, drawn: Tensor, generator: Generator, starts: int = STARTS
) -> tuple[Tensor, Tensor]:
    """The best decision (k, d_x) of each sample, and its objective (k,).

    Args:
        samples: of the objective.
        compared: (b, d_x) decisions that were evaluated.
        search: the legal decisions.
        drawn: (k, b) their objectives.
        generator: the source of randomness.
        starts: climbs of each sample.
    """
    region = search.region
    everything = listed(region) if search.candidates is None else search.candidates.cpu().numpy()
    if everything is None:
        more = search.sample(min(CANDIDATES_PER_COLUMN * compared.shape[1], MAX_CANDIDATES), generator)
    else:
        more = torch.from_numpy(everything[:MAX_LISTED]).to(compared.device)
    values = replaced(torch.cat([drawn, samples.shared(more)], 1), -math.inf)
    decisions = torch.cat([compared, more])
    top = values.topk(1 if everything is not None else min(starts, values.shape[1]), 1)
    points = decisions[top.indices]
    if everything is not None:
        return points[:, 0], top.values[:, 0]
    points[:, -1], heights = decisions[0], top.values.clone()  # one start is the chosen decision
    heights[:, -1] = values[:, 0]
    if region.real.any():
        points, heights = ascended(samples, points, search)
    if not region.real.all():
        points, heights = _walked(samples, points, heights, search)
    best = heights.argmax(1)
    rows = torch.arange(len(best), device=best.device)
    return points[rows, best], heights[rows, best]


def ascended(samples: Sampled, points: Tensor, search: Search) -> tuple[Tensor, Tensor]:
    """Points (k, b, d_x) after projected gradient steps in the continuous columns, and their objectives (k, b).

    Steps have the lengths of Barzilai and Borwein (1988), in columns divided by their lengthscales.
    """
    real = torch.from_numpy(search.region.real).to(points.device)
    split = points.shape[-1]
    units = (real * samples.squared_lengths(split).clamp_max(4.0))[:, None]  # (k, 1, d_x)
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


def _slopes(samples: Sampled, points: Tensor) -> tuple[Tensor, Tensor]:
    """Objectives (k, b) of points (k, b, d_x) and their gradients (k, b, d_x)."""
    with torch.enable_grad():
        moved = points.detach().requires_grad_()
        values = samples.own(moved)
        (slopes,) = torch.autograd.grad(values.sum(), moved)
    return replaced(values.detach(), -math.inf), slopes.nan_to_num(0.0, 0.0, 0.0)


def _walked(samples: Sampled, points: Tensor, heights: Tensor, search: Search) -> tuple[Tensor, Tensor]:
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
            found, place = replaced(samples.own(spread), -math.inf).max(1)
        better = found > heights
        if not bool(better.any()):
            break
        points = torch.where(better[:, None], spread[rows, place], points)
        heights = torch.where(better, found, heights)
    if search.region.real.any():
        return ascended(samples, points[:, None], search)
    return points[:, None], heights[:, None]


def replaced(values: Tensor, number: float) -> Tensor:
    """Values with a number in place of NaN; infinite ones stay."""
    return torch.where(values.isnan(), number, values)
