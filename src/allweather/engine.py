"""From the past of a study to its next decision: one walk, without turning back, and without side effects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from allweather.acquisition import Belief
from allweather.acquisition.base import Score
from allweather.clock import Stopwatch
from allweather.composition import Parts
from allweather.contexts import ContextModel, Forecast, Reference
from allweather.errors import require
from allweather.history import History
from allweather.maximize import Best, Search
from allweather.objectives import Expectation, Objective
from allweather.observations import Observations
from allweather.outlook import Outlook
from allweather.schedules import Progress
from allweather.space import Space
from allweather.surrogates import Hyperparameters, Posterior
from allweather.trials import Row
from allweather.variables import Value

ASK, DESIGN, RECOMMEND = range(3)
"""Streams of random numbers that do not disturb each other."""


class Situation(NamedTuple):
    """What is known about the coming context beyond the context model."""

    context: Tensor | None = None
    """(1, d_c) the context itself."""
    forecast: ContextModel | None = None
    """Its distribution this time."""

    @classmethod
    def of(
        cls, space: Space, context: Row | None, forecast: ContextModel | None, where: str, controlled: bool = False
    ) -> Situation:
        """A situation in the user's words, checked; where control sets can be chosen there is none to tell."""
        said = next((each for each in (context, forecast) if each is not None), None)
        fits = said is None or not controlled
        require(fits, f"{where}(context=..., forecast=...)", "be left out where there are control sets", said)
        both = context is not None and forecast is not None
        require(not both, f"{where}(context=..., forecast=...)", "not both be given", (context, forecast))
        fits = forecast is None or isinstance(forecast, ContextModel)
        require(fits, f"{where}(forecast=...)", "be a context model such as Finite(...)", forecast)
        return cls(None if context is None else space.contexts.encode(context), forecast)


class Plan(NamedTuple):
    """What to do next, in the user's units."""

    decision: dict[str, Value]
    fitted: Hyperparameters | None = None
    """What the surrogate was fitted to be, where it was asked."""
    left: tuple[str, ...] = ()
    """Variables to leave alone."""
    cost: float | None = None

    @classmethod
    def of(cls, space: Space, decision: Tensor, fitted: Hyperparameters | None = None) -> Plan:
        """A decision (d_x,) of the unit cube."""
        return cls(space.decisions.decode(decision[None])[0], fitted)


