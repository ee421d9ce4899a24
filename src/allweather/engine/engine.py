"""From a history to the next decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.timing import Stopwatch
from allweather.acquisition import Belief, ContextRule
from allweather.acquisition.objective_ucb import mean_score
from allweather.acquisition.optimize import Best, Search
from allweather.contexts import Conditional, ContextModel, Forecast, Independent, LearnedModel, MeanBox, Reference
from allweather.contexts.conditional import real_columns
from allweather.engine.check import Check, check_model
from allweather.engine.choice import likely_best, promising
from allweather.engine.condensed import Expected
from allweather.engine.pending import condition_on_pending, keep_apart
from allweather.engine.plan import Plan, Situation
from allweather.engine.posterior_view import Outlook
from allweather.errors import require
from allweather.methods.composition import Parts
from allweather.methods.goals import PUBLISHED
from allweather.objectives import Expectation, Objective
from allweather.schedules import Progress
from allweather.surrogates import Posterior
from allweather.surrogates.observations import Observations
from allweather.trials.history import History

ASK, DESIGN, RECOMMEND = range(3)
"""Independent streams of random numbers."""
VIEWS = 3
"""Outlooks that are kept: a report needs that of the study, that of means, and one of the past at a time."""


@dataclass(eq=False)
class Engine:
    """The parts of a study, bound to its space; stateless but for the cache of its last fit."""

    parts: Parts
    search: Search
    initial: int
    seed: int
    device: str = "cpu"
    """Where the surrogate and the objective are computed; context models and random numbers are the CPU's."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    _fitted: tuple[tuple[int, int | None], Posterior] | None = None
    """The last version of a history that was fitted, and its posterior: a cache that can be computed again."""
    _viewed: list[tuple[tuple[int, int | None], Objective | None, Outlook]] = field(default_factory=list)
    """The last outlooks, with the version of the history and the objective asked for: a cache, too."""

    def __repr__(self) -> str:
        parts = self.parts
        return ", ".join(repr(part) for part in (parts.context, parts.objective, parts.acquisition))

    def kinds(self) -> list[str]:
        """Return the names of the parts that a stored study must be resumed with."""
        return [type(part).__name__ for part in (self.parts.objective, self.parts.acquisition)]

    def part_kinds(self) -> dict[str, str]:
        """Return the kinds of the other parts, which a study that stores them must be resumed with."""
        distance = getattr(self.parts.objective, "distance", None)
        given = {"context": self.parts.context, "surrogate": self.parts.surrogate, "distance": distance}
        return {name: "" if part is None else type(part).__name__ for name, part in given.items()}

    def decide(self, history: History, situation: Situation) -> Plan:
        """Return the next decision, and the hyperparameters it was chosen with."""
        if len(history.complete) < self.initial:
            asked = sum(trial.asked for trial in history.trials)
            plan = Plan.of(history.space, self.design(max(self.initial, asked + 1))[asked])
            rule = self.parts.simulator
            return plan if rule is None else self.within_law(plan, history, situation, rule)
        generator = self.generator(ASK, len(history.trials))
        belief = self.belief(history, self.posterior(history), self.parts, generator, situation)
        belief = replace(belief, chooses=self.parts.simulator is not None)
        fitted = belief.surrogate.hyperparameters
        reference = self._pending_reference(belief, situation).to("cpu")
        pending, failed = (each.to(self.device) for each in history.unresolved(reference, belief.generator))
        belief = condition_on_pending(belief, pending, failed)
        if self.parts.acquisition.uses_field:
            with self.watch("factorise"):
                _ = belief.field
        if self.parts.acquisition.compares:
            belief = replace(belief, compared=promising(belief, self.search, self.best_expected(belief).decision))
        with self.watch("maximise"):
            score = self.parts.acquisition.build(belief)
            decision = self.search.best(score, belief.generator).decision
            if self.parts.simulator is not None:  # the same decision may be tried again in another context
                place = self.parts.simulator.choose(belief, decision)
                point, chosen = belief.reference.points[place], self.parts.simulator.chosen(history.space)
                return Plan.of(history.space, decision, fitted).within(history.space, point, chosen)
            waiting = pending[:, : len(decision)]
            return Plan.of(history.space, keep_apart(decision, waiting, score, self.search, belief.generator), fitted)

    def design(self, n: int) -> Tensor:
        """Return the first `n` decisions (n, d_x) of the initial design."""
        return self.search.sample(n, self.generator(DESIGN, 0))

    def outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        """Return the posterior view, with the decision whose objective is best under the posterior.

        Published methods recommend by the posterior mean function. Reports and pages ask
        for the same view several times: the last ones are kept.
        """
        for version, asked, view in self._viewed if situation == Situation() else ():
            if version == history.version and _same(asked, objective):
                return view
        view = self._outlook(history, situation, objective)
        if situation == Situation():
            self._viewed = [(history.version, objective, view), *self._viewed[: VIEWS - 1]]
        return view

    def _outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        parts = self.parts if objective is None else replace(self.parts, objective=objective.facing(history.sign))
        generator = self.generator(RECOMMEND, history.revision)
        posterior = self.posterior(history)
        belief = self.belief(history, posterior, parts, generator, situation)
        belief = replace(belief, averaged=self.averaged(history, posterior))
        best, limits = self.best_expected(belief).decision, self.search.constraints
        if self.parts.goal != PUBLISHED:
            best = likely_best(belief, best, self.search)
        return Outlook(history.space, history.sign, belief, best, constraints=limits)

    def best_expected(self, belief: Belief) -> Best:
        """Return the decision whose objective is best under the posterior mean."""
        with self.watch("factorise"):
            _ = belief.field
        with self.watch("maximise"):
            rough = belief.rough() if belief.objective.slow else None
            if rough is None:
                score = mean_score(belief) or belief.expected
                return self.search.best(score, belief.generator, belief.incumbents(16))
            return self.search.best(Expected(belief, rough), belief.generator, rough.incumbents(16))

    def belief(
        self, history: History, posterior: Posterior, parts: Parts, generator: Generator, situation: Situation
    ) -> Belief:
        """Return everything known after a history, as the acquisition sees it.

        Args:
            history: the trials so far.
            posterior: what the surrogate learned from them.
            parts: the parts to use, the engine's own or others.
            generator: the only source of randomness.
            situation: what is known about the coming context.
        """
        observations, step = self.observations(history), max(len(history.complete), 1)
        with self.watch("reference"):
            if situation.context is None or parts.context is None:
                model = parts.context_model(situation.forecast)
                if model is not None and situation.known is not None:
                    model = Conditional(model, situation.known, real_columns(history.space.contexts))
                given = situation.forecast if situation.known is None else model
                reference = parts.reference(observations, step, generator, given)
            else:  # the context is certain: the objective is the outcome itself
                model, reference = None, Reference(situation.context, torch.ones(1, dtype=torch.float64))
                parts = replace(parts, objective=Expectation())
        progress = Progress(
            step=step,
            decision_dim=history.space.decisions.columns,
            context_dim=max(history.space.contexts.columns, 1),
            information_gain=posterior.information_gain,
            contexts=len(reference.points),
            context_kernel=posterior.context_kernel,
        )
        simulated = self.parts.simulator is not None and len(observations.seen) > 0
        seen = len(observations.seen) if simulated else history.contexts_seen
        learned = replace(progress, step=max(seen, 1))  # radii shrink with the number of contexts seen
        reference, observations = reference.to(self.device), observations.to(self.device)
        return Belief(posterior, reference, parts.objective.at(learned), observations, progress, generator, model)

    def _pending_reference(self, belief: Belief, situation: Situation) -> Reference:
        """Return the reference that contexts of pending trials are drawn from: a forecast concerns this trial only."""
        if situation == Situation() or self.parts.context is None or isinstance(self.parts.context, Forecast):
            return belief.reference
        return self.parts.reference(belief.observations, belief.step, belief.generator)

    def posterior(self, history: History) -> Posterior:
        """Return the fitted surrogate; a fit that an earlier trial recorded is reused as it was."""
        if self._fitted is not None and self._fitted[0] == history.version:
            return self._fitted[1]
        surrogate = self.parts.surrogate
        last = next((trial for trial in reversed(history.newest) if trial.fitted is not None), None)
        with self.watch("fit"):
            if last is not None and last.fitted is not None and last.revision == history.revision:
                posterior = surrogate.resume(self._data(history), last.fitted)
            else:
                posterior = surrogate.fit(self._data(history), None if last is None else last.fitted)
        self._fitted = (history.version, posterior)
        return posterior

    def check(self, history: History) -> Check | None:
        """Return how well the surrogate predicts outcomes that it has not seen, or None where it cannot tell."""
        return check_model(self.parts.space, self.posterior(history), self._data(history), history.sign)

    def averaged(self, history: History, posterior: Posterior) -> Posterior:
        """Return the posterior averaged over hyperparameters, which intervals are drawn from."""
        with self.watch("fit"):
            return self.parts.surrogate.averaged(self._data(history), posterior)

    def wary(self, history: History, posterior: Posterior, level: float) -> Posterior:
        """Return the posterior that says which decisions are safe."""
        with self.watch("fit"):
            return self.parts.surrogate.wary(self._data(history), posterior, level)

    def _data(self, history: History) -> Observations:
        return self.observations(history).to(self.device)

    def within_law(self, plan: Plan, history: History, situation: Situation, rule: ContextRule) -> Plan:
        """Return a plan of the initial design of a simulator: its context is drawn from the law.

        Args:
            plan: the decision.
            history: the trials so far.
            situation: what is known about the coming context.
            rule: that chooses contexts.
        """
        generator = self.generator(ASK, len(history.trials))
        reference = self.parts.reference(self.observations(history), 1, generator, situation.forecast)
        place = torch.multinomial(reference.weights, 1, generator=generator)[0]
        return plan.within(history.space, reference.points[place], rule.chosen(history.space))

    def observations(self, history: History) -> Observations:
        """Return the outcomes of a history, and the contexts that the law is learned from."""
        found = history.observations.without_contexts() if self.parts.context is None else history.observations
        rule = self.parts.simulator
        if rule is None:
            return found
        # Contexts that were chosen say nothing about their law.
        seen = history.natural_contexts(rule.chosen(history.space))
        if not isinstance(self.parts.context, Independent):  # which takes each variable alone
            seen = seen[~seen.isnan().any(1)]
        _require_contexts(self.parts.context, seen)
        return replace(found, seen=seen)

    def generator(self, stream: int, number: int) -> Generator:
        """Return random numbers that depend on the seed and the place in the study only."""
        state = np.random.SeedSequence([self.seed, stream, number]).generate_state(1, np.uint64)[0]
        return torch.Generator().manual_seed(int(state) % 2**63)


def _require_contexts(model: ContextModel | None, seen: Tensor) -> None:
    """Refuse to learn a law from no contexts (t, d_c) at all."""
    parts = model.split(seen) if isinstance(model, Independent) else [(model, seen)]
    lacking = any(isinstance(each, LearnedModel | MeanBox) and not len(rows) for each, rows in parts)
    remedy = "call `study.observe_contexts(table)`, or give the law: Known(...), Finite(rows) or Uniform()"
    where = "Study(simulator=...)"
    require(not lacking, where, "know contexts that occurred, to learn their law from", "none", remedy)


def _same(one: Objective | None, other: Objective | None) -> bool:
    """Whether two objectives are certainly equal: those that hold tensors cannot always say."""
    try:
        return one is other or bool(one == other)
    except (RuntimeError, ValueError):
        return False
