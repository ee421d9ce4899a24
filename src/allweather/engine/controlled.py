"""The engine of a study with control sets: one engine per set, one surrogate for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Generator, Tensor

from allweather._utils.timing import Stopwatch
from allweather.acquisition import ContextRule
from allweather.acquisition.context_rules import ChooseOnly
from allweather.acquisition.optimize import Search
from allweather.engine.check import Check
from allweather.engine.engine import ASK, RECOMMEND, Engine
from allweather.engine.pending import keep_apart
from allweather.engine.plan import Plan, Situation
from allweather.engine.posterior_view import Outlook
from allweather.engine.splits import Split, SplitHistory, columns_of, within
from allweather.errors import InvalidInput, require
from allweather.methods.composition import Composition, Parts
from allweather.methods.control import Control, ControlSet, CostAdaptive, Ledger
from allweather.methods.control.rules import Side
from allweather.objectives import Objective
from allweather.space import Space
from allweather.space.constraints import LinearConstraint
from allweather.surrogates import Posterior
from allweather.trials import Row, Trial
from allweather.trials.history import History

if TYPE_CHECKING:
    import pandas as pd

PLAY = 3
"""The stream of random numbers for scores: the same for all sets, so that they see the same sample function."""


class ControlledEngine:
    """Engines for every control set, which share one surrogate."""

    _simulator: ContextRule | None = None
    """How the variables that a set leaves are chosen, where they can be."""

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
        """Create engines like `template`, one for each set of `control` and one for the surrogate of all variables."""
        for limit in constraints:
            strange = [name for name in limit.coefficients if name not in space.decisions]
            require(not strange, "Study(constraints=...)", f"name variables among {list(space.decisions)}", strange)
        everything = Space(**dict(space.joint))
        fitted = replace(composition, context=None, objective=None, simulator=None)
        fitted_parts = fitted.on(everything, sign, controlled=True)
        search = Search(everything.decisions, device=template.device)
        self.whole = replace(template, parts=fitted_parts, search=search)
        self._simulator = composition.simulator
        self.rule = control.rule or composition.rule or CostAdaptive()
        self.budget = control.budget
        self.sides: dict[frozenset[str], tuple[Split, Engine]] = {}
        for each in control.on(space):
            split = Split.of(each, space)
            columns = columns_of(each.variables, space.decisions)
            chosen = None if candidates is None else candidates[:, columns].unique(dim=0)
            search = Search(split.space.decisions, within(constraints, each), chosen, device=template.device)
            parts = _for_split(composition, split, space).on(split.space, sign, controlled=True)
            self.sides[each.names] = split, replace(template, parts=parts, search=search)
        if composition.simulator is not None:
            _check_simulator(composition.simulator, space, [split.left for split, _ in self.sides.values()])

    @property
    def parts(self) -> Parts:
        """The parts of all variables together."""
        return replace(self.whole.parts, simulator=self._simulator)

    def __repr__(self) -> str:
        sets = ", ".join(repr(split.control) for split, _ in self.sides.values())
        return f"{sets}, {self.rule!r}, budget {self.budget}, {next(iter(self.sides.values()))[1]!r}"

    def kinds(self) -> list[str]:
        """Return the names of the parts and control sets that a stored study must be resumed with."""
        _, side = next(iter(self.sides.values()))
        sets = [", ".join(split.control.variables) for split, _ in self.sides.values()]
        return [*side.kinds(), type(self.rule).__name__, *sets]

    def part_kinds(self) -> dict[str, str]:
        """Return the kinds of the other parts, the costs and the budget, for a study that stores them."""
        _, side = next(iter(self.sides.values()))
        costs = [
            f"{', '.join(split.control.variables)}: {float(split.control.cost)}" for split, _ in self.sides.values()
        ]
        budget = "" if self.budget is None else str(float(self.budget))
        return {**side.part_kinds(), "costs": "; ".join(costs), "budget": budget}

    @property
    def seed(self) -> int:
        """The seed of the study."""
        return self.whole.seed

    @property
    def initial(self) -> int:
        """How many trials are complete before the surrogate is used."""
        return self.whole.initial

    @property
    def watch(self) -> Stopwatch:
        """The stopwatch that all engines share."""
        return self.whole.watch

    def ledger(self, history: History) -> Ledger:
        """Return the trials and costs so far; past data were free."""
        played = [(t.decision, t.cost) for t in history.trials if t.asked and t.cost is not None]
        outcomes = history.observations.values
        lowest = float(outcomes.min()) if len(outcomes) else 0.0
        return Ledger.of([split.control for split, _ in self.sides.values()], self.budget, played, lowest)

    def _side_of(self, trial: Trial) -> tuple[Split, Engine]:
        """Return the control set that a trial was asked under, as a split, and its engine."""
        known, names = sorted(map(sorted, self.sides)), frozenset(trial.decision)
        require(names in self.sides, f"trial {trial.number}", f"decide one of the control sets {known}", trial.decision)
        return self.sides[names]

    def decide(self, history: History, situation: Situation) -> Plan:
        """Return the next decision: a control set, values for its variables, and its cost."""
        ledger = self.ledger(history)
        if len(history.complete) < self.whole.initial:
            return self._first(ledger, history)
        posterior = self.whole.posterior(history)
        fitted = posterior.hyperparameters
        number = len(history.trials)
        posterior = self._aware(history, posterior, self.whole.generator(ASK, number))
        sides = [self._side(each, history, posterior, number) for each in self.rule.eligible(ledger)]
        with self.watch("maximise"):
            offer = self.rule.choose(sides, self.whole.parts.acquisition, ledger)
            side = next(side for side in sides if side.control == offer.control)
            split, engine = self.sides[offer.control.names]
            pending = [t for t in history.trials if t.state == "pending" and offer.control.names == set(t.decision)]
            same = split.space.decisions.encode([trial.decision for trial in pending], outside=bool(history.changes))
            same = same.to(engine.device)
            decision = offer.decision
            rule = engine.parts.simulator
            if rule is not None:  # the same decision may be tried again in another context
                point = side.belief.reference.points[rule.choose(side.belief, decision)]
                plan = Plan.of(split.space, decision, fitted)
                return self._plan(split, plan.within(split.space, point, rule.chosen(split.space)))
            if offer.function is not None:
                decision = keep_apart(decision, same, offer.function, side.search, side.belief.generator)
        return self._plan(split, Plan.of(split.space, decision, fitted))

    def check(self, history: History) -> Check | None:
        """Return how well the surrogate of all variables predicts outcomes that it has not seen."""
        return self.whole.check(history)

    def outlook(self, history: History, situation: Situation, objective: Objective | None) -> Outlook:
        """Return the posterior view under the best set, with the best decision of every set by cost."""
        posterior = self.whole.posterior(history)
        averaged = self.whole.averaged(history, posterior)
        rows, outlooks, scores = [], [], list[float]()
        columns = ["control", "cost", "value", "score", *self.whole.search.box]
        controls = [split.control for split, _ in self.sides.values()]
        for split, engine in self.sides.values():
            parts = engine.parts
            if objective is not None:
                parts = replace(parts, objective=objective.facing(history.sign))
            view, arranged = split.apply(history, posterior)
            generator = engine.generator(RECOMMEND, history.revision)
            belief = engine.belief(view, arranged, parts, generator, Situation())
            belief = replace(belief, averaged=split.apply(history, averaged)[1])
            best = engine.best_expected(belief)
            limits = engine.search.constraints
            outlooks.append(Outlook(split.space, history.sign, belief, best.decision, constraints=limits))
            named = split.space.decisions.decode(best.decision[None])[0]
            with torch.no_grad():
                reached = float(belief.objective(belief.field.mean(best.decision[None]), belief.reference)[0])
            names = ", ".join(split.control.variables)
            scores.append(best.value)
            rows.append({"control": names, "cost": split.control.cost, "value": reached, "score": best.value, **named})
        top = min(range(len(rows)), key=lambda place: (-scores[place], rows[place]["cost"]))
        control = controls[top]
        frontier = sets_by_cost(rows, columns, outlooks[top].objective_sign)
        return replace(outlooks[top], control=control.variables, cost=control.cost, frontier=frontier)

    def _first(self, ledger: Ledger, history: History) -> Plan:
        """Return a decision of the initial design, over the cheapest sets in turn."""
        affordable = ledger.affordable
        cheapest = min(each.exact_cost for each in affordable)
        sets = [each for each in affordable if each.exact_cost == cheapest]
        played = ledger.step - 1
        split, engine = self.sides[sets[played % len(sets)].names]
        place = played // len(sets)
        plan = Plan.of(split.space, engine.design(max(engine.initial, place + 1))[place])
        rule = engine.parts.simulator
        if rule is not None:
            plan = engine.within_law(plan, SplitHistory.under(split, history), Situation(), rule)
        return self._plan(split, plan)

    def _plan(self, split: Split, plan: Plan) -> Plan:
        return plan._replace(left=split.left, cost=split.control.cost)

    def _side(self, control: ControlSet, history: History, posterior: Posterior, number: int) -> Side:
        split, engine = self.sides[control.names]
        view, arranged = split.apply(history, posterior)
        belief = engine.belief(view, arranged, engine.parts, engine.generator(ASK, number), Situation())
        chooses = engine.parts.simulator is not None
        belief = replace(belief, generator=engine.generator(PLAY, number), chooses=chooses)
        with self.watch("factorise"):
            _ = belief.field if engine.parts.acquisition.uses_field else None
        return Side(control, belief, engine.search)

    def _aware(self, history: History, posterior: Posterior, generator: Generator) -> Posterior:
        """Return the posterior given pending trials at their expected outcome, failed ones at the worst one seen."""
        pending = self._points([t for t in history.trials if t.state == "pending"], history, generator)
        failed = self._points([t for t in history.trials if t.state == "failed"], history, generator)
        if len(pending):
            posterior = posterior.given(pending)
        if len(failed):
            worst = history.observations.values.min()
            posterior = posterior.given(failed, worst.expand(len(failed)))
        return posterior

    def _points(self, trials: list[Trial], history: History, generator: Generator) -> Tensor:
        """Return all variables (m, d) of trials; unknown contexts are drawn from the context model."""
        box, rows, drawn = self.whole.search.box, [], dict[tuple[str, tuple[str, ...]], Row]()
        for trial in trials:
            shared = None if trial.occasion is None else (trial.occasion, tuple(trial.decision))
            row = {**drawn.get(shared or ("", ()), {}), **trial.decision, **(trial.context or trial.partial or {})}
            if any(name not in row for name in box):
                split, engine = self._side_of(trial)
                seen = engine.observations(SplitHistory.under(split, history))
                reference = engine.parts.reference(seen, max(len(history.complete), 1), generator)
                place = torch.multinomial(reference.weights, 1, generator=generator)
                row = {**split.space.contexts.decode(reference.points[place])[0], **row}
                if shared is not None:
                    drawn[shared] = {name: row[name] for name in split.left}
            rows.append(row)
        return box.encode(rows, outside=bool(history.changes)).to(self.whole.device)


def _for_split(composition: Composition, split: Split, space: Space) -> Composition:
    """Return the composition with its context model for the variables that are not controlled."""
    rule, context = composition.simulator, composition.context
    composition = replace(composition, simulator=None if rule is None else rule.restricted(split.left))
    if context is None or not split.left:
        return composition
    try:
        return replace(composition, context=context.among(split.left, list(space.variables)))
    except InvalidInput as trouble:
        raise trouble.within(f"{split.control!r}, which does not control {', '.join(split.left)}") from None


def _check_simulator(rule: ContextRule, space: Space, left: Sequence[Sequence[str]]) -> None:
    """Refuse a simulator that has nothing to choose, given what each control set leaves."""
    where, names = "Study(simulator=...)", {name for each in left for name in each}
    chosen = rule.variables if isinstance(rule, ChooseOnly) else tuple(names)
    strange = [name for name in chosen if name not in names]
    known = [name for name in space.variables if name in names]
    require(not strange, where, f"name variables that a control set leaves: {known}", strange)
    require(bool(chosen), where, "be given with a control set that leaves variables, which it chooses", rule)


def sets_by_cost(rows: list[dict[str, Any]], columns: list[str], sign: int) -> pd.DataFrame:
    """Return the best decision of each set, cheapest first, and which of them are on the frontier.

    Args:
        rows: one for each set.
        columns: of the table.
        sign: what turns values into the user's direction.
    """
    import pandas as pd

    ordered = pd.DataFrame(rows, columns=columns).sort_values(
        ["cost", "score"], ascending=[True, False], ignore_index=True
    )
    ordered["frontier"] = ordered["score"] > ordered["score"].cummax().shift(fill_value=-float("inf"))
    ordered["value"] = sign * ordered["value"]
    return ordered.drop(columns="score")
