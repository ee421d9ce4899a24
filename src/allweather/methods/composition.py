"""Compositions: a method is a choice of context model, objective, acquisition, surrogate and control rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Generator, Tensor

from allweather.acquisition import Acquisition
from allweather.acquisition.context_rules import ChooseOnly, ContextRule
from allweather.contexts import ContextModel, Ignored, Reference
from allweather.errors import require
from allweather.methods.control import Rule
from allweather.methods.defaults import CONTEXT_RULE, DEFAULTS, EVERY_TRIAL, SIMULATION
from allweather.objectives import Objective
from allweather.space import Space
from allweather.surrogates import BoTorch, Surrogate
from allweather.surrogates.observations import Observations

if TYPE_CHECKING:
    from botorch.models.model import Model


@dataclass(frozen=True, eq=False)
class Composition:
    """The parts of a method; those left out are chosen for the space and the goal (`methods.defaults`)."""

    context: ContextModel | None = None
    objective: Objective | None = None
    acquisition: Acquisition | None = None
    surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None
    rule: Rule | None = None
    """How to choose among control sets, where there are any."""
    goal: str = EVERY_TRIAL
    """What parts that are left out are chosen for."""
    simulator: ContextRule | None = None
    """How the context of a trial is chosen, where it can be."""

    def __post_init__(self) -> None:
        require(self.goal in DEFAULTS, "Study(goal=...)", f"be one of {list(DEFAULTS)}", self.goal)
        parts: list[tuple[str, Any, type, str]] = [
            ("rule", self.rule, Rule, "a rule such as CostAdaptive()"),
            ("context", self.context, ContextModel, "a context model such as KDE()"),
            ("objective", self.objective, Objective, "an objective such as DRO(TotalVariation(0.2))"),
            ("acquisition", self.acquisition, Acquisition, "an acquisition such as UCB(1.5)"),
            (
                "simulator",
                self.simulator,
                ContextRule,
                "True, names of contexts, or a rule such as MostInfluential()",
            ),
        ]
        for name, part, kind, example in parts:
            require(part is None or isinstance(part, kind), f"Study({name}=...)", f"be {example}", part)
        surrogate = self.surrogate
        instance = not (isinstance(surrogate, type) and issubclass(surrogate, Surrogate))
        require(instance, "Study(surrogate=...)", "be a surrogate, not its class: `GP()`", surrogate)
        fits = surrogate is None or isinstance(surrogate, Surrogate)
        if not fits:
            object.__setattr__(self, "surrogate", BoTorch(surrogate))  # type: ignore[arg-type]

    def with_parts(
        self,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        goal: str | None = None,
        simulator: bool | Sequence[str] | ContextRule | None = None,
    ) -> Composition:
        """Return this composition with the given parts in place of its own."""
        own = self.simulator if simulator is not False else None
        if isinstance(simulator, bool):
            simulator = (own or CONTEXT_RULE) if simulator else None
        elif isinstance(simulator, Sequence) and not isinstance(simulator, str):
            simulator = ChooseOnly(simulator, own or CONTEXT_RULE)
        rule = own if simulator is None else simulator
        if goal is None and rule is not None and self.goal == EVERY_TRIAL:
            goal = SIMULATION
        return Composition(
            self.context if context is None else context,
            self.objective if objective is None else objective,
            self.acquisition if acquisition is None else acquisition,
            self.surrogate if surrogate is None else surrogate,
            self.rule,
            self.goal if goal is None else goal,
            rule,  # type: ignore[arg-type]
        )

    def on(self, space: Space, sign: int, controlled: bool = False) -> Parts:
        """Return all parts, bound to a space and a direction.

        Args:
            space: the variables.
            sign: 1 where larger outcomes are better, -1 where smaller ones are.
            controlled: whether control sets split the variables in several ways.
        """
        usual = DEFAULTS[self.goal](space)
        context = self.context or usual.context
        surrogate = self.surrogate if isinstance(self.surrogate, Surrogate) else usual.surrogate
        surrogate = surrogate.over_columns() if controlled else surrogate
        return Parts(
            context=None if not len(space.contexts) or isinstance(context, Ignored) else context.on(space),
            objective=(self.objective or usual.objective).facing(sign),
            acquisition=self.acquisition or usual.acquisition,
            surrogate=surrogate.on(space).facing(sign),
            space=space,
            goal=self.goal,
            simulator=None if self.simulator is None else self.simulator.on(space),
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
    goal: str = EVERY_TRIAL
    """That of the composition."""
    simulator: ContextRule | None = None
    """How the context of a trial is chosen, where it can be."""

    def context_model(self, forecast: ContextModel | None = None) -> ContextModel | None:
        """Return the model of the coming context: the forecast, or where there is none the composition's own."""
        if self.context is None or forecast is None:
            return self.context
        return forecast.on(self.space)

    def reference(
        self, observations: Observations, step: int, generator: Generator, forecast: ContextModel | None = None
    ) -> Reference:
        """Return the context model's reference at this step, on legal contexts only."""
        model = self.context_model(forecast)
        if model is None:
            return Ignored().reference(observations.seen, step, generator)
        points, weights = model.reference(observations.seen, step, generator)
        return Reference(self.space.contexts.snap(points), weights)
