"""What is wanted of a study, in the words of `Study`, before its variables are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from botorch.models.model import Model
from torch import Tensor

from allweather.acquisition import Acquisition
from allweather.contexts import ContextModel
from allweather.engine.factory import COLUMNS, check_start, resolve_method
from allweather.errors import require
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.space.constraints import LinearConstraint
from allweather.study import Study
from allweather.surrogates import Surrogate


@dataclass(frozen=True, eq=False)
class StudyOptions:
    """The parts of a study that another tool keeps the trials of; what does not fit is refused at once.

    Example:
        >>> from allweather import CVaR, Context, Real
        >>> StudyOptions(objective=CVaR(0.2)).study(Space(order=Real(0, 1), demand=Context(0, 1)), "minimize").direction
        'minimize'
    """

    method: str | Composition | None = None
    context: ContextModel | None = None
    objective: Objective | None = None
    acquisition: Acquisition | None = None
    surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None
    initial: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        composition = resolve_method(self.method).with_parts(
            self.context, self.objective, self.acquisition, self.surrogate
        )
        controlled = composition.rule is not None
        require(
            not controlled, "method", "be one without control sets, which other tools have no word for", self.method
        )
        check_start(self.initial, self.seed)

    def study(self, space: Space, direction: str, constraints: tuple[LinearConstraint, ...] = ()) -> Study:
        """A study of these variables, without any trials yet."""
        return Study(
            space,
            method=self.method,
            context=self.context,
            objective=self.objective,
            acquisition=self.acquisition,
            surrogate=self.surrogate,
            direction=direction,  # type: ignore[arg-type]
            constraints=constraints,
            initial=self.initial,
            seed=self.seed,
        )


def only_contexts(space: object, where: str) -> Space:
    """A space that names what happens and nothing else: what is decided, the other tool knows.

    Example:
        >>> from allweather import Context
        >>> only_contexts(Space(demand=Context(0, 1)), "AllweatherSampler").contexts.columns
        1
    """
    fits = isinstance(space, Space) and len(space.contexts) > 0 and not len(space.decisions)
    requirement = "hold the contexts and nothing else, such as Space(demand=Context(0, 1))"
    require(fits, f"{where}(space=...)", requirement, space)
    assert isinstance(space, Space)
    require_names(space.variables, where)
    return space


def require_names(names: Iterable[str], where: str) -> None:
    """Refuse names that our tables of trials have for themselves, before anything is tried.

    Example:
        >>> require_names(["order", "value"], "AllweatherSampler")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `AllweatherSampler` must name no parameter or context one of ..., got 'value'
    """
    taken = (*COLUMNS, "self")
    for name in names:
        require(name not in taken, where, f"name no parameter or context one of {', '.join(taken)}", name)
