"""Changes of a study: other bounds, options, parts, costs or budget, as an event of its journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from allweather.acquisition import Acquisition
from allweather.contexts import ContextModel
from allweather.engine.controlled import ControlledEngine
from allweather.engine.engine import Engine
from allweather.engine.resume import Opened, require_changeable
from allweather.engine.setup import Setup
from allweather.errors import InvalidInput, require, require_number
from allweather.methods.control import Control, ControlSet
from allweather.objectives import Objective
from allweather.schedules import Schedule
from allweather.serialization.changes import CHANGEABLE, Difference, differences
from allweather.serialization.fields import PARTS
from allweather.space import LinearConstraint, Space
from allweather.space.changes import changed_space, resolve_tables, space_changes
from allweather.space.variables import Variable
from allweather.storage.trial_log import TrialLog
from allweather.surrogates import Surrogate
from allweather.trials import Event, History
from allweather.trials.validation import Validator

CALL = "Study.change({}=...)".format


class ChangeableStudy(TrialLog):
    """A study whose setup follows the changes in its journal, its own and those of other workers."""

    _opened: tuple[int, Setup]
    """Number of changes that were taken up, and the setup after them."""

    @property
    def space(self) -> Space:
        """The variables, after all changes that were taken up."""
        return self._opened[1].space

    @property
    def direction(self) -> str:
        """Whether larger or smaller outcomes are better: `maximize` or `minimize`."""
        return self._opened[1].factory.direction

    @property
    def spec(self) -> dict[str, Any] | None:
        """What the study is made of, as plain data; None where parts have no such form."""
        return self._opened[1].spec

    @property
    def initial(self) -> int:
        """The number of complete trials before the surrogate is used."""
        return self._engine.initial

    @property
    def _engine(self) -> Engine | ControlledEngine:
        return self._opened[1].engine

    def change(
        self,
        variables: Space | Mapping[str, Variable | Mapping[str, Any]] | None = None,
        *,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        radius: float | Schedule | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | None = None,
        constraints: LinearConstraint | Sequence[LinearConstraint] | None = None,
        candidates: Any = None,
        costs: Mapping[Any, float] | None = None,
        budget: float | None = None,
    ) -> list[Difference]:
        """Change the study from now on, and return what is different; what is not given stays.

        The change is an event of the journal: other workers take it up before they ask or tell next, and a study that
        is resumed goes on as if it had not stopped. All trials stay and inform the model, also where they lie outside
        narrower bounds or have an option that was removed; new decisions are within the new bounds.

        Args:
            variables: those with other bounds, options or unit, by name; type, scale and role stay. A table says only
                what is different: `{"order": {"upper": 20}, "wood": {"add": ["elm"]}}`.
            context: another context model.
            objective: another objective.
            radius: another radius of the objective's distance.
            acquisition: another acquisition.
            surrogate: another surrogate.
            constraints: all linear inequalities that decisions must meet from now on.
            candidates: the only decisions that may be chosen from now on.
            costs: other costs of control sets, by their variables as in `Control`; trials so far cost what they did.
            budget: another budget of all trials together, those so far included.

        Example:
            >>> from allweather import Choice, Context, Real, Space, Study
            >>> study = Study(Space(order=Real(0, 10), wood=Choice("oak", "ash"), demand=Context(0, 1)))
            >>> for each in study.change({"order": Real(0, 20), "wood": Choice("oak", "ash", "elm")}):
            ...     print(each)
            order upper: 10 -> 20
            wood options: ['oak', 'ash'] -> ['oak', 'ash', 'elm']
        """
        parts = {"context": context, "objective": objective, "acquisition": acquisition, "surrogate": surrogate}
        begin = {"constraints": constraints, "candidates": candidates}
        require(objective is None or radius is None, CALL("radius"), "not be given with an objective", radius)

        def revise(setup: Setup) -> Setup:
            given = variables.variables if isinstance(variables, Space) else variables or {}
            space = changed_space(setup.space, resolve_tables(setup.space, given, CALL("variables")))
            new = {key: part for key, part in parts.items() if part is not None}
            if radius is not None:
                new["objective"] = with_radius(setup, radius)
            return replace(
                setup,
                factory=replace(
                    setup.factory, space=space, **{key: each for key, each in begin.items() if each is not None}
                ),
                composition=setup.composition.with_parts(**new),  # type: ignore[arg-type]
                control=with_costs(setup.control, costs, budget),
            )

        return self._change(revise)

    def _change(self, revise: Callable[[Setup], Setup]) -> list[Difference]:
        """Write the change from the present setup to a revised one, once it fits the study's trials."""
        found: list[Difference] = []

        def choose(history: History) -> list[Event]:
            before = self._setup_at(history)
            after = revise(before)
            require_changeable(before, after)
            fields = change_fields(before, after)
            found[:] = differences(_compared(before, fields), _compared(after, fields))
            if not fields:
                return []
            later = history.changed(fields)
            check_change(before.changed(fields, later.space), history, later)
            return [Event.changed(fields)]

        self._session.decide(choose)
        self._setup_at(self._session.replayed)
        return found

    def _start(self, opened: Opened) -> None:
        """Begin with a study that was created or resumed."""
        self._session, self._opened = opened.session, (opened.changes, opened.setup)
        if opened.wanted is not None:
            wanted = opened.wanted
            self._change(lambda _: wanted)

    def _setup_at(self, history: History) -> Setup:
        """Return the setup after a history, with the changes that other workers made."""
        known, setup = self._opened
        for change in history.changes[known:]:
            setup = setup.changed(change.fields, history.space)
        if len(history.changes) > known:
            self._opened = len(history.changes), setup
        return setup

    @property
    def _validator(self) -> Validator:
        history = self._session.settings()
        return Validator.of(history, self._opened[1].control is not None)


