"""Compositions: a method is a choice of context model, objective, acquisition, surrogate and control rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Generator, Tensor

from allweather.acquisition import UCB, Acquisition
from allweather.contexts import KDE, ContextModel, Empirical, Ignored, Reference
from allweather.distances import TotalVariation
from allweather.errors import require
from allweather.methods.control import Rule
from allweather.objectives import DRO, Expectation, Objective
from allweather.schedules import DensityRadius
from allweather.space import Space
from allweather.space.variables import Context, Real
from allweather.surrogates import GP, BoTorch, Surrogate
from allweather.surrogates.observations import Observations

if TYPE_CHECKING:
    from botorch.models.model import Model


@dataclass(frozen=True, eq=False)
class Composition:
    """The parts of a method; those left out are chosen for the space.

    Without contexts that is plain Bayesian optimization. With contexts it is DRBO-KDE: a kernel density estimate of the
    contexts seen, the worst mean within a total variation that shrinks as the estimate improves, and UCB (kde, Alg. 2).
    """

    context: ContextModel | None = None
    objective: Objective | None = None
    acquisition: Acquisition | None = None
    surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None
    rule: Rule | None = None
    """How to choose among control sets, where there are any."""

    def __post_init__(self) -> None:
        parts: list[tuple[str, Any, type, str]] = [
            ("rule", self.rule, Rule, "a rule such as CostAdaptive()"),
            ("context", self.context, ContextModel, "a context model such as KDE()"),
            ("objective", self.objective, Objective, "an objective such as DRO(TotalVariation(0.2))"),
            ("acquisition", self.acquisition, Acquisition, "an acquisition such as UCB(1.5)"),
        ]
        for name, part, kind, example in parts:
            require(part is None or isinstance(part, kind), f"Study({name}=...)", f"be {example}", part)
        surrogate = self.surrogate
        recipe = not (isinstance(surrogate, type) and issubclass(surrogate, Surrogate))
        require(recipe, "Study(surrogate=...)", "be a surrogate, not its class: `GP()`", surrogate)
        fits = surrogate is None or isinstance(surrogate, Surrogate)
        if not fits:
            object.__setattr__(self, "surrogate", BoTorch(surrogate))  # type: ignore[arg-type]

    def with_parts(
        self,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
    ) -> Composition:
        """Return this composition with the given parts in place of its own."""
        return Composition(
            self.context if context is None else context,
            self.objective if objective is None else objective,
            self.acquisition if acquisition is None else acquisition,
            self.surrogate if surrogate is None else surrogate,
            self.rule,
        )

    def on(self, space: Space, sign: int) -> Parts:
        """Return all parts, bound to a space and a direction."""
        smooth = all(isinstance(_inner(variable), Real) for variable in space.contexts.values())
        context = self.context or (KDE() if smooth else Empirical())
        robust = DRO(TotalVariation(DensityRadius())) if len(space.contexts) else Expectation()
        surrogate = self.surrogate if isinstance(self.surrogate, Surrogate) else GP()
        return Parts(
            context=None if not len(space.contexts) or isinstance(context, Ignored) else context.on(space),
            objective=(self.objective or robust).facing(sign),
            acquisition=self.acquisition or UCB(),
            surrogate=surrogate.on(space).facing(sign),
            space=space,
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """A composition bound to a space."""

    context: ContextModel | None
    """None where there are no contexts, or they are ignored."""
    objective: Objective
    acquisition: Acquisition
    surrogate: Surrogate
    space: Space

    def reference(
        self, observations: Observations, step: int, generator: Generator, forecast: ContextModel | None = None
    ) -> Reference:
        """Return the context model's reference at this step, on legal contexts only."""
        if self.context is None:
            return Ignored().reference(observations.seen, step, generator)
        model = self.context if forecast is None else forecast.on(self.space)
        points, weights = model.reference(observations.seen, step, generator)
        return Reference(self.space.contexts.snap(points), weights)


def _inner(variable: Any) -> Any:
    return variable.variable if isinstance(variable, Context) else variable
