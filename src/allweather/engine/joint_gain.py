"""The possible gain where limits are to be kept or several objectives weighed.

With limits only decisions that keep all of them count: with 95% probability no such decision has an objective that is
better than the chosen one's by more. Functions, hyperparameters and the context distribution are drawn for all outcomes
together; in every draw the best decision is sought that keeps the limits there. Where none is found nothing can be
gained in that draw.

Several objectives are weighed as in the recommendation, by the augmented Chebyshev scalarisation with the weights or
from the reference point that were given. Its gain is stated as a share: with equal weights 0.1 is worth as much as an
improvement of every objective by a tenth of its range among the decisions tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import softplus

from allweather._utils.warm_starts import warm_starts
from allweather.acquisition import Belief
from allweather.acquisition.joint import JointBelief
from allweather.acquisition.limits import PENALTY_STRENGTH, typical_spread
from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.region import listed
from allweather.acquisition.scalarisation import SUM_WEIGHT, chebyshev, objective_units
from allweather.engine.gain import FEATURES, GAIN_LEVEL, SPREAD_CANDIDATES
from allweather.engine.objective_draws import with_kernel
from allweather.engine.sampled_peaks import (
    CANDIDATES_PER_COLUMN,
    CLIMBED_CONTEXTS,
    MAX_LISTED,
    MAXIMISED_FUNCTIONS,
    SAMPLED_LAWS,
    Samples,
    ascended,
    peaks,
    replaced,
    shared_stream,
)
from allweather.objectives import Expectation

JOINT_STARTS = 8
"""Climbs of each sample: limits make several peaks of one."""
SOFTNESS = (0.02, 0.002)
"""How soft the edge of a limit and the least of several objectives are in the first climbs and in the second, in units
of the outcome's spread or range."""
POLISHING_STEPS, TRIALS_PER_STEP = (0.1, 0.03, 0.01, 0.003), 12
"""Lengths of random steps around the best decision of each sample, in lengthscales, and how many are tried of each."""
SHARES_OF_WAY = (0.5, 0.75, 0.875, 0.94, 0.97, 0.985, 1.0)
"""Of the way from a decision that keeps all limits to the peak of the climbs, which may break one by little."""
SLOW_CANDIDATES, CANDIDATES = 24, 256
"""Decisions that are compared where worst cases take long, and elsewhere at most, before samples are maximised."""


def joint_gain(
    joint: JointBelief, chosen: Tensor, search: Search, weights: Tensor | None = None, point: Tensor | None = None
) -> float:
    """What no decision that keeps all limits gains more than, with 95% probability; never negative.

    Args:
        joint: what is known about all outcomes.
        chosen: (d_x,) the decision that looks best.
        search: the legal decisions.
        weights: (m,) of several objectives; equal if None.
        point: (m,) a reference point that the objectives shall exceed.
    """
    generator = Generator().manual_seed(joint.generator.initial_seed())
    tried = search.permitted(joint.tried())
    judge = _Judge.of(joint, tried if len(tried) else joint.tried(), weights, point)
    beliefs = [*joint.objectives, *(limit.belief for limit in joint.limits)]
    compared = torch.cat([chosen[None], search.sample(SPREAD_CANDIDATES, generator), tried[:16]])
    slow = any(belief.objective.slow for belief in beliefs)
    means = all(type(belief.objective) is Expectation for belief in beliefs)
    laws = MAXIMISED_FUNCTIONS if means else SAMPLED_LAWS
    with warm_starts():
        drawn = [None if slow else Samples.drawn(belief, _stream(belief), laws) for belief in beliefs]
        parts = [each for each in drawn if each is not None]
        if len(parts) < len(beliefs):
            count = SLOW_CANDIDATES if slow else CANDIDATES
            decisions = torch.cat([compared, search.sample(count, generator)])[:count]
            with torch.no_grad():
                verdict = judge([_drawn_at(belief, decisions, laws) for belief in beliefs])
            best = verdict.kept.amax(1)
            first = verdict.values[:, 0]
        else:
            samples = _JointSamples(tuple(parts), judge, SOFTNESS[0])
            best = _best_kept(samples, compared, search, generator)
            first = samples.judged(chosen[None].expand(MAXIMISED_FUNCTIONS, 1, -1)).values[:, 0]
    gained = replaced(best - first, math.inf).clamp_min(0) / judge.unit
    return float(gained.quantile(GAIN_LEVEL, interpolation="higher"))


