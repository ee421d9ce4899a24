"""From the past of a study to its next play, where control sets can be chosen: one engine per set, one surrogate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import torch
from torch import Generator, Tensor

from allweather.clock import Stopwatch
from allweather.composition import Composition, Parts
from allweather.constraints import LinearConstraint
from allweather.control import Control, ControlSet, CostAdaptive, Ledger
from allweather.control.rules import Side
from allweather.engine import ASK, RECOMMEND, Engine, Plan, Situation, apart
from allweather.errors import InvalidInput, require
from allweather.history import History
from allweather.maximize import Search
from allweather.objectives import Objective
from allweather.recommendation import Recommendation, describe
from allweather.space import Space
from allweather.splits import Split, SplitHistory, whole_box
from allweather.surrogates import Posterior
from allweather.trials import Trial

PLAY = 3
"""The stream of random numbers that scores draw from: the same for all sets, so that they see the same function."""


class ControlledEngine:
    """Engines for every control set, which share what is known about the function."""

    def __init__(
        self,
        composition: Composition,
        space: Space,
        control: Control,
        template: Engine,
        sign: int,
        constraints: Sequence[LinearConstraint] = (),
        candidates: Tensor | None = None,
    ) -> None:
        """Engines like `template`, one for each set of `control` and one for the surrogate of all variables."""
        everything = Space(**dict(whole_box(space)))
        fitted = replace(composition, context=None, objective=None).on(everything, sign)
        self.whole = replace(template, parts=fitted, search=Search(everything.decisions))
        self.rule = control.rule or composition.rule or CostAdaptive()
        self.budget = control.budget
        self.sides: dict[tuple[str, ...], tuple[Split, Engine]] = {}
        for each in control.on(space):
            split = Split.of(each, space)
            columns = list(split.order[: split.space.decisions.columns])
            chosen = None if candidates is None else candidates[:, columns].unique(dim=0)
            search = Search(split.space.decisions, _within(constraints, each), chosen)
            parts = _for_split(composition, split, space).on(split.space, sign)
            self.sides[each.variables] = split, replace(template, parts=parts, search=search)

    @property
    def parts(self) -> Parts:
        """Those of all variables together."""
        return self.whole.parts

    @property
    def seed(self) -> int:
        """The study's."""
        return self.whole.seed

    @property
    def watch(self) -> Stopwatch:
        """Where seconds are noted."""
        return self.whole.watch

    @watch.setter
    def watch(self, watch: Stopwatch) -> None:
        for engine in (self.whole, *(engine for _, engine in self.sides.values())):
            engine.watch = watch

    def ledger(self, history: History) -> Ledger:
        """What was played and paid so far; data from before were free."""
        played = [(tuple(t.decision), t.cost) for t in history.trials if t.asked and t.cost is not None]
        outcomes = history.observations.values
        lowest = float(outcomes.min()) if len(outcomes) else 0.0
        return Ledger.of([split.control for split, _ in self.sides.values()], self.budget, played, lowest)

    def split(self, trial: Trial) -> Split:
        """The split that a trial was asked under."""
        return self.sides[tuple(trial.decision)][0]

    def decide(self, history: History, situation: Situation) -> Plan:
        """The next play: a control set, values for its variables, and what it costs."""
        given = situation == Situation()
        require(given, "Study.ask(context=..., forecast=...)", "be left out where there are control sets", situation)
        ledger = self.ledger(history)
        if len(history.complete) < self.whole.initial:
            return self._first(ledger)
        with self.watch("fit"):
            posterior = self.whole.posterior(history)
        fitted = posterior.hyperparameters
        number = len(history.trials)
        posterior, waiting = self._aware(history, posterior, self.whole.generator(ASK, number))
        sides = [self._side(each, history, posterior, number) for each in self.rule.eligible(ledger)]
        with self.watch("maximise"):
            offer = self.rule.choose(sides, self.whole.parts.acquisition, ledger)
            side = next(side for side in sides if side.control == offer.control)
            split, _ = self.sides[offer.control.variables]
            same = waiting[:, list(split.order)][:, : len(offer.decision)]
            decision = offer.decision
            if offer.function is not None:
                decision = apart(decision, same, offer.function, side.search, side.belief.generator)
        return self._plan(split, Plan.of(split.space, decision, fitted))

    def recommend(
        self, history: History, situation: Situation, objective: Objective | None, radii: Tensor | None
    ) -> Recommendation:
        """The best set and values, and what less money would buy."""
        given = situation == Situation()
        require(given, "Study.recommend(context=..., forecast=...)", "be left out with control sets", situation)
        with self.watch("fit"):
            posterior = self.whole.posterior(history)
        rows, beliefs = [], []
        for split, engine in self.sides.values():
            parts = engine.parts
            if objective is not None:
                parts = replace(parts, objective=objective.facing(history.sign))
            view = SplitHistory.under(split, history)
            engine.fitted = (view.revision, posterior.arranged(split.order, split.space.decisions.columns))
            generator = engine.generator(RECOMMEND, history.revision)
            belief = engine.belief(view, parts, generator, Situation())
            best = engine.best_expected(belief)
            beliefs.append((split, belief, best.decision))
            named = split.space.decisions.decode(best.decision[None])[0]
            control = ", ".join(split.control.variables)
            rows.append({"control": control, "cost": split.control.cost, "value": best.value, **named})
        top = max(range(len(rows)), key=lambda place: rows[place]["value"])
        split, belief, decision = beliefs[top]
        found = describe(belief, decision, split.space, history.sign, radii)
        frontier = _frontier(pd.DataFrame(rows), history.sign)
        return replace(found, control=split.control.variables, cost=split.control.cost, frontier=frontier)

    def _first(self, ledger: Ledger) -> Plan:
        """Spread values for the cheapest sets, one after the other: a look around costs least there."""
        affordable = ledger.affordable
        cheapest = min(each.exact_cost for each in affordable)
        sets = [each for each in affordable if each.exact_cost == cheapest]
        played = ledger.step - 1
        split, engine = self.sides[sets[played % len(sets)].variables]
        place = played // len(sets)
        return self._plan(split, Plan.of(split.space, engine.design(max(engine.initial, place + 1))[place]))

    def _plan(self, split: Split, plan: Plan) -> Plan:
        return plan._replace(left=split.left, cost=split.control.cost)

    def _side(self, control: ControlSet, history: History, posterior: Posterior, number: int) -> Side:
        split, engine = self.sides[control.variables]
        view = SplitHistory.under(split, history)
        engine.fitted = (view.revision, posterior.arranged(split.order, split.space.decisions.columns))
        belief = engine.belief(view, engine.parts, engine.generator(ASK, number), Situation())
        with self.watch("factorise"):
            _ = belief.field if engine.parts.acquisition.uses_field else None
        seen = belief.__dict__.get("field")
        belief = replace(belief, generator=engine.generator(PLAY, number))
        if seen is not None:
            belief.__dict__["field"] = seen
        return Side(control, belief, engine.search)

    def _aware(self, history: History, posterior: Posterior, generator: Generator) -> tuple[Posterior, Tensor]:
        """The posterior if pending plays turn out as expected and failed ones as badly as any, and the pending."""
        pending = self._points([t for t in history.trials if t.state == "pending"], history, generator)
        failed = self._points([t for t in history.trials if t.state == "failed"], history, generator)
        if len(pending):
            posterior = posterior.given(pending)
        if len(failed):
            worst = history.observations.values.min()
            posterior = posterior.given(failed, worst.expand(len(failed)))
        return posterior, pending

    def _points(self, trials: list[Trial], history: History, generator: Generator) -> Tensor:
        """All variables (m, d) of trials, what was left alone drawn from what is believed about it."""
        box, rows = self.whole.search.box, []
        for trial in trials:
            row = {**trial.decision, **(trial.context or {})}
            if any(name not in row for name in box):
                split, engine = self.sides[tuple(trial.decision)]
                seen = SplitHistory.under(split, history).observations
                reference = engine.parts.reference(seen, max(len(history.complete), 1), generator)
                place = torch.multinomial(reference.weights, 1, generator=generator)
                row = {**split.space.contexts.decode(reference.points[place])[0], **row}
            rows.append(row)
        return box.encode(rows)


