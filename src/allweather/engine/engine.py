"""From a history to the next decision and to what is believed: the one engine, over control sets and outcomes.

    history -> posteriors (one per outcome) -> belief per side -> score -> search -> offer per side -> rule -> plan

A study without control has one side, one with a single outcome one belief. What differs between sides (variables,
search, cost) and between outcomes (objective, surrogate, sign, limit) is data of `Side` and `Outcome`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from torch import Tensor

from allweather._utils.timing import Stopwatch
from allweather.acquisition import Acquisition, Belief, ContextRule
from allweather.acquisition.joint import JointBelief
from allweather.acquisition.limits import uncertainty
from allweather.contexts import Ignored
from allweather.engine.batch import keep_apart
from allweather.engine.beliefs import Beliefs
from allweather.engine.check import Check, check_model
from allweather.engine.choice import best_expected, likely_best, promising
from allweather.engine.feasible import best_feasible, surely_feasible
from allweather.engine.initial_design import initial_plan, spread_out
from allweather.engine.outlook import Outlook, best_by_cost
from allweather.engine.sides import Side, make_sides
from allweather.engine.situation import Plan, Situation
from allweather.errors import InvalidInput, require
from allweather.methods.composition import Composition
from allweather.methods.control import BestValue, Control, ControlSet, CostAdaptive, Ledger, Rule
from allweather.methods.control.rules import Offer, SideBelief
from allweather.methods.defaults import default_acquisition
from allweather.methods.goals import PUBLISHED
from allweather.objectives import Objective, Outcome
from allweather.space import Box, Space
from allweather.space.constraints import LinearConstraint
from allweather.surrogates import Posterior, Surrogate
from allweather.trials import Trial
from allweather.trials.history import History
from allweather.trials.suspicious import Suspicion

RECENT_OUTLOOKS = 3
"""Outlooks that are kept: a report needs that of the study, that of means, and one of the past at a time."""
FEWEST_INITIAL = 5
"""Decisions that are spread over the space before surrogates are used, at least, if nothing else is said."""


class Described(Protocol):
    """What a study is, as far as decisions depend on it (`study.Spec`)."""

    @property
    def space(self) -> Space:
        """The variables."""

    @property
    def composition(self) -> Composition:
        """The parts of the method."""

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What is wanted of each outcome."""

    @property
    def control(self) -> Control | None:
        """Sets of variables that can be controlled, where all decisions are not free."""

    @property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """What every decision must meet."""

    @property
    def candidates(self) -> Any:
        """The only decisions, if not all."""

    @property
    def initial(self) -> int | None:
        """How many decisions are spread over the space before surrogates are used."""

    @property
    def seed(self) -> int:
        """Of all random numbers."""

    @property
    def cautious(self) -> float | None:
        """The probability with which every decision asked for keeps all limits, where it must."""