class _Verdict(NamedTuple):
    """What samples say of decisions."""

    values: Tensor
    """(k, b) the objective, or the scalarisation of several."""
    short: Tensor
    """(k, b) how far the worst limit is missed, in spreads of its outcome; not positive where all are kept."""

    @property
    def kept(self) -> Tensor:
        """The values (k, b), -inf where a limit is not kept."""
        return torch.where(self.short <= 0, replaced(self.values, -math.inf), -math.inf)


@dataclass(frozen=True, eq=False)
class _Judge:
    """How the objectives of all outcomes make one value and a shortfall."""

    levels: Tensor
    """(l,) of the limits."""
    spreads: Tensor
    """(l,) of their outcomes."""
    penalty: float
    """What missing a limit by one spread costs."""
    start: Tensor
    """(m,) what distances of several objectives are measured from."""
    ranges: Tensor
    """(m,) of the objectives."""
    shares: Tensor
    """(m,) the objectives' weights."""

    @classmethod
    def of(cls, joint: JointBelief, tried: Tensor, weights: Tensor | None, point: Tensor | None) -> _Judge:
        """As recommendations judge."""
        device, m = tried.device, len(joint.objectives)
        rows = [[limit.level, limit.spread] for limit in joint.limits]
        levels, spreads = torch.tensor(rows, dtype=torch.float64, device=device).reshape(-1, 2).T
        one = torch.ones(1, dtype=torch.float64, device=device)
        if m == 1:
            unit = typical_spread(joint.objectives[0])
            return cls(levels, spreads, PENALTY_STRENGTH * unit, 0 * one, one, one)
        ideal, ranges = objective_units(joint.objectives, tried)
        shares = torch.full_like(ideal, 1 / m) if weights is None else weights.to(ideal)
        return cls(levels, spreads, PENALTY_STRENGTH, ideal if point is None else point.to(ideal), ranges, shares)

    @property
    def unit(self) -> float:
        """What the gain is divided by: of several objectives what an improvement of all by their range is worth."""
        m = len(self.shares)
        return 1.0 if m == 1 else 1 / m + SUM_WEIGHT

    def __call__(self, outcomes: list[Tensor]) -> _Verdict:
        """Judge the objectives (k, b) of all outcomes, those to improve first."""
        m = len(self.shares)
        values, limits = outcomes[:m], outcomes[m:]
        value = values[0] if m == 1 else chebyshev(self._distances(values), self.shares)
        if not limits:
            return _Verdict(value, torch.full_like(value, -math.inf))
        return _Verdict(value, replaced(self._missing(limits).amax(-1), math.inf))

    def smooth(self, outcomes: list[Tensor], softness: float) -> Tensor:
        """A differentiable score (k, b) with a peak near the best decision that keeps all limits."""
        m = len(self.shares)
        values, limits = outcomes[:m], outcomes[m:]
        score = values[0]
        if m > 1:
            weighed, soft = self._distances(values) * self.shares, softness / m
            score = -soft * (-weighed / soft).logsumexp(-1) + SUM_WEIGHT * weighed.sum(-1)
        if not limits:
            return score
        return score - self.penalty * softness * softplus(self._missing(limits) / softness).sum(-1)

    def _distances(self, values: list[Tensor]) -> Tensor:
        return (torch.stack(values, -1) - self.start) / self.ranges

    def _missing(self, limits: list[Tensor]) -> Tensor:
        return (self.levels - torch.stack(limits, -1)) / self.spreads


@dataclass(frozen=True, eq=False)
class _JointSamples:
    """Samples of all outcomes; what is maximised is their smooth score."""

    parts: tuple[Samples, ...]
    judge: _Judge
    softness: float

    def shared(self, decisions: Tensor) -> Tensor:
        """The smooth score (k, b) of the same decisions (b, d_x) for all samples, without gradient."""
        return self.judge.smooth([part.shared(decisions) for part in self.parts], self.softness)

    def own(self, decisions: Tensor) -> Tensor:
        """The smooth score (k, b) of decisions (k, b, d_x) of each sample."""
        return self.judge.smooth([part.own(decisions) for part in self.parts], self.softness)

    def judged(self, decisions: Tensor) -> _Verdict:
        """What samples say of decisions (k, b, d_x) of each, without gradient."""
        with torch.no_grad():
            return self.judge([part.own(decisions) for part in self.parts])

    def squared_lengths(self, split: int) -> Tensor:
        """The least squared lengthscales (k, d_x) of any outcome."""
        return torch.stack([part.squared_lengths(split) for part in self.parts]).amin(0)


