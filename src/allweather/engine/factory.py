"""From the arguments of a study to its engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.contexts import Ignored
from allweather.engine.controlled import ControlledEngine
from allweather.engine.controlled_outcomes import ControlledOutcomes
from allweather.engine.engine import Engine
from allweather.engine.outcomes import OutcomesEngine, check_combination, named_kinds, with_acquisition
from allweather.errors import InvalidInput, is_number, require, require_count
from allweather.methods import method as named_method
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.objectives import Outcome
from allweather.objectives.outcomes import check_outcomes
from allweather.serialization import Arguments
from allweather.space import LinearConstraint, Space

MOST_INITIAL = 10_000
"""Decisions that are spread over the space before the surrogate is used, at most: more are a design, not a study."""
SIGNS = {"maximize": 1, "minimize": -1}
COLUMNS = ("value", "state", "trial", "believed", "worst", "left", "cost", "control", "frontier")
"""Columns of tables that have a column per variable too."""


def check_space(space: object) -> None:
    """Refuse what a study cannot be about."""
    require(isinstance(space, Space), "Study(space=...)", "be a Space", space)
    assert isinstance(space, Space)
    require(len(space.decisions) > 0, "Study(space=...)", "have a variable to decide", space)
    taken = [name for name in COLUMNS if name in space.variables]
    require(not taken, "Study(space=...)", "not name a variable like a column of the table of trials", taken)


def resolve_method(method: str | Composition | None, caller: str = "Study") -> Composition:
    """Return a method by name, or a composition as it is.

    Args:
        method: a name, a composition, or None for the default.
        caller: what the user called, for errors.
    """
    if method is None:
        return Composition()
    if isinstance(method, str):
        return named_method(method)
    require(isinstance(method, Composition), f"{caller}(method=...)", "be a method's name or a composition", method)
    return method


@dataclass(frozen=True, eq=False)
class EngineFactory:
    """What every decision must meet, and how a study begins."""

    space: Space
    direction: str = "maximize"
    constraints: LinearConstraint | Sequence[LinearConstraint] = ()
    candidates: Any = None
    """The only decisions that may be chosen, if not all: rows in the user's units."""
    initial: int | None = None
    seed: int = 0
    device: str = "cpu"
    """Where it computes: no part of the study's identity."""
    outcomes: Mapping[str, Outcome] | None = None
    """What is wanted of each of several outcomes; None where there is one."""
    cautious: float | None = None
    """With limits: the probability with which every decision asked for must keep them."""

    def __post_init__(self) -> None:
        check_space(self.space)
        check_device(self.device)
        require(self.direction in SIGNS, "Study(direction=...)", f"be one of {list(SIGNS)}", self.direction)
        check_start(self.initial, self.seed)
        if self.outcomes is not None:
            check_outcomes(self.outcomes, ["state", "trial", "occasion", *self.space.variables])
        fits = self.cautious is None or (is_number(self.cautious) and 0.5 <= self.cautious < 1)
        require(fits, "Study(cautious=...)", "be a probability of at least 0.5 and below 1", self.cautious)
        fits = self.cautious is None or self.outcomes is not None
        require(fits, "Study(cautious=...)", "come with outcomes that have limits", self.cautious)

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """The names of several outcomes; empty where there is one."""
        return tuple(self.outcomes or ())

    @property
    def limits(self) -> tuple[LinearConstraint, ...]:
        """The constraints as a tuple."""
        return (self.constraints,) if isinstance(self.constraints, LinearConstraint) else tuple(self.constraints)

    @property
    def sign(self) -> int:
        """1 where larger outcomes are better, -1 where smaller ones are."""
        return SIGNS[self.direction]

    def engine(self, composition: Composition, control: Control | None) -> Engine | ControlledEngine:
        """Return the engine of a composition, with one engine per control set where there are any."""
        fits = control is None or isinstance(control, Control)
        require(fits, "Study(control=...)", "be a Control of sets and their costs", control)
        if self.outcomes is not None:
            return self._outcomes_engine(composition, control, self.outcomes)
        if control is None:
            needless = composition.rule is not None
            require(not needless, "Study(control=...)", "be given with a method that chooses among control sets", None)
            check_simulator(composition, self.space)
            return self._engine(composition, self.limits)
        return self._controlled(composition, control, self.sign)

    def arguments(self, composition: Composition, control: Control | None) -> Arguments:
        """Return the arguments of the study, from which its spec is made."""
        given = (self.space, composition, self.direction, self.seed, self.initial, self.limits, self.candidates)
        return Arguments(*given, control=control, outcomes=self.outcomes, cautious=self.cautious)

    def identity(self, engine: Engine | ControlledEngine) -> dict[str, str]:
        """Return what must be the same when a study is resumed: of its parts the kinds, which later releases keep."""
        given = {"space": repr(self.space), "direction": self.direction, "seed": str(self.seed)}
        limits = [
            (sorted((name, float(each)) for name, each in limit.coefficients.items()), limit.lower, limit.upper)
            for limit in self.limits
        ]
        bounds = "; ".join(f"{_optional(low)} to {_optional(high)} of {names}" for names, low, high in limits)
        found = {**given, "method": "; ".join(engine.kinds()), **engine.part_kinds(), "constraints": bounds}
        found["outcomes"] = "" if self.outcomes is None else json.dumps(named_kinds(self.outcomes))
        encoded = self._encoded
        if encoded is None:
            return {**found, "candidates": ""}
        digest = hashlib.sha256(encoded.numpy().tobytes()).hexdigest()[:12]
        return {**found, "candidates": f"{len(encoded)} rows ({digest})"}

    @property
    def _encoded(self) -> Tensor | None:
        return None if self.candidates is None else self.space.decisions.encode(self.candidates)

    def _outcomes_engine(
        self, composition: Composition, control: Control | None, outcomes: Mapping[str, Outcome]
    ) -> Engine | ControlledEngine:
        """Return the engine of several outcomes; refuse what does not go with them."""
        check_combination(composition, self.direction)
        if control is not None:
            return self._controlled_outcomes(composition, control, outcomes)
        check_simulator(composition, self.space)
        composition = with_acquisition(composition, outcomes, self.cautious)
        engines = {}
        for name, outcome in outcomes.items():
            parts = composition.with_parts(objective=outcome.measure, surrogate=outcome.surrogate)
            engines[name] = self._engine(parts, self.limits, outcome.sign)
        return OutcomesEngine.of(engines, outcomes, self.cautious)

    def _controlled_outcomes(
        self, composition: Composition, control: Control, outcomes: Mapping[str, Outcome]
    ) -> ControlledOutcomes:
        plain = self.cautious is None
        require(plain, "Study(cautious=...)", "not be given with control sets", self.cautious)
        said = "not be given with control sets and several outcomes at once"
        require(composition.simulator is None, "Study(simulator=...)", said, composition.simulator)
        engines = {}
        for name, outcome in outcomes.items():
            parts = composition.with_parts(objective=outcome.measure, surrogate=outcome.surrogate)
            engines[name] = self._controlled(parts, control, outcome.sign)
        return ControlledOutcomes(engines, outcomes)

    def _controlled(self, composition: Composition, control: Control, sign: int) -> ControlledEngine:
        check_simulator(composition, self.space, controlled=True)
        template = self._engine(Composition(), ())
        return ControlledEngine(composition, self.space, control, template, sign, self.limits, self._encoded)

    def _engine(
        self, composition: Composition, constraints: tuple[LinearConstraint, ...], sign: int | None = None
    ) -> Engine:
        columns = self.space.decisions.columns + self.space.contexts.columns
        return Engine(
            parts=composition.on(self.space, self.sign if sign is None else sign),
            search=Search(self.space.decisions, constraints, self._encoded, device=self.device),
            initial=max(5, columns + 1) if self.initial is None else self.initial,
            seed=self.seed,
            device=self.device,
        )