@dataclass(eq=False)
class Engine:
    """The parts of a study, bound to its space; stateless but for caches of the last fits and outlooks."""

    beliefs: Beliefs
    """From a history to what is believed."""
    rule: Rule
    """Which side is chosen."""
    budget: float | None
    spend: bool
    """Whether the end of the budget is spent on the sets that it pays for, see `Control.leftover`."""
    initial: int
    """Decisions that are spread over the space before surrogates are used."""
    _recent: list[tuple[tuple[int, int | None], Objective | None, Outlook]] = field(default_factory=list)
    """The last outlooks, with the version of the history and the objective asked for."""

    @classmethod
    def of(cls, spec: Described, device: str = "cpu") -> Engine:
        """Return the engine of a study; what does not fit together is refused.

        Args:
            spec: what the study is.
            device: Torch device; not stored.
        """
        space, control, outcomes = spec.space, spec.control, spec.outcomes
        composition = _with_acquisition(spec)
        _check_composition(composition, space, control)
        candidates = None if spec.candidates is None else space.decisions.encode(spec.candidates)
        sides = make_sides(composition, space, outcomes, control, spec.constraints, candidates, device)
        if control is None:
            surrogates = {name: parts.surrogate for name, parts in sides[0].parts.items()}
        else:
            surrogates = _of_all_variables(composition, space, outcomes)
        columns = space.decisions.columns + space.contexts.columns
        beliefs = Beliefs(sides, outcomes, surrogates, spec.seed, device, spec.cautious)
        rule = BestValue() if control is None else control.rule or composition.rule or CostAdaptive()
        initial = max(FEWEST_INITIAL, columns + 1) if spec.initial is None else spec.initial
        budget, spend = (None, False) if control is None else (control.budget, control.leftover == "spend")
        made = cls(beliefs, rule, budget, spend, initial)
        _check_outcomes(made)
        return made

    def __repr__(self) -> str:
        parts = self.sides[0].main
        wanted = [outcome.describe(name) for name, outcome in self.outcomes.items()]
        objectives = repr(parts.objective) if len(wanted) == 1 else "; ".join(wanted)
        found = f"{parts.context!r}, {objectives}, {parts.acquisition!r}"
        if self.sides[0].only:
            return found
        sets = ", ".join(repr(side.control) for side in self.sides)
        return f"{sets}, {self.rule!r}, budget {self.budget}, {found}"

    @property
    def sides(self) -> tuple[Side, ...]:
        """One for each control set; the only one without control."""
        return self.beliefs.sides

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What is wanted of each outcome."""
        return self.beliefs.outcomes

    @property
    def seed(self) -> int:
        """Of all random numbers."""
        return self.beliefs.seed

    @property
    def watch(self) -> Stopwatch:
        """Seconds by stage of the last computation."""
        return self.beliefs.watch

    @property
    def acquisition(self) -> Acquisition:
        """How decisions are scored."""
        return self.sides[0].main.acquisition

    @property
    def simulator(self) -> ContextRule | None:
        """How contexts are chosen, where they can be."""
        return next((side.main.simulator for side in self.sides if side.main.simulator is not None), None)

    @property
    def left(self) -> list[tuple[str, ...]] | None:
        """The variables that each control set leaves; None without control."""
        return None if self.sides[0].only else [side.left for side in self.sides]

    @property
    def uncontrolled(self) -> Box:
        """The variables that some side leaves."""
        boxes = [side.space.contexts for side in self.sides]
        return Box("context", tuple({name: each for box in boxes for name, each in box.items()}.items()))

    @property
    def wanted(self) -> list[str]:
        """The outcomes that are maximized or minimized."""
        return [name for name, outcome in self.outcomes.items() if not outcome.constrains]

    def ledger(self, history: History) -> Ledger:
        """Return the trials and costs so far; past data were free."""
        played = [(trial.decision, trial.cost) for trial in history.trials if trial.asked and trial.cost is not None]
        lowest = 0.0
        if not self.sides[0].only:
            name = self.wanted[0]
            values = history.of_outcome(name, self.outcomes[name].sign).observations.values
            lowest = float(values.min()) if len(values) else 0.0
        return Ledger.of([side.control for side in self.sides], self.budget, played, lowest, self.spend)

    def propose(
        self, history: History, count: int, situation: Situation, same_context: bool = False, where: str = "Study.ask"
    ) -> list[Trial]:
        """Return the next trials of a history, each given those before it as pending.

        Args:
            history: the trials so far.
            count: how many trials to propose.
            situation: what is known about the coming context.
            same_context: whether they are one occasion.
            where: what errors call it.
        """
        alone = not same_context or self.simulator is None or situation.context is not None
        remedy = "give the context: `ask(n, context=..., same_context=True)`"
        said = "not be given where contexts are chosen, one for each trial"
        require(alone, f"{where}(same_context=...)", said, same_context, remedy)
        occasion, trials = f"ask {len(history.trials)}" if same_context else None, list[Trial]()
        for _ in range(count):
            trials.append(self.decide(history, situation).trial(history, situation.context, occasion))
            history = history.asked(trials[-1])
        return trials

    def decide(self, history: History, situation: Situation) -> Plan:
        """Return the next decision: a side, values for its variables, and the hyperparameters it was chosen with.

        Args:
            history: the trials so far.
            situation: what is known about the coming context.
        """
        ledger, begins = self.ledger(history), len(history.complete) < self.initial
        known = {} if begins and self.beliefs.cautious is None else self.beliefs.known(history)
        if not any(name in known for name in self.wanted):
            return self._designed(ledger, history, situation)
        learned = self.beliefs.learned(history)
        eligible = self.rule.eligible(ledger)
        ledger.check(min(eligible, key=lambda each: each.exact_cost))
        sides = self._sides(eligible)
        joints = self.beliefs.to_ask(history, learned, situation, sides)
        choices = [self._choice(side, joint) for side, joint in zip(sides, joints, strict=True)]
        hopeful = [each for each in choices if each.joint.hopeful()] if len(choices) > 1 else choices
        with self.watch("maximise"):
            offer = self.rule.choose(hopeful or choices, self.acquisition, ledger)
            ledger.check(offer.control)
            place = next(place for place, each in enumerate(choices) if each.control == offer.control)
            plan = self._settled(sides[place], offer, choices[place].joint, history)
        fits = {name: learned.posteriors[name].hyperparameters for name in learned.posteriors}
        return replace(plan, fits={name: fits.get(name) for name in self.outcomes})

    def design(self, n: int, side: int = 0) -> Tensor:
        """Return the first `n` decisions (n, d_x) of the initial design of a side.

        Args:
            n: how many.
            side: its place.
        """
        return spread_out(self.sides[side], n, self.beliefs)

    def outlook(
        self, history: History, situation: Situation, objective: Objective | None = None, where: str = "Study.recommend"
    ) -> Outlook:
        """Return the posterior view, with the decision that looks best, and the best of every control set by cost.

        Reports and pages ask for the same view several times: the last ones are kept.

        Args:
            history: the trials so far, or an earlier part of them.
            situation: what is known about the coming context.
            objective: another objective than the study's.
            where: what errors call it.
        """
        known = self.beliefs.known(history)
        lacking = [name for name in self.outcomes if name not in known]
        several = "context and value of every outcome" if len(self.outcomes) > 1 else "context and value"
        of = f" of {lacking[0]}" if lacking and len(self.outcomes) > 1 else ""
        if lacking:
            raise InvalidInput(f"needs at least one complete trial ({several}), got none{of}", where=f"{where}()")
        fits = objective is None or isinstance(objective, Objective)
        require(fits, f"{where}(objective=...)", "be an objective such as Expectation()", objective)
        for version, asked, view in self._recent if situation.empty else ():
            if version == history.version and _same(asked, objective):
                return view
        view = self._outlook(history, situation, objective)
        if situation.empty:
            self._recent = [(history.version, objective, view), *self._recent[: RECENT_OUTLOOKS - 1]]
        return view

    def check(self, history: History, outcome: str | None = None, where: str = "Study.check") -> Check:
        """Return how well the surrogate of an outcome predicts values that it has not seen.

        Args:
            history: the trials so far.
            outcome: one of several outcomes; by default the first that is maximized or minimized.
            where: what errors call it.
        """
        name = self.wanted[0] if outcome is None else outcome
        require(name in self.outcomes, f"{where}(outcome=...)", f"be one of {list(self.outcomes)}", outcome)
        past = self.beliefs.known(history).get(name)
        if past is None:
            raise InvalidInput(f"needs at least one complete trial, got none of {name}", where=f"{where}()")
        posterior, side = self.beliefs.posterior(past, name), self.sides[0]
        space = side.space if side.only else Space(**dict(past.space.joint))
        observations = self.beliefs.data(past).without(posterior.outliers)
        found = check_model(space, posterior, observations, past.sign)
        if found is None:
            problem = "needs a `GP` surrogate, whose leave-one-out predictions are known"
            raise InvalidInput(problem, where=f"{where}()")
        return replace(found, suspicious=self.suspicious(history))

    def suspicious(self, history: History) -> tuple[Suspicion, ...]:
        """Return what looks wrong with the trials, and which outcomes the model sets aside.

        Args:
            history: the trials so far.
        """
        return self.beliefs.suspicious(history)

    def joint_beliefs(self, history: History, situation: Situation | None = None) -> list[JointBelief]:
        """Return what is believed under each side where a trial is asked for.

        Args:
            history: the trials so far, at least one of them complete.
            situation: what is known about the coming context.
        """
        return self.beliefs.to_ask(history, self.beliefs.learned(history), situation or Situation(), self.sides)

    def posterior(self, history: History, outcome: str | None = None) -> Posterior:
        """Return the fitted surrogate of an outcome, of the first if no other is named.

        Args:
            history: the trials so far.
            outcome: its name.
        """
        name = self.wanted[0] if outcome is None else outcome
        return self.beliefs.posterior(history.of_outcome(name, self.outcomes[name].sign), name)

    def _sides(self, controls: list[ControlSet]) -> list[Side]:
        return [side for control in controls for side in self.sides if side.control == control]

    def _designed(self, ledger: Ledger, history: History, situation: Situation) -> Plan:
        """Return a decision of the initial design, over the cheapest sides in turn."""
        if self.beliefs.cautious is not None:
            problem = "needs results of at least one trial, since a first decision cannot be known to keep the limits"
            remedy = "add one that keeps them with `study.add(...)`"
            raise InvalidInput(problem, where="Study(cautious=...)", remedy=remedy)
        return initial_plan(self._sides(ledger.affordable), history, situation, self.beliefs, self.initial)

    def _choice(self, side: Side, joint: JointBelief) -> SideBelief:
        """Return what a rule chooses from: the belief under a side, and the search for its best decision."""
        if self.acquisition.uses_field:
            with self.watch("factorise"):
                _ = [belief.field for belief in joint.objectives]
        if self.acquisition.compares:
            compared = [promising(each, side.search, self._best(side, each)) for each in joint.objectives]
            objectives = [
                replace(belief, compared=others) for belief, others in zip(joint.objectives, compared, strict=True)
            ]
            joint = replace(joint, objectives=tuple(objectives))
        settle = None if joint.cautious is None else partial(surely_feasible, joint, side.search)
        return SideBelief(side.control, joint, side.search, settle)

    def _best(self, side: Side, belief: Belief) -> Tensor:
        with self.watch("factorise"):
            _ = belief.field
        with self.watch("maximise"):
            return best_expected(belief, side.search).decision

    def _settled(self, side: Side, offer: Offer, joint: JointBelief, history: History) -> Plan:
        """Return the plan of an offer: in a context that is chosen, or apart from decisions that are pending."""
        decision, rule = offer.decision, side.main.simulator
        if rule is not None:  # the same decision may be tried again in another context
            beliefs = [*joint.objectives, *(limit.belief for limit in joint.limits)]
            doubtful = max(beliefs, key=lambda each: uncertainty(each, decision)) if beliefs[1:] else beliefs[0]
            point = doubtful.reference.points[rule.choose(doubtful, decision)]
            return side.plan(decision).within(side.space, point, rule.chosen(side.space))
        if joint.cautious is None and offer.function is not None:
            rows = [trial.decision for trial in history.trials if trial.state == "pending" and side.decided(trial)]
            waiting = side.space.decisions.encode(rows, outside=bool(history.changes)).to(decision.device)
            decision = keep_apart(decision, waiting, offer.function, side.search, joint.generator)
        return side.plan(decision)

    def _outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        learned = self.beliefs.learned(history)
        averaged, views = self.beliefs.averaged(learned), []
        for side in self.sides:
            found = self.beliefs.to_recommend(side, learned, averaged, situation, objective)
            joint, probability = self.beliefs.joint(found), 1.0
            if len(self.outcomes) == 1:
                best = self._best(side, joint.main)
                if side.main.goal != PUBLISHED:
                    best = likely_best(joint.main, best, side.search)
            else:
                with self.watch("maximise"):
                    best, probability = best_feasible(joint, side.search)
            view = Outlook.of(side.space, self.outcomes, found, joint, side.search, best, probability)
            view = replace(view, history=history, suspicious=self.suspicious(history))
            views.append(view if side.only else replace(view, control=side.control.variables, cost=side.cost))
        return views[0] if self.sides[0].only else best_by_cost(views, list(history.space.variables))


def _of_all_variables(composition: Composition, space: Space, outcomes: Mapping[str, Outcome]) -> dict[str, Surrogate]:
    """The surrogate of each outcome on all variables, which does not depend on how control sets split them."""
    everything = Space(**dict(space.joint))
    plain = replace(composition, context=None, objective=None, simulator=None)
    found = {}
    for name, outcome in outcomes.items():
        surrogate = (
            plain.with_parts(surrogate=outcome.surrogate).on(everything, outcome.sign, controlled=True).surrogate
        )
        found[name] = surrogate
    return found


def _with_acquisition(spec: Described) -> Composition:
    """Return a study's composition with the acquisition for what it is, where its user leaves it open."""
    if spec.composition.acquisition is not None:
        return spec.composition
    controlled, cautious = spec.control is not None, spec.cautious is not None
    parts, outcomes = spec.composition, list(spec.outcomes.values())
    found = default_acquisition(parts.goal, outcomes, parts.objective, parts.surrogate, controlled, cautious)
    return parts if found is None else parts.with_parts(acquisition=found)


