"""Sides: the variables of a study as decisions and contexts, which differ between control sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from allweather.acquisition.context_rules import ChooseOnly, ContextRule
from allweather.acquisition.optimize import Search
from allweather.contexts import Independent
from allweather.engine.situation import Known, Plan, Situation
from allweather.errors import InvalidInput, require
from allweather.methods.composition import Composition, Parts
from allweather.methods.control import Control, ControlSet
from allweather.objectives import Outcome
from allweather.space import Box, Space
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Context, Integer, Value
from allweather.surrogates import Hyperparameters, Posterior
from allweather.surrogates.observations import Observations
from allweather.trials import Trial
from allweather.trials.history import History

JOINT_CONTEXTS_TO_LEARN = 5
"""Number of joint observations from which the joint law of contexts is learned."""
POINTS_OF_CONTROLLED = 64
"""Points of a variable that was always controlled."""


@dataclass(frozen=True, eq=False)
class Side:
    """One control set: which variables are decided, how decisions are searched, and what it costs.

    A study without control has one side: its decisions, at no cost.
    """

    control: ControlSet
    space: Space
    """Its variables as decisions, all others as contexts."""
    search: Search
    parts: Mapping[str, Parts]
    """The parts of the method for this split, one for each outcome."""
    order: tuple[int, ...] | None = None
    """For each column of this split its index among the columns that surrogates are fitted on; None where it is the
    only split, and they are fitted on it."""
    everything: tuple[str, ...] = ()
    """All variables of the study, in their order."""

    @property
    def main(self) -> Parts:
        """The parts for the first outcome; context model, acquisition and simulator are those of all."""
        return next(iter(self.parts.values()))

    @property
    def only(self) -> bool:
        """Whether the study has no other split of its variables."""
        return self.order is None

    @property
    def left(self) -> tuple[str, ...]:
        """With control sets: the variables that are not controlled."""
        return () if self.only else tuple(self.space.contexts)

    @property
    def cost(self) -> float | None:
        """With control sets: what deciding costs."""
        return None if self.only else self.control.cost

    def arranged(self, posterior: Posterior) -> Posterior:
        """Return a fitted posterior as it looks under this split."""
        if self.order is None:
            return posterior
        return posterior.arranged(self.order, self.space.decisions.columns)

    def fitted_order(self, points: Tensor) -> Tensor:
        """Return joint points (m, d) of this split in the order of columns that surrogates are fitted on."""
        return points if self.order is None else points[:, torch.from_numpy(np.argsort(self.order))]

    def observations(self, history: History) -> Observations:
        """Return the outcomes of a history under this split, and the contexts that their law is learned from."""
        told, parts = history.observations, self.main
        if self.order is not None:
            points, d = told.joint[:, torch.tensor(self.order)], self.space.decisions.columns
            seen = left_alone(history.happened, self.space.contexts)
            told = Observations(points[:, :d], points[:, d:], told.values, seen, told.sds)
        if parts.context is None:
            return told.without_contexts()
        if parts.simulator is None:
            return told
        # Contexts that were chosen say nothing about their law.
        chosen = parts.simulator.chosen(self.space)
        rows = history.contexts_that_occurred(self.space.contexts, chosen)
        together = not isinstance(parts.context, Independent)  # which takes each variable alone
        return replace(told, seen=natural_contexts(rows, self.space.contexts, together))

    def contexts_seen(self, history: History) -> int:
        """Return the number of occasions whose contexts are known: the smallest among the variables left."""
        return history.occasions_with(list(self.space.contexts))

    def known(self, situation: Situation) -> Known:
        """Return what is known about the variables that this split leaves."""
        return situation.under(self.space.contexts, self.everything)

    def decided(self, trial: Trial) -> bool:
        """Whether a trial was asked for under this split."""
        return self.only or self.control.names == set(trial.decision)

    def plan(self, decision: Tensor, fits: Mapping[str, Hyperparameters | None] | None = None) -> Plan:
        """Return the plan of a decision (d_x,) of the unit cube.

        Args:
            decision: under this split.
            fits: the hyperparameters of each outcome's surrogate, where it was used.
        """
        return Plan(self.space.decisions.decode(decision[None])[0], fits or {}, self.left, self.cost)


def make_sides(
    composition: Composition,
    space: Space,
    outcomes: Mapping[str, Outcome],
    control: Control | None,
    constraints: Sequence[LinearConstraint],
    candidates: Tensor | None,
    device: str,
) -> tuple[Side, ...]:
    """Return a side for each control set, or the only one of a study without control.

    Args:
        composition: the parts of the method.
        space: the variables.
        outcomes: what is wanted of each outcome.
        control: sets of variables that can be controlled.
        constraints: what decisions must meet.
        candidates: (m, d) the only decisions, if not all.
        device: where scores are computed.
    """
    for limit in constraints:
        strange = [name for name in limit.coefficients if name not in space.decisions]
        require(not strange, "Study(constraints=...)", f"name variables among {list(space.decisions)}", strange)
    if control is None:
        free = ControlSet(tuple(space.decisions), 0.0)
        search = Search(space.decisions, tuple(constraints), candidates, device=device)
        return (Side(free, space, search, _parts(composition, space, outcomes)),)
    sides = []
    for each in control.on(space):
        split = space.controlling(each.variables)
        columns = _columns_of(each.variables, space.decisions)
        chosen = None if candidates is None else candidates[:, columns].unique(dim=0)
        search = Search(split.decisions, within(constraints, each), chosen, device=device)
        parts = _parts(_for_split(composition, each, split, space), split, outcomes, controlled=True)
        sides.append(Side(each, split, search, parts, _order(split, space), tuple(space.variables)))
    if composition.simulator is not None:
        _check_simulator(composition.simulator, space, [side.left for side in sides])
    return tuple(sides)


def _parts(
    composition: Composition, space: Space, outcomes: Mapping[str, Outcome], controlled: bool = False
) -> dict[str, Parts]:
    """The parts of a method on a split, for each outcome."""
    found = {}
    for name, outcome in outcomes.items():
        objective, surrogate = outcome.measure or composition.objective, outcome.surrogate or composition.surrogate
        own = replace(composition, objective=objective, surrogate=surrogate)
        found[name] = own.on(space, outcome.sign, controlled)
    return found


def _order(split: Space, space: Space) -> tuple[int, ...]:
    """For each column of a split, its index among the columns of all variables."""
    columns, start = {}, 0
    for name, variable in space.variables.items():
        columns[name] = range(start, start + variable.columns)
        start += variable.columns
    return tuple(column for name in (*split.decisions, *split.contexts) for column in columns[name])


def _for_split(composition: Composition, control: ControlSet, split: Space, space: Space) -> Composition:
    """Return the composition with its context model for the variables that are not controlled."""
    left, rule, context = tuple(split.contexts), composition.simulator, composition.context
    composition = replace(composition, simulator=None if rule is None else rule.restricted(left))
    if context is None or not left:
        return composition
    try:
        return replace(composition, context=context.among(left, list(space.variables)))
    except InvalidInput as trouble:
        raise trouble.within(f"{control!r}, which does not control {', '.join(left)}") from None


def _check_simulator(rule: ContextRule, space: Space, left: Sequence[Sequence[str]]) -> None:
    """Refuse a simulator that has nothing to choose, given what each control set leaves."""
    where, names = "Study(simulator=...)", {name for each in left for name in each}
    chosen = rule.variables if isinstance(rule, ChooseOnly) else tuple(names)
    strange = [name for name in chosen if name not in names]
    known = [name for name in space.variables if name in names]
    require(not strange, where, f"name variables that a control set leaves: {known}", strange)
    require(bool(chosen), where, "be given with a control set that leaves variables, which it chooses", rule)


def natural_contexts(rows: Sequence[Mapping[str, Value]], box: Box, together: bool) -> Tensor:
    """Return contexts (m, d_c) that occurred, to learn their law from; none where a variable was never seen.

    Args:
        rows: what occurred, without values that were chosen.
        box: the context variables.
        together: whether their joint law is learned; else rows may have NaN where a value was chosen.
    """
    if not together:
        points = [box.encode_partly({name: row[name] for name in box if name in row}) for row in rows]
        return torch.stack(points) if points else torch.zeros(0, box.columns, dtype=torch.float64)
    if all(any(name in row for row in rows) for name in box):
        return left_alone(rows, box)
    return torch.zeros(0, box.columns, dtype=torch.float64)


def left_alone(rows: Sequence[Mapping[str, Value]], box: Box) -> Tensor:
    """Return contexts (m, d_c) to learn the law of a box's variables from, given the context of each trial.

    Trials that controlled none of them count as they are. While these are fewer than 5, the newest uncontrolled values
    of each variable are combined at random; a variable that was always controlled is taken as uniform.

    Args:
        rows: values of some of the variables each.
        box: the variables that are not controlled.
    """
    together = [{name: row[name] for name in box} for row in rows if all(name in row for name in box)]
    if len(together) >= JOINT_CONTEXTS_TO_LEARN or len(together) == len(rows) > 0 or not len(box):
        return box.encode(together)
    source = np.random.default_rng(0)
    columns = []
    for name, variable in box.items():
        alone = Box("context", ((name, variable),))
        seen = alone.encode([{name: row[name]} for row in rows if name in row])
        columns.append((alone, seen))
    # As many rows as the variable that was seen least, so that nobody takes few values for many.
    n = min((len(seen) for _, seen in columns if len(seen)), default=POINTS_OF_CONTROLLED)
    mixed = []
    for place, (alone, seen) in enumerate(columns):
        values = seen if len(seen) else _uniform(alone, n, source)
        newest = values[len(values) - n :]
        mixed.append(newest if place == 0 else newest[source.permutation(n)])
    return torch.cat(mixed, dim=1)


def _uniform(box: Box, n: int, source: np.random.Generator) -> Tensor:
    """Return values (n, columns) of one variable, drawn uniformly."""
    (variable,) = (v.variable if isinstance(v, Context) else v for v in box.values())
    if isinstance(variable, Integer):
        levels = variable.upper - variable.lower
        return torch.from_numpy(source.integers(levels + 1, size=(n, 1)) / levels)
    return box.snap(torch.from_numpy(source.random((n, variable.columns))))


def _columns_of(names: Sequence[str], box: Box) -> list[int]:
    """Return the indices of some variables' columns among those of a box."""
    columns: list[int] = []
    start = 0
    for name, variable in box.items():
        columns += range(start, start + variable.columns) if name in names else []
        start += variable.columns
    return columns


def within(constraints: Sequence[LinearConstraint], control: ControlSet) -> tuple[LinearConstraint, ...]:
    """Return the constraints on a control set; one that also depends on other variables is refused."""
    kept = []
    for each in constraints:
        names = set(each.coefficients)
        inside = names & set(control.variables)
        if inside and inside != names:
            alone = ", ".join(sorted(names - inside))
            problem = f"must depend on controlled variables only: {each} depends on {alone}"
            place = f"{control!r}, which does not control {alone}"
            raise InvalidInput(problem, where="Study(constraints=...)", path=(place,))
        if inside:
            kept.append(each)
    return tuple(kept)
