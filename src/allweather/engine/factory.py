"""Build the engine from a spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from allweather.acquisition.optimize import Search
from allweather.contexts import Ignored
from allweather.engine.controlled import ControlledEngine
from allweather.engine.controlled_outcomes import ControlledOutcomes
from allweather.engine.engine import Engine
from allweather.engine.outcomes import OutcomesEngine, with_acquisition
from allweather.errors import InvalidInput, require
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.objectives import Outcome
from allweather.space import LinearConstraint, Space

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    def outcome_names(self) -> Sequence[str]:
        """The names of several outcomes; empty where there is one."""

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


def build_engine(spec: Described, device: str = "cpu") -> Engine | ControlledEngine:
    """Return the engine of a study; what does not fit together is refused.

    Args:
        spec: what the study is.
        device: Torch device; not stored.
    """
    composition, control, outcomes = spec.composition, spec.control, spec.outcomes
    if not spec.outcome_names:
        (only,) = outcomes.values()
        if control is not None:
            return _controlled(spec, composition, control, only.sign, device)
        needless = composition.rule is not None
        require(not needless, "Study(control=...)", "be given with a method that chooses among control sets", None)
        _check_simulator(composition, spec.space)
        return _engine(spec, composition, only.sign, device)
    if control is not None:
        return _controlled_outcomes(spec, composition, control, device)
    _check_simulator(composition, spec.space)
    composition, engines = with_acquisition(composition, outcomes, spec.cautious), dict[str, Engine]()
    for name, outcome in outcomes.items():
        parts = composition.with_parts(objective=outcome.measure, surrogate=outcome.surrogate)
        engines[name] = _engine(spec, parts, outcome.sign, device)
    return OutcomesEngine.of(engines, outcomes, spec.cautious)


def _controlled_outcomes(
    spec: Described, composition: Composition, control: Control, device: str
) -> ControlledOutcomes:
    plain = spec.cautious is None
    require(plain, "Study(cautious=...)", "not be given with control sets", spec.cautious)
    said = "not be given with control sets and several outcomes at once"
    require(composition.simulator is None, "Study(simulator=...)", said, composition.simulator)
    engines = {}
    for name, outcome in spec.outcomes.items():
        parts = composition.with_parts(objective=outcome.measure, surrogate=outcome.surrogate)
        engines[name] = _controlled(spec, parts, control, outcome.sign, device)
    return ControlledOutcomes(engines, spec.outcomes)


def _controlled(
    spec: Described, composition: Composition, control: Control, sign: int, device: str
) -> ControlledEngine:
    require(device == "cpu", "Study(device=...)", "be cpu where there are control sets", device)
    _check_simulator(composition, spec.space, controlled=True)
    template = _engine(spec, Composition(), sign, device, constrained=False)
    return ControlledEngine(composition, spec.space, control, template, sign, spec.constraints, _encoded(spec))


def _engine(spec: Described, composition: Composition, sign: int, device: str, constrained: bool = True) -> Engine:
    columns = spec.space.decisions.columns + spec.space.contexts.columns
    limits = spec.constraints if constrained else ()
    return Engine(
        parts=composition.on(spec.space, sign),
        search=Search(spec.space.decisions, limits, _encoded(spec), device=device),
        initial=max(5, columns + 1) if spec.initial is None else spec.initial,
        seed=spec.seed,
        device=device,
    )


def _encoded(spec: Described) -> Tensor | None:
    return None if spec.candidates is None else spec.space.decisions.encode(spec.candidates)


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


def _check_simulator(composition: Composition, space: Space, controlled: bool = False) -> None:
    """Refuse a simulator without contexts to choose.

    Args:
        composition: of the study.
        space: its variables.
        controlled: whether control sets decide which variables are contexts.
    """
    if composition.simulator is None:
        return
    where, has_contexts = "Study(simulator=...)", controlled or len(space.contexts) > 0
    require(has_contexts, where, "be given with contexts, which it chooses", composition.simulator)
    remedy = "use Known(...) with its law, or leave it out and call `study.observe_contexts(table)`"
    used = not isinstance(composition.context, Ignored)
    require(used, "Study(context=...)", "not ignore the contexts that a simulator chooses", composition.context, remedy)