def _check_composition(composition: Composition, space: Space, control: Control | None) -> None:
    """Refuse parts that do not go together."""
    fits = control is None or isinstance(control, Control)
    require(fits, "Study(control=...)", "be a Control of sets and their costs", control)
    needless = control is None and composition.rule is not None
    require(not needless, "Study(control=...)", "be given with a method that chooses among control sets", None)
    noise = control is not None and isinstance(composition.context, Ignored)
    said = "not ignore what control sets leave: one surrogate of all variables serves all sets"
    require(not noise, "Study(context=...)", said, composition.context)
    if composition.simulator is None:
        return
    where, has_contexts = "Study(simulator=...)", control is not None or len(space.contexts) > 0
    require(has_contexts, where, "be given with contexts, which it chooses", composition.simulator)
    remedy = "use Known(...) with its law, or leave it out and call `study.observe_contexts(table)`"
    used = not isinstance(composition.context, Ignored)
    require(used, "Study(context=...)", "not ignore the contexts that a simulator chooses", composition.context, remedy)


def _check_outcomes(engine: Engine) -> None:
    """Refuse an acquisition that needs more objectives, or caution without limits."""
    wanted = engine.wanted
    engine.acquisition.check_objectives(len(wanted))
    limited = engine.beliefs.cautious is None or len(wanted) < len(engine.outcomes)
    require(limited, "Study(cautious=...)", "come with AtLeast or AtMost outcomes", engine.beliefs.cautious)


def _same(one: Objective | None, other: Objective | None) -> bool:
    """Whether two objectives are certainly equal: those that hold tensors cannot always say."""
    try:
        return one is other or bool(one == other)
    except (RuntimeError, ValueError):
        return False