def _for_split(composition: Composition, split: Split, space: Space) -> Composition:
    """The composition with what its context model says about the variables that are left alone."""
    context = composition.context
    if context is None or not split.left:
        return composition
    try:
        return replace(composition, context=context.among(split.left, list(space.variables)))
    except InvalidInput as trouble:
        raise InvalidInput(f"{split.control!r} leaves {', '.join(split.left)} alone: {trouble}") from None


def _within(constraints: Sequence[LinearConstraint], control: ControlSet) -> tuple[LinearConstraint, ...]:
    """The constraints that a control set can meet; one that it could meet only by luck is refused."""
    kept = []
    for each in constraints:
        names = set(each.coefficients)
        inside = names & set(control.variables)
        if inside and inside != names:
            alone = ", ".join(sorted(names - inside))
            raise InvalidInput(f"`Study(constraints=...)`: {control!r} leaves {alone} alone, of which {each} depends")
        if inside:
            kept.append(each)
    return tuple(kept)


def _frontier(table: pd.DataFrame, sign: int) -> pd.DataFrame:
    """The best of each set, cheapest first, and which of them no cheaper one equals."""
    ordered = table.sort_values(["cost", "value"], ascending=[True, False], ignore_index=True)
    best_before = ordered["value"].cummax().shift(fill_value=-float("inf"))
    ordered["frontier"] = ordered["value"] > best_before
    ordered["value"] = sign * ordered["value"]
    return ordered