def _optional(bound: float | None) -> str:
    return "any" if bound is None else str(float(bound))


def check_device(device: Any) -> None:
    """Refuse a device that torch does not know, or that this machine does not have."""
    if device == "cpu":
        return
    import torch

    try:
        torch.zeros(1, device=device)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError):
        requirement = "be a device that torch has here, such as cpu or cuda"
        raise InvalidInput(where="Study(device=...)", requirement=requirement, received=device) from None


def check_simulator(composition: Composition, space: Space, controlled: bool = False) -> None:
    """Refuse a simulator without contexts to choose.

    Args:
        composition: of the study.
        space: its variables.
        controlled: whether control sets decide which variables are contexts.
    """
    if composition.simulator is None:
        return
    where = "Study(simulator=...)"
    require(
        controlled or len(space.contexts) > 0, where, "be given with contexts, which it chooses", composition.simulator
    )
    remedy = "use Known(...) with its law, or leave it out and call `study.observe_contexts(table)`"
    used = not isinstance(composition.context, Ignored)
    require(used, "Study(context=...)", "not ignore the contexts that a simulator chooses", composition.context, remedy)


def check_start(initial: Any, seed: Any, caller: str = "Study") -> None:
    """Refuse a number of initial decisions or a seed that is none.

    Args:
        initial: how many decisions are spread out first, or None.
        seed: of the random numbers.
        caller: what the user called, for errors.
    """
    require_count(seed, f"{caller}(seed=...)", high=2**63 - 1)
    if initial is not None:
        require_count(initial, f"{caller}(initial=...)", low=1, high=MOST_INITIAL)
