"""What a trial earns, and what it is expected to add to every trial to come."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from allweather._utils.tensors import with_gradient
from allweather.acquisition.base import Acquisition, Belief, HintedScore, Score
from allweather.acquisition.coming_contexts import coming_contexts
from allweather.errors import require, require_count
from allweather.objectives import Expectation
from allweather.schedules import Schedule, as_schedule
from allweather.surrogates.posteriors.field import ProductField
from allweather.surrogates.posteriors.own_step import OwnStep
from allweather.surrogates.posteriors.transformed_posterior import TransformedField

HORIZON = 3.0
"""Trials to come (`python -m benchmarks default_choice`): longer ones, and ones that grow, cost more than they find."""
SLOPE_CONTEXTS = 32
"""Of more contexts so many of each kind, likely and merely possible, tell how a trial moves what has no closed form."""


@dataclass(frozen=True)
class OnlineKnowledgeGradient(Acquisition):
    """`mean + horizon * gain`: every trial counts (Ryzhov, Powell and Frazier 2012, Operations Research 60).

    The gain is how far one trial is expected to lift the posterior mean of the objective of its decision above that of
    the best decision so far, averaged over the context to come, and it is earned in every trial to come: a long horizon
    explores more. What a trial says about other decisions is left out; see `KnowledgeGradient`.

    For means of a `GP` it costs about as much as `ObjectiveUCB`, with a gradient in closed form. Where outcomes are
    transformed, and for other objectives, gains are those of tangents.

    Example:
        >>> OnlineKnowledgeGradient(horizon=20).contexts
        4
    """

    horizon: float | Schedule | Callable[[int], float] = HORIZON
    """Trials to come that a gain is earned in, at least 1: a number, a schedule or a function of the step."""
    contexts: int = 4
    """Coming contexts that a trial is averaged over, or that are compared where the context is chosen."""

    def __post_init__(self) -> None:
        require_count(self.contexts, "OnlineKnowledgeGradient(contexts=...)", low=1)

    def build(self, belief: Belief) -> Score:
        """The score; that of a mean of a GP of ours has its gradient in closed form."""
        where = "OnlineKnowledgeGradient(horizon=...)"
        horizon = as_schedule(self.horizon, where)(belief.progress)
        require(horizon >= 0, f"{where} at step {belief.step}", "be at least 0", horizon)
        best = belief.incumbents(1)
        closed = best.device.type == "cpu" and not belief.chooses and type(belief.objective) is Expectation
        step = _own_step(belief, best[0], self.contexts) if closed else None
        horizon = max(horizon, 1.0)
        return LinearGain(belief, horizon, best, self.contexts) if step is None else ClosedGain(step, horizon)


def _own_step(belief: Belief, best: Tensor, contexts: int) -> OwnStep | None:
    """What a trial does to a mean of outcomes in closed form; None where there is none."""
    field, weights = belief.field, belief.reference.weights
    if isinstance(field, ProductField):
        return OwnStep.of(field, weights, coming_contexts(belief, weights, contexts), best)
    if not isinstance(field, TransformedField) or not isinstance(field.inner, ProductField):
        return None
    few = _on_few(belief)
    assert isinstance(few.field, TransformedField)
    assert isinstance(few.field.inner, ProductField)
    some = few.field.inner, few.reference.weights
    coming = coming_contexts(belief, weights, contexts)
    return OwnStep.of_transformed(field.inner, field.transform, weights, some, coming, best)


class LinearGain(HintedScore):
    """Of any objective, by its tangents, which few contexts are enough for."""

    def __init__(self, belief: Belief, horizon: float, best: Tensor, contexts: int) -> None:
        self._belief, self._horizon = belief, horizon
        self._few = few = _on_few(belief)
        with torch.no_grad():
            weights = few.weights(best)
            coming = coming_contexts(belief, belief.weights(best), contexts)
            self._step = few.field.step(best, weights, coming)
            self._height = self._mean(best)[0]

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        few = self._few
        mean = self._mean(decisions)
        slopes = self._step.own(decisions, few.weights(decisions)) - self._step(decisions)[..., 0]  # (b, m)
        spread = slopes.abs().clamp_min(1e-300)
        z = (mean - self._height)[:, None] / spread
        gains = spread * (torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi) + z * torch.special.ndtr(z))
        found: Tensor = mean + self._horizon * (gains.amax(-1) if few.chooses else gains.mean(-1))
        return found

    def _mean(self, decisions: Tensor) -> Tensor:
        """The objective (b,) of the posterior mean; of means that of median outcomes, which needs no variance."""
        belief = self._belief
        if type(belief.objective) is Expectation:
            return belief.field.combination_mean(decisions, belief.reference.weights)
        return belief.expected(decisions)


def _on_few(belief: Belief) -> Belief:
    """The belief on few contexts, enough for what one trial changes."""
    sampled = belief.reference.sampled(SLOPE_CONTEXTS)
    if sampled is None:
        return belief
    chosen, reference = sampled
    return replace(belief, reference=reference, bound=belief.field.rough(chosen))


class ClosedGain(HintedScore):
    """Of a mean over contexts."""

    def __init__(self, step: OwnStep, horizon: float) -> None:
        self._step, self._horizon = step, horizon
        self.slopes = self._slopes

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        if not decisions.requires_grad:
            return torch.from_numpy(self._step.values(decisions.numpy(), self._horizon))
        values, gradients = map(torch.from_numpy, self._slopes(decisions.detach().numpy()))
        return with_gradient(values, lambda: gradients, decisions)  # a part of another score

    def _slopes(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._step.gradients(points, self._horizon)
