"""From a history to what is believed: one posterior per outcome, one belief per side and outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.timing import Stopwatch
from allweather.acquisition import Belief
from allweather.acquisition.joint import JointBelief
from allweather.acquisition.limits import Limit
from allweather.contexts import (
    Conditional,
    ContextModel,
    Forecast,
    Independent,
    LearnedModel,
    MeanBox,
    Reference,
)
from allweather.contexts.base import sobol
from allweather.contexts.conditional import real_columns
from allweather.engine.batch import Unresolved, conditioned, unresolved
from allweather.engine.sides import Side
from allweather.engine.situation import Known, Situation
from allweather.errors import require
from allweather.objectives import Expectation, Objective, Outcome
from allweather.schedules import Progress
from allweather.surrogates import Posterior, Surrogate
from allweather.surrogates.gp.outliers import predicted
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.leave_one_out import transformed_residuals
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior
from allweather.trials.history import History
from allweather.trials.suspicious import Suspicion

ASK, DESIGN, RECOMMEND, SHARED = range(4)
"""Streams of random numbers. Several sides ask with the numbers of `SHARED`: they see the same sample function."""
FIRST_OUTCOME_STREAM = 100
"""Where there are several outcomes each has streams of its own, from this number on."""


UNLIKELY_CONTEXTS = 64
"""Contexts that stand for all that was not seen."""


class Learned(NamedTuple):
    """The outcomes that have values, and what their surrogates learned from these."""

    pasts: dict[str, History]
    """The history of each outcome."""
    posteriors: dict[str, Posterior]


@dataclass(eq=False)
class Beliefs:
    """What is believed after a history; stateless but for a cache of the last fits."""

    sides: tuple[Side, ...]
    outcomes: Mapping[str, Outcome]
    surrogates: Mapping[str, Surrogate]
    """One for each outcome."""
    seed: int
    device: str = "cpu"
    """Torch device of surrogates and objectives; context models and random numbers are the CPU's."""
    cautious: float | None = None
    """The probability with which every decision asked for must keep all limits, where it must."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    _fitted: dict[str, tuple[tuple[int, int | None], Posterior]] = field(default_factory=dict)
    """By outcome: the last version of a history that was fitted, and its posterior."""

    @property
    def first(self) -> tuple[str, int]:
        """The name and the sign of the first outcome."""
        name = next(iter(self.outcomes))
        return name, self.outcomes[name].sign

    def known(self, history: History) -> dict[str, History]:
        """Return the history of each outcome that has a value."""
        pasts = {name: history.of_outcome(name, outcome.sign) for name, outcome in self.outcomes.items()}
        return {name: past for name, past in pasts.items() if len(past.observations)}

    def learned(self, history: History) -> Learned:
        """Return what surrogates learned from the outcomes that have values."""
        pasts = self.known(history)
        return Learned(pasts, {name: self.posterior(past, name) for name, past in pasts.items()})

    def posterior(self, past: History, name: str) -> Posterior:
        """Return the fitted surrogate of an outcome; a fit that an earlier trial recorded is reused as it was.

        Args:
            past: the history of the outcome.
            name: of the outcome.
        """
        known = self._fitted.get(name)
        if known is not None and known[0] == past.version:
            return known[1]
        surrogate = self.surrogates[name]
        last = next((trial for trial in reversed(past.newest) if trial.fitted is not None), None)
        with self.watch("fit"):
            if last is not None and last.fitted is not None and last.revision == past.revision:
                posterior = surrogate.resume(self.data(past), last.fitted)
            else:
                posterior = surrogate.fit(self.data(past), None if last is None else last.fitted)
        if known is not None:
            posterior = posterior.following(known[1])
        self._fitted[name] = (past.version, posterior)
        return posterior

    def suspicious(self, history: History) -> tuple[Suspicion, ...]:
        """Return what looks wrong with the trials, with the outcomes that surrogates leave out marked."""
        found = [each for each in history.suspicious if each.kind != "outcome"]
        far = {(each.trial, each.name): each for each in history.suspicious if each.kind == "outcome"}
        for name, past in self.known(history).items():
            posterior, data = self.posterior(past, name), self.data(past)
            numbers = [trial.number for trial in past.complete for _ in trial.values]
            for place in posterior.outliers:
                key = numbers[place], name if history.outcome_names else ""
                known = far.get(key) or _contradicted(*key, posterior, data.rows(np.array([place])), past.sign)
                far[key] = replace(known, set_aside=True)
        return tuple(sorted([*found, *far.values()], key=lambda each: each.trial))

    def to_ask(
        self, history: History, learned: Learned, situation: Situation, sides: Sequence[Side]
    ) -> list[JointBelief]:
        """Return what is believed under some sides, pending and failed trials taken into account.

        Args:
            history: the trials so far.
            learned: what surrogates learned from them.
            situation: what is known about the coming context.
            sides: those to choose from.
        """
        number = len(history.trials)
        found = [self.under(side, learned, side.known(situation), ASK, number) for side in sides]
        if any(trial.state in ("pending", "failed") for trial in history.trials):
            posteriors = self._given_unresolved(learned, situation, sides, found, number)
            found = [
                {name: replace(belief, surrogate=side.arranged(posteriors[name])) for name, belief in each.items()}
                for side, each in zip(sides, found, strict=True)
            ]
        if self.cautious is not None:
            limits = [name for name in learned.pasts if self.outcomes[name].constrains]
            wary = {name: self._wary(name, learned, found[0][name].objective) for name in limits}
            for side, each in zip(sides, found, strict=True):
                each |= {name: replace(each[name], averaged=side.arranged(wary[name])) for name in limits}
        return [self.joint(each) for each in found]

    def to_recommend(
        self,
        side: Side,
        learned: Learned,
        averaged: Mapping[str, Posterior],
        situation: Situation,
        objective: Objective | None,
    ) -> dict[str, Belief]:
        """Return what is believed of each outcome under a side, with posteriors averaged over hyperparameters.

        The random numbers are the same after every trial, so that views differ by what was learned.

        Args:
            side: the control set.
            learned: what surrogates learned.
            averaged: what `averaged` returned.
            situation: what is known about the coming context.
            objective: another one than the study's.
        """
        found = self.under(side, learned, side.known(situation), RECOMMEND, 0, objective)
        unlikely = self._unlikely(side, found)
        return {
            name: replace(
                belief,
                averaged=side.arranged(averaged[name]),
                unlikely=unlikely if belief.objective.ignores_unlikely else None,
                residuals=transformed_residuals(learned.posteriors[name]),
            )
            for name, belief in found.items()
        }

    def averaged(self, learned: Learned) -> dict[str, Posterior]:
        """Return the posteriors that intervals are drawn from: averaged over hyperparameters."""
        with self.watch("fit"):
            return {
                name: self.surrogates[name].averaged(self.data(past), learned.posteriors[name])
                for name, past in learned.pasts.items()
            }

    def under(
        self,
        side: Side,
        learned: Learned,
        known: Known,
        stream: int,
        number: int,
        objective: Objective | None = None,
    ) -> dict[str, Belief]:
        """Return what is believed of each outcome under a side, with one reference for all.

        Args:
            side: the control set.
            learned: what surrogates learned.
            known: what is known about the coming context.
            stream: of random numbers.
            number: of the trial.
            objective: another one than the study's.
        """
        law, found = self.generator(stream, number), dict[str, Belief]()
        shared: tuple[ContextModel | None, Reference] | None = None
        for name, past in learned.pasts.items():
            observations, step = self.observations(side, past), max(len(past.complete), 1)
            with self.watch("reference"):
                shared = self._law(side, observations, step, law, known) if shared is None else shared
            model, reference = shared
            parts, posterior = side.parts[name], side.arranged(learned.posteriors[name])
            wanted = parts.objective
            if objective is not None and not self.outcomes[name].constrains:
                wanted = objective.facing(past.sign)
            if known.context is not None and parts.context is not None:
                wanted = Expectation()  # the context is certain: the objective is the outcome itself
            progress = Progress(
                step=step,
                decision_dim=side.space.decisions.columns,
                context_dim=max(side.space.contexts.columns, 1),
                information_gain=posterior.information_gain,
                contexts=len(reference.points),
                context_kernel=posterior.context_kernel,
            )
            chosen = parts.simulator is not None and len(observations.seen) > 0
            seen = len(observations.seen) if chosen else side.contexts_seen(past)
            radii = replace(progress, step=max(seen, 1))  # they shrink with the number of contexts seen
            found[name] = Belief(
                posterior,
                reference.to(self.device),
                wanted.at(radii),
                observations.without(posterior.outliers).to(self.device),
                progress,
                self._numbers(law, name, stream, number),
                model,
                chooses=stream == ASK and parts.simulator is not None,
                law_seed=law.initial_seed() if len(self.outcomes) > 1 else None,
            )
        return found

    def _unlikely(self, side: Side, beliefs: Mapping[str, Belief]) -> Tensor | None:
        """Contexts all over the box, for draws of a law that is learned; None where it is known, or taken as such."""
        model = next((belief.context_model for belief in beliefs.values()), None)
        model = model.model if isinstance(model, Conditional) else model
        if not isinstance(model, LearnedModel) or not model.bootstrap:
            return None
        points = side.space.contexts.snap(
            sobol(UNLIKELY_CONTEXTS, side.space.contexts.columns, Generator().manual_seed(0))
        )
        known = next(iter(beliefs.values())).context_model
        return known.filled(points) if isinstance(known, Conditional) else points

    def joint(self, beliefs: Mapping[str, Belief]) -> JointBelief:
        """Return beliefs as objectives and limits."""
        limits = {name: each for name, each in self.outcomes.items() if each.constrains and name in beliefs}
        return JointBelief(
            tuple(beliefs[name] for name, each in self.outcomes.items() if not each.constrains and name in beliefs),
            tuple(Limit(beliefs[name], each.level(beliefs[name].objective)) for name, each in limits.items()),
            self.cautious,
        )

    def observations(self, side: Side, past: History) -> Observations:
        """Return the outcomes under a side; refuse to learn a law from no contexts at all."""
        found, parts = side.observations(past), side.main
        if parts.simulator is not None and parts.context is not None:
            _require_contexts(parts.context, found.seen)
        return found

    def data(self, past: History) -> Observations:
        """What the surrogate of an outcome is fitted to."""
        side = self.sides[0]
        return (side.observations(past) if side.only else past.observations).to(self.device)

    def generator(self, stream: int, number: int) -> Generator:
        """Return random numbers that depend on the seed and the place in the study only.

        Args:
            stream: what they are for.
            number: of the trial.
        """
        state = np.random.SeedSequence([self.seed, stream, number]).generate_state(1, np.uint64)[0]
        return torch.Generator().manual_seed(int(state) % 2**63)

    def _numbers(self, law: Generator, name: str, stream: int, number: int) -> Generator:
        """The random numbers of an outcome under a side: those of the law go on where there are no others."""
        shared = SHARED if stream == ASK and len(self.sides) > 1 else stream
        if len(self.outcomes) > 1:
            return self.generator(FIRST_OUTCOME_STREAM * (1 + list(self.outcomes).index(name)) + shared, number)
        return law if shared == stream else self.generator(shared, number)

    def _law(
        self, side: Side, observations: Observations, step: int, law: Generator, known: Known
    ) -> tuple[ContextModel | None, Reference]:
        """Return the model of the coming context, None where it is certain or ignored, and its reference."""
        parts = side.main
        if known.context is not None and parts.context is not None:
            return None, Reference(known.context, torch.ones(1, dtype=torch.float64))
        model = parts.context_model(known.forecast)
        if model is not None and known.partly is not None:
            model = Conditional(model, known.partly, real_columns(side.space.contexts))
        given = known.forecast if known.partly is None else model
        return model, parts.reference(observations, step, law, given)

    def pending_reference(self, side: Side, belief: Belief, known: Known) -> Reference:
        """Return the reference that contexts of pending trials are drawn from: a forecast concerns this trial only."""
        parts = side.main
        if not any(each is not None for each in known) or parts.context is None or isinstance(parts.context, Forecast):
            return belief.reference.to("cpu")
        return parts.reference(belief.observations, belief.step, belief.generator)

    def _given_unresolved(
        self,
        learned: Learned,
        situation: Situation,
        sides: Sequence[Side],
        beliefs: Sequence[Mapping[str, Belief]],
        number: int,
    ) -> dict[str, Posterior]:
        """Return the posterior of each outcome given its pending and failed trials."""
        laws = dict(zip(map(id, sides), beliefs, strict=True))

        def law(name: str, side: Side) -> Reference:
            if id(side) not in laws:  # trials wait under a side that is not to choose from
                laws[id(side)] = self.under(side, learned, Known(), ASK, number)
            return self.pending_reference(side, laws[id(side)][name], side.known(situation))

        found = {}
        for name, posterior in learned.posteriors.items():
            belief = beliefs[0][name]
            points = unresolved(learned.pasts[name], self.sides, partial(law, name), belief.generator)
            there = Unresolved(*(each.to(self.device) for each in points))
            found[name] = conditioned(posterior, there, belief.observations.values.min())
        return found

    def _wary(self, name: str, learned: Learned, objective: Objective) -> Posterior:
        """Return the posterior that says which decisions keep the limit of an outcome."""
        level = self.outcomes[name].level(objective)
        if not objective.signed:
            level = float(objective.threshold)  # type: ignore[attr-defined]
        with self.watch("fit"):
            return self.surrogates[name].wary(self.data(learned.pasts[name]), learned.posteriors[name], level)


def _require_contexts(model: ContextModel, seen: Tensor) -> None:
    """Refuse to learn a law from no contexts (t, d_c) at all."""
    parts = model.split(seen) if isinstance(model, Independent) else [(model, seen)]
    lacking = any(isinstance(each, LearnedModel | MeanBox) and not len(rows) for each, rows in parts)
    remedy = "call `study.observe_contexts(table)`, or give the law: Known(...), Finite(rows) or Uniform()"
    where = "Study(simulator=...)"
    require(not lacking, where, "know contexts that occurred, to learn their law from", "none", remedy)


def _contradicted(number: int, name: str, posterior: Posterior, row: Observations, sign: int) -> Suspicion:
    """Return an outcome that the posterior of all others contradicts.

    Args:
        number: of the trial.
        name: of the outcome, where there are several.
        posterior: of all others.
        row: what was observed.
        sign: -1 where smaller values are better.
    """
    found = predicted(posterior, row)
    ends = torch.stack([found.mean + side * found.sd for side in (-1.96, 0.0, 1.96)])
    ends = posterior.back(ends) if isinstance(posterior, TransformedPosterior) else ends
    low, middle, high = sorted((sign * ends).flatten().tolist())
    return Suspicion(number, "outcome", name, sign * float(row.values[0]), middle, (low, high))