@dataclass(eq=False)
class Engine:
    """The parts of a study at work. It keeps nothing but its last fit, which it could compute again."""

    parts: Parts
    search: Search
    initial: int
    seed: int
    watch: Stopwatch = field(default_factory=Stopwatch)
    fitted: tuple[tuple[int, int | None], Posterior] | None = None
    """The last version of a history that was fitted, and its posterior."""

    def __repr__(self) -> str:
        parts = self.parts
        return ", ".join(repr(part) for part in (parts.context, parts.objective, parts.acquisition))

    def decide(self, history: History, situation: Situation) -> Plan:
        """The next decision, and the hyperparameters it was chosen with."""
        if len(history.complete) < self.initial:
            asked = sum(trial.asked for trial in history.trials)
            return Plan.of(history.space, self.design(max(self.initial, asked + 1))[asked])
        belief = self.belief(history, self.parts, self.generator(ASK, len(history.trials)), situation)
        fitted = belief.surrogate.hyperparameters
        pending, failed = history.unresolved(self._usual(belief, situation), belief.generator)
        belief = _aware(belief, pending, failed)
        if self.parts.acquisition.uses_field:
            with self.watch("factorise"):
                _ = belief.field
        with self.watch("maximise"):
            score = self.parts.acquisition.build(belief)
            decision = self.search.best(score, belief.generator).decision
            waiting = pending[:, : len(decision)]
            return Plan.of(history.space, apart(decision, waiting, score, self.search, belief.generator), fitted)

    def design(self, n: int) -> Tensor:
        """The first `n` decisions (n, d_x), before anything is known."""
        return self.search.sample(n, self.generator(DESIGN, 0))

    def outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        """What is believed, and the decision whose objective is best under the posterior mean."""
        parts = self.parts if objective is None else replace(self.parts, objective=objective.facing(history.sign))
        belief = self.belief(history, parts, self.generator(RECOMMEND, history.revision), situation)
        best, limits = self.best_expected(belief).decision, self.search.constraints
        return Outlook(history.space, history.sign, belief, best, constraints=limits)

    def best_expected(self, belief: Belief) -> Best:
        """The decision whose objective is best under the posterior mean."""
        with self.watch("factorise"):
            _ = belief.field
        with self.watch("maximise"):
            return self.search.best(belief.expected, belief.generator, belief.incumbents(16))

    def belief(self, history: History, parts: Parts, generator: Generator, situation: Situation) -> Belief:
        """Everything known after this history, as the acquisition sees it."""
        observations, step = self._observations(history), max(len(history.complete), 1)
        with self.watch("fit"):
            posterior = self.posterior(history)
        with self.watch("reference"):
            if situation.context is None or parts.context is None:
                reference = parts.reference(observations, step, generator, situation.forecast)
            else:  # nothing is uncertain about the context: the objective is the outcome itself
                reference = Reference(situation.context, torch.ones(1, dtype=torch.float64))
                parts = replace(parts, objective=Expectation())
        progress = Progress(
            step=step,
            decision_dim=history.space.decisions.columns,
            context_dim=max(history.space.contexts.columns, 1),
            information_gain=posterior.information_gain,
            contexts=len(reference.points),
        )
        learned = replace(progress, step=max(history.contexts_seen, 1))  # radii shrink with what was seen of contexts
        return Belief(posterior, reference, parts.objective.at(learned), observations, progress, generator)

    def _usual(self, belief: Belief, situation: Situation) -> Reference:
        """What other trials' contexts are drawn from: this trial's own situation says nothing about them."""
        if situation == Situation() or self.parts.context is None or isinstance(self.parts.context, Forecast):
            return belief.reference
        return self.parts.reference(belief.observations, belief.step, belief.generator)

    def posterior(self, history: History) -> Posterior:
        """The surrogate after all that was told; a fit that an earlier trial recorded is taken over as it was."""
        if self.fitted is not None and self.fitted[0] == history.version:
            return self.fitted[1]
        surrogate = self.parts.surrogate
        last = next((trial for trial in reversed(history.trials) if trial.fitted is not None), None)
        if last is not None and last.fitted is not None and last.revision == history.revision:
            posterior = surrogate.resume(self._observations(history), last.fitted)
        else:
            posterior = surrogate.fit(self._observations(history), None if last is None else last.fitted)
        self.fitted = (history.version, posterior)
        return posterior

    def _observations(self, history: History) -> Observations:
        return history.observations.without_contexts() if self.parts.context is None else history.observations

    def generator(self, stream: int, number: int) -> Generator:
        """Random numbers that depend on the seed and the place in the study only."""
        state = np.random.SeedSequence([self.seed, stream, number]).generate_state(1, np.uint64)[0]
        return torch.Generator().manual_seed(int(state) % 2**63)


def apart(decision: Tensor, waiting: Tensor, score: Score, search: Search, generator: Generator) -> Tensor:
    """The decision (d_x,), or where it repeats one that is waiting (m, d_x) the best one elsewhere."""
    if not len(waiting) or not bool(((waiting - decision).abs().amax(-1) < 1e-3).any()):
        return decision
    elsewhere = Apart.of(score, waiting, search.sample(64, generator))
    return search.best(elsewhere, generator).decision


@dataclass(frozen=True, eq=False)
class Apart:
    """A score that keeps away from decisions whose outcome is on its way: a batch should not try one thing twice."""

    score: Score
    waiting: Tensor
    """(m, d_x) decisions to keep away from."""
    height: float
    """What it takes to be preferred to all others there."""

    @classmethod
    def of(cls, score: Score, waiting: Tensor, spread: Tensor) -> Apart:
        """Keeps away at the price of the score's range over some spread points."""
        with torch.no_grad():
            values = score(spread)
        values = values[torch.isfinite(values)]
        height = float(values.max() - values.min()) if len(values) else 0.0
        return cls(score, waiting, height or 1.0)

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score, lowered within some hundredths of the cube of what is waiting."""
        squared = (decisions[:, None, :] - self.waiting).square().mean(-1)
        return self.score(decisions) - self.height * (-squared / (2 * 0.03**2)).exp().sum(-1)


def _aware(belief: Belief, pending: Tensor, failed: Tensor) -> Belief:
    """The belief if pending trials turn out as expected, and failed ones had turned out as badly as any."""
    surrogate = belief.surrogate
    if len(pending):
        surrogate = surrogate.given(pending)
    if len(failed):
        surrogate = surrogate.given(failed, belief.observations.values.min().expand(len(failed)))
    return belief if surrogate is belief.surrogate else replace(belief, surrogate=surrogate)