def change_fields(before: Setup, after: Setup) -> dict[str, Any]:
    """Return the fields of the spec that a change sets, as its event holds them; none if nothing is different.

    Args:
        before: what the study is made of.
        after: what it shall be made of.
    """
    tables = space_changes(before.space, after.space.variables, CALL("variables"))
    fields: dict[str, Any] = {"variables": tables} if tables else {}
    changed = [key for key in CHANGEABLE[1:] if before.plain(key) != after.plain(key)]
    for key in changed:
        value = after.plain(key)
        plain = not (isinstance(value, str) and key in PARTS)
        require(plain, CALL(key), "have a plain form, which the journal can hold", value)
        fields[key] = value
    return fields


def check_change(setup: Setup, history: History, later: History) -> None:
    """Refuse a change that leaves nothing to decide, or nothing to learn the contexts' law from.

    Args:
        setup: after the change.
        history: before it.
        later: after it.
    """
    try:
        engine = setup.engine
    except InvalidInput as error:
        raise error.within("Study.change(...)") from None
    if isinstance(engine, ControlledEngine) or not history.happened or later.happened:
        return
    try:
        engine.parts.reference(later.observations, 1, torch.Generator().manual_seed(0))
    except InvalidInput:
        wanted = "leave one of the contexts that happened within the bounds, since their law is learned from them"
        raise InvalidInput(where=CALL("variables"), requirement=wanted, received=later.space.contexts) from None


def with_radius(setup: Setup, radius: float | Schedule) -> Objective:
    """Return a study's objective with another radius.

    Args:
        setup: of the study.
        radius: of its distance, or of itself where it has no distance.
    """
    objective: Any = setup.composition.objective
    distance: Any = getattr(objective, "distance", None)
    if hasattr(distance, "radius"):
        return replace(objective, distance=replace(distance, radius=radius))  # type: ignore[no-any-return]
    has = hasattr(objective, "radius")
    remedy = "give an objective that has one: objective=DRO(TotalVariation(0.2))"
    require(has, CALL("radius"), "be given where the objective has a radius", objective, remedy)
    return replace(objective, radius=radius)  # type: ignore[no-any-return]


def with_costs(control: Control | None, costs: Mapping[Any, float] | None, budget: float | None) -> Control | None:
    """Return control sets with other costs, or another budget.

    Args:
        control: of the study.
        costs: of some of the sets, by their variables.
        budget: of all trials together.
    """
    if costs is None and budget is None:
        return control
    where = CALL("budget" if costs is None else "costs")
    if control is None:
        raise InvalidInput("is for studies with control sets, which this one has not", where=where)
    require(costs is None or isinstance(costs, Mapping), where, "map variables to costs", costs)
    given = {frozenset((names,) if isinstance(names, str) else names): cost for names, cost in (costs or {}).items()}
    sets: Any = control.sets
    strange = [sorted(names) for names in given if names not in [each.names for each in sets]]
    require(not strange, where, f"name control sets among {[list(each.variables) for each in sets]}", strange)
    if budget is not None:
        require_number(budget, CALL("budget"), above=0)
    new = [ControlSet(each.variables, given.get(each.names, each.cost)) for each in sets]
    return replace(control, sets=new, budget=control.budget if budget is None else budget)


def _compared(setup: Setup, fields: Mapping[str, Any]) -> dict[str, Any]:
    from allweather.serialization import encode_space

    spaces = {"variables": encode_space(setup.space)} if "variables" in fields else {}
    return {**spaces, **{key: setup.plain(key) for key in CHANGEABLE[1:] if key in fields}}
