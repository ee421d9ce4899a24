"""The engine of a study with control sets and several outcomes: a surrogate for each outcome, and one rule for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from allweather.acquisition import Belief
from allweather.acquisition.constrained import JointBelief, check_acquisition, joint_score
from allweather.acquisition.feasibility import Limit, believed_feasible
from allweather.acquisition.optimize import Search
from allweather.engine.check import Check
from allweather.engine.controlled import PLAY, ControlledEngine, sets_by_cost
from allweather.engine.engine import ASK, RECOMMEND
from allweather.engine.feasible import CONFIDENCE, best_feasible
from allweather.engine.outcomes import OWN
from allweather.engine.outcomes_view import OutcomesOutlook
from allweather.engine.pending import keep_apart
from allweather.engine.plan import Plan, Situation
from allweather.engine.posterior_view import Outlook
from allweather.errors import InvalidInput, require
from allweather.methods.control import ControlSet, Rule
from allweather.methods.control.rules import Offer
from allweather.objectives import Objective, Outcome
from allweather.surrogates import Posterior
from allweather.trials.history import History


class Under(NamedTuple):
    """What is known about all outcomes under one control set."""

    control: ControlSet
    beliefs: Mapping[str, Belief]
    joint: JointBelief
    search: Search


class ControlledOutcomes(ControlledEngine):
    """Engines for every control set and outcome, which share the rule, the costs and the budget.

    The engine itself is that of the outcome that is maximized or minimized. A set is compared with the others by its
    score less the penalty of limits; sets under which nothing is believed feasible only while that holds for all.
    """

    def __init__(self, engines: Mapping[str, ControlledEngine], outcomes: Mapping[str, Outcome]) -> None:
        """Create the engine of several outcomes from one engine for each."""
        wanted = [name for name, outcome in outcomes.items() if not outcome.constrains]
        where = "Study(outcomes=..., control=...)"
        require(len(wanted) == 1, where, "have one outcome to maximize or minimize; the others are limits", wanted)
        vars(self).update(vars(engines[wanted[0]]))
        self.engines, self.outcomes, self.wanted = engines, outcomes, wanted[0]
        check_acquisition(self.whole.parts.acquisition, 1)
        own = type(self.rule).choose is not Rule.choose
        require(not own, where, "have a rule that compares scores, such as CostAdaptive()", self.rule)

    def decide(self, history: History, situation: Situation) -> Plan:
        """Return the next decision: a control set, values for its variables, and its cost."""
        ledger = self.ledger(self._of(history, self.wanted))
        pasts = {name: self._of(history, name) for name in self.outcomes}
        known = all(len(past.observations) for past in pasts.values())
        if len(history.complete) < self.whole.initial or not known:
            return self._first(ledger, pasts[self.wanted])._replace(fits=dict.fromkeys(self.outcomes))
        number = len(history.trials)
        fitted = {name: self.engines[name].whole.posterior(past) for name, past in pasts.items()}
        aware = {
            name: self.engines[name]._aware(pasts[name], each, self.whole.generator(ASK, number))
            for name, each in fitted.items()
        }
        under = [self._under(each, pasts, aware, ASK, PLAY, number) for each in self.rule.eligible(ledger)]
        with self.watch("maximise"):
            sure = [each for each in under if bool(believed_feasible(each.joint.limits, each.joint.tried()).any())]
            offers = [self._offer(each) for each in sure or under]
            offer = self.rule.pick(offers, ledger)
            chosen = next(each for each in under if each.control == offer.control)
            split, _ = self.sides[offer.control.names]
            pending = [t for t in history.trials if t.state == "pending" and offer.control.names == set(t.decision)]
            same = split.space.decisions.encode([trial.decision for trial in pending], outside=bool(history.changes))
            assert offer.function is not None
            apart = keep_apart(offer.decision, same, offer.function, chosen.search, chosen.joint.generator)
        fits = {name: each.hyperparameters for name, each in fitted.items()}
        return self._plan(split, Plan.of(split.space, apart))._replace(fits=fits)

    def outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        """Return the posterior view under the best set, with the best decision of every set by cost."""
        pasts = {name: self._of(history, name) for name in self.outcomes}
        lacking = [name for name, past in pasts.items() if not len(past.observations)]
        if lacking:
            problem = (
                f"needs at least one complete trial (context and value of every outcome), got none of {lacking[0]}"
            )
            raise InvalidInput(problem, where="Study.recommend()")
        fitted = {name: self.engines[name].whole.posterior(past) for name, past in pasts.items()}
        averaged = {name: self.engines[name].whole.averaged(pasts[name], each) for name, each in fitted.items()}
        rows, views = list[dict[str, Any]](), list[OutcomesOutlook]()
        for split, engine in self.sides.values():
            found = self._under(split.control, pasts, fitted, RECOMMEND, RECOMMEND, history.revision, objective)
            beliefs = {
                name: replace(belief, averaged=split.apply(pasts[name], averaged[name])[1])
                for name, belief in found.beliefs.items()
            }
            joint = self._joint(beliefs)
            with self.watch("maximise"):
                best = best_feasible(joint, engine.search)
            views.append(self._view(split.space, beliefs, joint, engine.search, best.decision))
            with torch.no_grad():
                value = float(beliefs[self.wanted].expected(best.decision[None])[0])
            kept = best.probability >= CONFIDENCE
            named = {"control": ", ".join(split.control.variables), "cost": split.control.cost}
            score = value if kept else -torch.inf
            rows.append({**named, "value": value, "score": score, "feasible": best.probability, **views[-1].decision})
        judged = [(row["score"], 0.0 if row["feasible"] >= CONFIDENCE else row["feasible"]) for row in rows]
        top = min(range(len(rows)), key=lambda place: (*(-each for each in judged[place]), rows[place]["cost"]))
        columns = ["control", "cost", "value", "score", "feasible", *self.whole.search.box]
        frontier = sets_by_cost(rows, columns, views[top].objective_sign)
        control = [split.control for split, _ in self.sides.values()][top]
        return replace(views[top], control=control.variables, cost=control.cost, frontier=frontier)

    def check(self, history: History, outcome: str | None = None) -> Check | None:
        """Return how well the surrogate of an outcome predicts values that it has not seen; of the first by default."""
        name = outcome or self.wanted
        return self.engines[name].whole.check(self._of(history, name))

    def _of(self, history: History, name: str) -> History:
        return history.of_outcome(name, self.outcomes[name].sign)

    def _under(
        self,
        control: ControlSet,
        pasts: Mapping[str, History],
        posteriors: Mapping[str, Posterior],
        stream: int,
        own: int,
        number: int,
        objective: Objective | None = None,
    ) -> Under:
        """Return what is believed of all outcomes under a control set."""
        beliefs = dict[str, Belief]()
        for place, (name, engines) in enumerate(self.engines.items()):
            split, engine = engines.sides[control.names]
            view, arranged = split.apply(pasts[name], posteriors[name])
            parts = engine.parts
            if objective is not None and name == self.wanted:
                parts = replace(parts, objective=objective.facing(pasts[name].sign))
            law = engine.generator(stream, number)
            belief = engine.belief(view, arranged, parts, law, Situation())
            drawn = engine.generator(OWN * (1 + place) + own, number)
            beliefs[name] = replace(belief, generator=drawn, law_seed=law.initial_seed())
        return Under(control, beliefs, self._joint(beliefs), self.sides[control.names][1].search)

    def _joint(self, beliefs: Mapping[str, Belief]) -> JointBelief:
        limits = {name: each for name, each in self.outcomes.items() if each.constrains}
        kept = tuple(Limit(beliefs[name], each.level(beliefs[name].objective)) for name, each in limits.items())
        return JointBelief((beliefs[self.wanted],), kept)

    def _offer(self, under: Under) -> Offer:
        score = joint_score(self.whole.parts.acquisition, under.joint)
        decision, value = under.search.best(score, under.joint.generator)
        return Offer(under.control, decision, value, self.whole.parts.acquisition.logarithmic, score)

    def _view(
        self, space: Any, beliefs: Mapping[str, Belief], joint: JointBelief, search: Search, chosen: torch.Tensor
    ) -> OutcomesOutlook:
        limits = search.constraints
        views = {
            name: Outlook(space, self.outcomes[name].sign, belief, chosen, constraints=limits)
            for name, belief in beliefs.items()
        }
        main = views[self.wanted]
        given = (main.space, main.sign, main.belief, main.chosen)
        return OutcomesOutlook(*given, constraints=limits, views=views, wants=self.outcomes, joint=joint, search=search)
