"""Options of a study that another library keeps the trials of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from botorch.models.model import Model
from torch import Tensor

from allweather.acquisition import Acquisition, ContextRule
from allweather.acquisition.context_rules import ChooseOnly
from allweather.contexts import ContextModel
from allweather.errors import require
from allweather.methods.composition import Composition
from allweather.objectives import AtLeast, Expectation, Objective, Outcome
from allweather.space import Space
from allweather.space.constraints import LinearConstraint
from allweather.study import Study
from allweather.study.spec import COLUMNS, check_start, resolve_method
from allweather.surrogates import Surrogate

Given = Mapping[str, Outcome] | None
"""How contexts count in outcomes, by name: `AtLeast(0.95, probability=0.9)`, `Maximize(CVaR(0.1))`."""


@dataclass(frozen=True, eq=False)
class StudyOptions:
    """The arguments of `Study` that do not depend on its variables, checked at once.

    Args:
        caller: what the user called, such as `AllweatherSampler`, for errors.

    Example:
        >>> from allweather import CVaR, Context, Real
        >>> options = StudyOptions("AllweatherSampler", objective=CVaR(0.2))
        >>> options.study(Space(order=Real(0, 1), demand=Context(0, 1)), "minimize").direction
        'minimize'
    """

    caller: str
    method: str | Composition | None = None
    context: ContextModel | None = None
    objective: Objective | None = None
    acquisition: Acquisition | None = None
    surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None
    initial: int | None = None
    seed: int = 0
    simulator: bool | ContextRule | None = None
    cautious: float | None = None
    chooses: bool = field(init=False, default=False)
    """Whether contexts are chosen too."""

    def __post_init__(self) -> None:
        composition = self._composition
        where = f"{self.caller}(method=...)"
        require(composition.rule is None, where, "not require control sets", self.method)
        object.__setattr__(self, "chooses", composition.simulator is not None)
        some = isinstance(composition.simulator, ChooseOnly)
        require(not some, f"{self.caller}(simulator=...)", "choose all contexts: True, or a rule", self.simulator)
        check_start(self.initial, self.seed, self.caller)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Study` by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init and each.name != "caller"}

    @property
    def measure(self) -> Objective:
        """The uncertainty objective of each of several outcomes that are maximized or minimized."""
        return self._composition.objective or Expectation()

    def study(
        self,
        space: Space,
        direction: str,
        constraints: tuple[LinearConstraint, ...] = (),
        outcomes: Mapping[str, Outcome] | None = None,
    ) -> Study:
        """Return a study without trials.

        Args:
            space: decisions and contexts.
            direction: `maximize` or `minimize`, of the only outcome.
            constraints: on the decisions.
            outcomes: what is wanted of each, where there are several.
        """
        if outcomes is None:
            return Study(space, direction=direction, constraints=constraints, **self.arguments)  # type: ignore[arg-type]
        parts = replace(self._composition, objective=None)
        start = {"initial": self.initial, "seed": self.seed, "cautious": self.cautious}
        return Study(space, method=parts, constraints=constraints, outcomes=outcomes, **start)  # type: ignore[arg-type]

    @property
    def _composition(self) -> Composition:
        return resolve_method(self.method, self.caller).with_parts(
            self.context, self.objective, self.acquisition, self.surrogate, simulator=self.simulator
        )


def only_contexts(space: object, where: str) -> Space:
    """Return a space that holds contexts only, since the other library knows the decisions.

    Args:
        space: as the user gave it.
        where: what the user called.

    Example:
        >>> from allweather import Context
        >>> only_contexts(Space(demand=Context(0, 1)), "AllweatherSampler").contexts.columns
        1
    """
    fits = isinstance(space, Space) and len(space.contexts) > 0 and not len(space.decisions)
    requirement = "hold contexts only, such as Space(demand=Context(0, 1))"
    require(fits, f"{where}(space=...)", requirement, space)
    assert isinstance(space, Space)
    require_names(space.variables, where)
    return space


def require_names(names: Iterable[str], where: str) -> None:
    """Raise `InvalidInput` for a name that is a column of the table of trials.

    Args:
        names: of parameters and contexts.
        where: what the user called.

    Example:
        >>> require_names(["order", "value"], "AllweatherSampler")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `AllweatherSampler` must not name a parameter or context like
        one of ..., got 'value'
    """
    taken = (*COLUMNS, "self")
    for name in names:
        require(name not in taken, where, f"not name a parameter or context like one of {', '.join(taken)}", name)


def check_given(outcomes: Any, where: str) -> None:
    """Refuse what does not say how contexts count in outcomes.

    Args:
        outcomes: as the user gave them.
        where: what the user called.
    """
    fits = outcomes is None or (
        isinstance(outcomes, Mapping) and all(isinstance(each, Outcome) for each in outcomes.values())
    )
    example = 'be given by name, such as {"purity": AtLeast(0.95, probability=0.9)}'
    require(fits, f"{where}(outcomes=...)", example, outcomes)


def chosen_outcome(said: Mapping[str, Outcome], name: str, usual: Outcome, where: str, place: str) -> Outcome:
    """Return what is wanted of an outcome: what the user said of it, or else what is usual.

    Args:
        said: by name; kind and bound are those of the other library.
        name: of the outcome.
        usual: where nothing is said.
        where: what the user called.
        place: where the other library says it, such as `the experiment`.

    Example:
        >>> chosen_outcome({}, "purity", AtLeast(0.95), "AllweatherNode", "the experiment").threshold
        0.95
    """
    chosen = said.get(name, usual)
    bound = f"{usual.threshold:g}, " if isinstance(usual, AtLeast) else ""
    same = type(chosen) is type(usual)
    same = same and getattr(chosen, "threshold", None) == getattr(usual, "threshold", None)
    requirement = f"be {type(usual).__name__}({bound}...), as in {place}"
    require(same, f"{where}(outcomes=...) {name}", requirement, chosen)
    return chosen
