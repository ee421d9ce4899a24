"""From a history of several outcomes to the next decision: one surrogate for each, one decision for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import Generator, Tensor

from allweather.acquisition import Belief, ExpectedImprovement
from allweather.acquisition.constrained import JointBelief, check_acquisition, joint_score
from allweather.acquisition.feasibility import Limit, uncertainty
from allweather.engine.check import Check
from allweather.engine.engine import ASK, RECOMMEND, Engine
from allweather.engine.feasible import best_feasible, surely_feasible
from allweather.engine.outcomes_view import OutcomesOutlook
from allweather.engine.pending import condition_on_pending, keep_apart
from allweather.engine.plan import Plan, Situation
from allweather.engine.posterior_view import Outlook
from allweather.errors import InvalidInput, require
from allweather.methods.composition import Composition
from allweather.methods.goals import RECOMMENDATION
from allweather.objectives import Objective, Outcome, RobustSatisficing
from allweather.trials.history import History

OWN = 100
"""Each outcome has a stream of random numbers of its own, from this number on."""


@dataclass(eq=False)
class OutcomesEngine(Engine):
    """One engine for each outcome, which share the context model, the search and the decision.

    The engine itself is that of the first outcome that is maximized or minimized. Surrogates are independent.
    """

    engines: Mapping[str, Engine] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    cautious: float | None = None
    """The probability with which every decision asked for must keep all limits, where it must."""

    @classmethod
    def of(
        cls, engines: Mapping[str, Engine], outcomes: Mapping[str, Outcome], cautious: float | None
    ) -> OutcomesEngine:
        """Return the engine of several outcomes.

        Args:
            engines: one for each, with the objective and the surrogate of the outcome.
            outcomes: what is wanted of each.
            cautious: the probability with which every decision must keep all limits, if it must.
        """
        wanted = [name for name, outcome in outcomes.items() if not outcome.constrains]
        main = engines[wanted[0]]
        check_acquisition(main.parts.acquisition, len(wanted))
        for name, outcome in outcomes.items():
            scored = isinstance(outcome.measure, RobustSatisficing) and len(outcomes) > 1
            where = f"Study(outcomes=...) {name}"
            require(not scored, where, "not combine RobustSatisficing with limits or other objectives", outcome.measure)
        limited = len(wanted) < len(outcomes)
        require(cautious is None or limited, "Study(cautious=...)", "come with AtLeast or AtMost outcomes", cautious)
        for engine in engines.values():
            engine.watch = main.watch
        shared = (main.parts, main.search, main.initial, main.seed, main.device, main.watch)
        return cls(*shared, engines=engines, outcomes=outcomes, cautious=cautious)

    def __repr__(self) -> str:
        context, acquisition = self.parts.context, self.parts.acquisition
        return f"{context!r}, {'; '.join(o.describe(name) for name, o in self.outcomes.items())}, {acquisition!r}"

    def decide(self, history: History, situation: Situation) -> Plan:
        """Return the next decision, and the hyperparameters of each surrogate it was chosen with."""
        begins = self.cautious is None and len(history.complete) < self.initial
        beliefs = {} if begins else self._asked(history, situation)
        if not any(name in beliefs for name in self._wanted):
            self._require_known()
            asked = sum(trial.asked for trial in history.trials)
            plan = Plan.of(history.space, self.design(max(self.initial, asked + 1))[asked])
            rule = self.parts.simulator
            plan = plan if rule is None else self.within_law(plan, history, situation, rule)
            return plan._replace(fits=dict.fromkeys(self.outcomes))
        fits = {name: beliefs[name].surrogate.hyperparameters if name in beliefs else None for name in self.outcomes}
        resolved = {name: self._given_pending(history, name, each, situation) for name, each in beliefs.items()}
        joint = self._joint(resolved)
        with self.watch("maximise"):
            score = joint_score(self.parts.acquisition, joint)
            decision = self.search.best(score, joint.generator).decision
            if self.cautious is not None:
                decision = surely_feasible(joint, decision, self.search)
            if self.parts.simulator is not None:
                return self._in_context(history, decision, resolved)._replace(fits=fits)
            if self.cautious is not None:
                return Plan.of(history.space, decision)._replace(fits=fits)
            waiting = history.space.decisions.encode(
                [t.decision for t in history.trials if t.state == "pending"], outside=bool(history.changes)
            )
            apart = keep_apart(decision, waiting.to(self.device), score, self.search, joint.generator)
            return Plan.of(history.space, apart)._replace(fits=fits)

    def _in_context(self, history: History, decision: Tensor, beliefs: Mapping[str, Belief]) -> Plan:
        """Return the plan of a decision (d_x,) in the context that is chosen for the outcome that is least certain."""
        rule = self.parts.simulator
        assert rule is not None
        doubts = {name: uncertainty(belief, decision) for name, belief in beliefs.items()}
        belief = replace(beliefs[max(doubts, key=doubts.__getitem__)], chooses=True)
        point = belief.reference.points[rule.choose(belief, decision)]
        return Plan.of(history.space, decision).within(history.space, point, rule.chosen(history.space))

    def _outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        beliefs, views = dict[str, Belief](), dict[str, Outlook]()
        for name in self.outcomes:
            engine, past = self.engines[name], self._of(history, name)
            if not len(past.observations):
                problem = f"needs at least one complete trial (context and value of every outcome), got none of {name}"
                raise InvalidInput(problem, where="Study.recommend()")
            parts = engine.parts
            if objective is not None and name in self._wanted:
                parts = replace(parts, objective=objective.facing(past.sign))
            posterior = engine.posterior(past)
            belief = engine.belief(past, posterior, parts, self.generator(RECOMMEND, history.revision), situation)
            belief = self._shared(belief, beliefs, self._own(name, RECOMMEND, history.revision))
            beliefs[name] = replace(belief, averaged=engine.averaged(past, posterior))
        joint = self._joint(beliefs)
        with self.watch("maximise"):
            chosen = best_feasible(joint, self.search)
        limits = self.search.constraints
        for name, belief in beliefs.items():
            sign = self.outcomes[name].sign
            views[name] = Outlook(history.space, sign, belief, chosen.decision, constraints=limits)
        main = views[self._wanted[0]]
        given = (main.space, main.sign, main.belief, main.chosen)
        return OutcomesOutlook(
            *given, constraints=limits, views=views, wants=self.outcomes, joint=joint, search=self.search
        )

    def check(self, history: History, outcome: str | None = None) -> Check | None:
        """Return how well the surrogate of an outcome predicts values that it has not seen; of the first by default."""
        name = outcome or self._wanted[0]
        return self.engines[name].check(self._of(history, name))

    @property
    def _wanted(self) -> list[str]:
        """The outcomes that are maximized or minimized."""
        return [name for name, outcome in self.outcomes.items() if not outcome.constrains]

    def _of(self, history: History, name: str) -> History:
        return history.of_outcome(name, self.outcomes[name].sign)

    def _asked(self, history: History, situation: Situation) -> dict[str, Belief]:
        """Return what is believed of each outcome that has a value, with one reference for all."""
        found = dict[str, Belief]()
        for name, engine in self.engines.items():
            past = self._of(history, name)
            if len(past.observations):
                generator = self.generator(ASK, len(history.trials))
                posterior = engine.posterior(past)
                belief = engine.belief(past, posterior, engine.parts, generator, situation)
                if self.cautious is not None and self.outcomes[name].constrains:  # few data do not settle the model
                    level = _level(self.outcomes[name], belief.objective)
                    belief = replace(belief, averaged=engine.wary(past, posterior, level))
                found[name] = self._shared(belief, found, self._own(name, ASK, len(history.trials)))
        return found

    def _shared(self, belief: Belief, others: Mapping[str, Belief], generator: Generator) -> Belief:
        """Return a belief with the reference of the others and draws of it, and random numbers of its own."""
        first: Belief = next(iter(others.values()), belief)
        seed = belief.generator.initial_seed()  # the same for all outcomes
        return replace(belief, reference=first.reference, generator=generator, law_seed=seed)

    def _given_pending(self, history: History, name: str, belief: Belief, situation: Situation) -> Belief:
        past = self._of(history, name)
        reference = self._pending_reference(belief, situation).to("cpu")
        pending, failed = (each.to(self.device) for each in past.unresolved(reference, belief.generator))
        return condition_on_pending(belief, pending, failed)

    def _joint(self, beliefs: Mapping[str, Belief]) -> JointBelief:
        """Return the beliefs as objectives and limits."""
        limits = {name: outcome for name, outcome in self.outcomes.items() if outcome.constrains and name in beliefs}
        return JointBelief(
            tuple(beliefs[name] for name in self._wanted if name in beliefs),
            tuple(Limit(beliefs[name], each.level(beliefs[name].objective)) for name, each in limits.items()),
            self.cautious,
        )

    def _own(self, name: str, stream: int, number: int) -> Generator:
        """Return the random numbers of an outcome."""
        place = list(self.outcomes).index(name)
        return self.generator(OWN * (1 + place) + stream, number)

    def _require_known(self) -> None:
        """Refuse to begin cautiously where nothing is known."""
        if self.cautious is not None:
            problem = "needs results of at least one trial, since a first decision cannot be known to keep the limits"
            remedy = "add one that keeps them with `study.add(...)`"
            raise InvalidInput(problem, where="Study(cautious=...)", remedy=remedy)


def with_acquisition(composition: Composition, outcomes: Mapping[str, Outcome], cautious: float | None) -> Composition:
    """Return a composition with the acquisition for one objective with limits, where its user leaves it open.

    Where only the recommendation counts, that is expected improvement: optimism about objective and limits costs less
    on the way, but may stay on the first island of feasible decisions that it finds (`python -m benchmarks
    constraints`). Cautious studies, and objectives whose worst cases take long, keep the default of their goal.

    Args:
        composition: of the study.
        outcomes: what is wanted of each.
        cautious: the probability with which every decision must keep all limits, if it must.
    """
    wanted = [outcome for outcome in outcomes.values() if not outcome.constrains]
    plain = cautious is None and composition.acquisition is None
    limited, measure = len(wanted) == 1 < len(outcomes), wanted[0].measure
    if plain and composition.goal == RECOMMENDATION and limited and measure is not None and not measure.slow:
        return composition.with_parts(acquisition=ExpectedImprovement())
    return composition


def _level(outcome: Outcome, objective: Objective) -> float:
    """What values of an outcome should reach for its limit to be kept."""
    return outcome.level(objective) if objective.signed else float(objective.threshold)  # type: ignore[attr-defined]
