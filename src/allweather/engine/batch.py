"""Pending and failed trials: what a batch assumes about them, and how it keeps away from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from allweather.acquisition.base import Score
from allweather.acquisition.optimize import Search
from allweather.contexts import Reference
from allweather.engine.sides import Side
from allweather.space import Space
from allweather.surrogates import Posterior
from allweather.trials import Trial
from allweather.trials.history import History


def keep_apart(decision: Tensor, pending: Tensor, score: Score, search: Search, generator: Generator) -> Tensor:
    """Return the decision (d_x,), or where it repeats a pending one (m, d_x), the best one elsewhere."""
    if not len(pending) or not bool(((pending - decision).abs().amax(-1) < 1e-3).any()):
        return decision
    elsewhere = PendingPenalty.of(score, pending, search.sample(64, generator))
    return search.best(elsewhere, generator).decision


@dataclass(frozen=True, eq=False)
class PendingPenalty:
    """A score with a penalty near pending decisions, so that a batch does not try one decision twice."""

    score: Score
    pending: Tensor
    """(m, d_x) decisions to keep away from."""
    height: float
    """The penalty at a pending decision."""

    @classmethod
    def of(cls, score: Score, pending: Tensor, spread: Tensor) -> PendingPenalty:
        """A penalty as high as the score's range over some spread points."""
        with torch.no_grad():
            values = score(spread)
        values = values[torch.isfinite(values)]
        height = float(values.max() - values.min()) if len(values) else 0.0
        return cls(score, pending, height or 1.0)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score, lowered within some hundredths of the cube of a pending decision."""
        squared = (decisions[:, None, :] - self.pending).square().mean(-1)
        return self.score(decisions) - self.height * (-squared / (2 * 0.03**2)).exp().sum(-1)


class Unresolved(NamedTuple):
    """Joint points of trials whose outcomes are not known."""

    pending: Tensor
    """(m, d) of trials that are waited for."""
    failed: Tensor
    """(k, d) of trials without outcome."""


def unresolved(
    history: History, sides: Sequence[Side], law: Callable[[Side], Reference], generator: Generator
) -> Unresolved:
    """Return the joint points of pending and failed trials, in the order of columns that surrogates are fitted on.

    Contexts that are not known yet are drawn; trials of one occasion share theirs.

    Args:
        history: the trials so far.
        sides: the control sets.
        law: what contexts that are not known are drawn from, for each control set.
        generator: the source of randomness.
    """
    found = []
    for state in ("pending", "failed"):
        trials = [trial for trial in history.trials if trial.state == state]
        parts = []
        for side in sides:
            own = [trial for trial in trials if side.decided(trial)]
            if own:
                parts.append(side.fitted_order(_joint(own, side.space, law(side), generator, bool(history.changes))))
        columns = sides[0].space.decisions.columns + law(sides[0]).points.shape[1] if not parts else 0
        found.append(torch.cat(parts) if parts else torch.zeros(0, columns, dtype=torch.float64))
    return Unresolved(*found)


def _joint(trials: Sequence[Trial], space: Space, reference: Reference, generator: Generator, outside: bool) -> Tensor:
    """Joint points (m, d) of trials under one split; `outside` where they may lie outside the present bounds."""
    decisions = space.decisions.encode([trial.decision for trial in trials], outside)
    places = torch.multinomial(reference.weights, len(trials), replacement=True, generator=generator)
    first = {trial.occasion or trial.number: row for row, trial in reversed(list(enumerate(trials)))}
    contexts = reference.points[[int(places[first[trial.occasion or trial.number]]) for trial in trials]].clone()
    for row, trial in enumerate(trials):
        if not contexts.shape[1]:
            continue
        if trial.context is not None:
            contexts[row] = space.contexts.encode(trial.context, outside)[0]
        elif trial.partial is not None:
            known = space.contexts.encode_partly(trial.partial, outside)
            contexts[row] = torch.where(known.isnan(), contexts[row], known)
    return torch.cat([decisions, contexts], 1)


def conditioned(posterior: Posterior, points: Unresolved, worst: Tensor) -> Posterior:
    """Return the posterior given pending trials at their expected outcome, and failed ones at the worst outcome seen.

    Args:
        posterior: as it was fitted.
        points: of these trials.
        worst: () the worst outcome.
    """
    if len(points.pending):
        posterior = posterior.given(points.pending)
    if len(points.failed):
        posterior = posterior.given(points.failed, worst.expand(len(points.failed)))
    return posterior
