"""What is known before a decision, and the decision that follows: a situation, and a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from allweather.contexts import ContextModel
from allweather.errors import require
from allweather.space import Space
from allweather.space.variables import Value
from allweather.surrogates import Hyperparameters
from allweather.trials import Row, Trial
from allweather.trials.history import History
from allweather.trials.results import Result


class Situation(NamedTuple):
    """What is known about the coming context beyond the context model."""

    context: Tensor | None = None
    """(1, d_c) the context itself."""
    forecast: ContextModel | None = None
    """Its distribution for this decision."""
    known: Tensor | None = None
    """(d_c,) the part of the context that is known, NaN elsewhere."""

    @classmethod
    def of(
        cls, space: Space, context: Row | None, forecast: ContextModel | None, where: str, controlled: bool = False
    ) -> Situation:
        """Check a context or a forecast that the user gave; with control sets neither is allowed."""
        given = next((each for each in (context, forecast) if each is not None), None)
        fits = given is None or not controlled
        require(fits, f"{where}(context=..., forecast=...)", "not be given with control sets", given)
        given_names = list(context) if isinstance(context, Mapping) else []
        some = bool(given_names) and any(name not in given_names for name in space.contexts)
        partly = some and all(name in space.contexts for name in given_names)
        both = context is not None and forecast is not None and not partly
        require(not both, f"{where}(context=..., forecast=...)", "not both be given", (context, forecast))
        fits = forecast is None or isinstance(forecast, ContextModel)
        require(fits, f"{where}(forecast=...)", "be a context model such as Finite(...)", forecast)
        if context is not None and partly:
            return cls(None, forecast, space.contexts.encode_partly(context))
        return cls(None if context is None else space.contexts.encode(context), forecast)


class Plan(NamedTuple):
    """The next decision, in the user's units."""

    decision: dict[str, Value]
    fitted: Hyperparameters | None = None
    """The hyperparameters of the surrogate, where it was used."""
    left: tuple[str, ...] = ()
    """Variables that are not controlled."""
    cost: float | None = None
    context: dict[str, Value] | None = None
    """The context, where it is chosen too."""
    fits: Mapping[str, Hyperparameters | None] | None = None
    """With several outcomes: the hyperparameters of each surrogate."""

    @classmethod
    def of(cls, space: Space, decision: Tensor, fitted: Hyperparameters | None = None) -> Plan:
        """Return the plan of a decision (d_x,) of the unit cube."""
        return cls(space.decisions.decode(decision[None])[0], fitted)

    def within(self, space: Space, context: Tensor, chosen: Sequence[str]) -> Plan:
        """Return the plan with the variables `chosen` of a context (d_c,) of the unit cube, too."""
        whole = space.contexts.decode(context[None])[0]
        return self._replace(context={name: whole[name] for name in space.contexts if name in chosen})

    def trial(self, history: History, context: Row | None = None, occasion: str | None = None) -> Trial:
        """Return the next trial of a history: this plan, with what is known of the context, and its occasion."""
        if self.context is not None:  # what is known is not chosen
            context = {**self.context, **(context or {})}
        partly = context is not None and any(name not in context for name in self.left or history.space.contexts)
        return Trial(
            number=len(history.trials),
            decision=self.decision,
            context=None if partly else context,
            fitted=self.fitted,
            revision=history.revision,
            left=self.left,
            cost=self.cost,
            occasion=occasion,
            partial=context if partly else None,
            results=None if self.fits is None else {name: Result(fitted=each) for name, each in self.fits.items()},
        )