def _best_kept(samples: _JointSamples, compared: Tensor, search: Search, generator: Generator) -> Tensor:
    """The best value (k,) of each sample among decisions that keep all limits there; -inf where none was found."""
    everything = listed(search.region) if search.candidates is None else search.candidates.cpu().numpy()
    if everything is not None:
        decisions = torch.cat([compared, torch.from_numpy(everything[:MAX_LISTED]).to(compared.device)])
        return samples.judge([part.shared(decisions) for part in samples.parts]).kept.amax(1)
    decisions = torch.cat(
        [compared, search.sample(min(CANDIDATES_PER_COLUMN * compared.shape[1], CANDIDATES), generator)]
    )
    outcomes = [part.shared(decisions) for part in samples.parts]
    kept, top = samples.judge(outcomes).kept.max(1)
    found = [(kept, decisions[top][:, None])]

    def offer(points: Tensor) -> None:
        kept = samples.judged(points).kept
        top = kept.argmax(1, keepdim=True)
        found.append((kept.gather(1, top)[:, 0], points.gather(1, top[..., None].expand(-1, -1, points.shape[-1]))))

    smooth = samples.judge.smooth(outcomes, samples.softness)
    summits, _ = peaks(samples, decisions, search, smooth, generator, JOINT_STARTS)
    offer(summits[:, None])
    real = torch.from_numpy(search.region.real).to(compared.device)
    if bool(real.any()):
        sharp = replace(samples, softness=SOFTNESS[1])
        summits = ascended(sharp, summits[:, None], search)[0]
        offer(summits)
        base = _leading(found)
        shares = torch.tensor(SHARES_OF_WAY, dtype=base.dtype, device=base.device)[:, None]
        offer(_legal(base + shares * real * (summits - base), base, search))
        lengths = samples.squared_lengths(compared.shape[1]).sqrt().clamp_max(1.0)[:, None] * real
        for step in POLISHING_STEPS:
            base = _leading(found)
            moves = torch.randn(TRIALS_PER_STEP, base.shape[-1], generator=generator, dtype=base.dtype)
            offer(_legal(base + step * lengths * moves.to(base.device), base, search))
    return torch.stack([value for value, _ in found]).amax(0)


def _leading(found: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The best decision (k, 1, d_x) of each sample so far."""
    values, points = (torch.stack(each) for each in zip(*found, strict=True))
    return points[values.argmax(0), torch.arange(values.shape[1], device=values.device)]


def _legal(points: Tensor, base: Tensor, search: Search) -> Tensor:
    """Points (k, b, d_x) within bounds and constraints, or the base (k, 1, d_x) in their place."""
    legal = search.region.legal(points.clamp(0, 1).flatten(0, 1).cpu().numpy())
    fits = torch.from_numpy(search.region.feasible(legal)).to(points.device).view(*points.shape[:2], 1)
    return torch.where(fits, torch.from_numpy(legal).to(points.device).view_as(points), base)


def _stream(belief: Belief) -> Generator:
    return Generator().manual_seed(belief.generator.initial_seed())


def _drawn_at(belief: Belief, decisions: Tensor, laws: int) -> Tensor:
    """The objective (k, b) of the same decisions (b, d_x) in samples of any surrogate."""
    grouped = belief.reference.grouped(CLIMBED_CONTEXTS)
    belief = belief if grouped is None else replace(belief, reference=grouped[1], bound=None)
    paths = (belief.averaged or belief.surrogate).paths(
        belief.reference.points, MAXIMISED_FUNCTIONS, _stream(belief), FEATURES
    )
    values = torch.cat([paths(block) for block in decisions.split(16)], 1)
    return with_kernel(belief).under(values, belief.reference.points, belief.laws(laws, shared_stream(belief)))
