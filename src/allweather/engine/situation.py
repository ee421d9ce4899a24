"""What is known before a decision, and the decision that follows: a situation, and a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from torch import Tensor

from allweather.contexts import ContextModel
from allweather.errors import InvalidInput, require
from allweather.space import Box, Space
from allweather.space.variables import Value
from allweather.surrogates import Hyperparameters
from allweather.trials import Row, Trial, plain
from allweather.trials.history import History
from allweather.trials.results import Result


class Known(NamedTuple):
    """What is known about the coming values of the variables that a control set leaves."""

    context: Tensor | None = None
    """(1, d_c) all of them."""
    partly: Tensor | None = None
    """(d_c,) some of them, NaN elsewhere."""
    forecast: ContextModel | None = None
    """Their distribution for this decision."""


@dataclass(frozen=True, eq=False)
class Situation:
    """What a user knows about the coming context beyond the context model."""

    context: Row | None = None
    """Values of some or all of the context variables, or of those that a control set leaves."""
    forecast: ContextModel | None = None
    """The distribution for this decision."""

    @classmethod
    def of(
        cls,
        space: Space,
        context: Row | None,
        forecast: ContextModel | None,
        where: str,
        left: Sequence[Sequence[str]] | None = None,
    ) -> Situation:
        """Check a context or a forecast that the user gave.

        Args:
            space: the variables.
            context: values of context variables.
            forecast: a context model for this decision.
            where: what errors call it, such as `Study.ask`.
            left: the variables that each control set leaves; None without control sets.
        """
        if context is None and forecast is None:
            return cls()
        fits = forecast is None or isinstance(forecast, ContextModel)
        require(fits, f"{where}(forecast=...)", "be a context model such as Finite(...)", forecast)
        groups = [list(space.contexts)] if left is None else [list(each) for each in left]
        box = space.controlling([name for name in space.variables if not any(name in each for each in groups)]).contexts
        if context is not None:
            if hasattr(context, "to_dict"):  # a row of a DataFrame
                context = context.to_dict()
            given = list(context) if isinstance(context, Mapping) else []
            partly = bool(given) and all(name in box for name in given)
            context = plain(context) if partly else context
            _ = box.encode_partly(context) if partly else box.encode(context)
            said = forecast is None or any(any(name not in given for name in group) for group in groups)
            require(said, f"{where}(context=..., forecast=...)", "not both be given", (context, forecast))
            context = dict(context)
        return cls(context, forecast)

    @property
    def empty(self) -> bool:
        """Whether nothing is known."""
        return self.context is None and self.forecast is None

    def under(self, box: Box, everything: Sequence[str] = ()) -> Known:
        """Return what is known about the variables of a box.

        Args:
            box: the variables that a control set leaves.
            everything: all variables, which a forecast is about where there are control sets.
        """
        forecast = self.forecast
        if forecast is not None and everything and len(box):
            try:
                forecast = forecast.among(list(box), list(everything))
            except InvalidInput as trouble:
                raise trouble.within(f"the control set that leaves {', '.join(box)}") from None
        row = {name: value for name, value in (self.context or {}).items() if name in box}
        if not row and (len(box) or self.context is None):
            return Known(forecast=forecast)
        if len(row) == len(box):
            return Known(context=box.encode(row), forecast=forecast)
        return Known(partly=box.encode_partly(row), forecast=forecast)


@dataclass(frozen=True, eq=False)
class Plan:
    """The next decision, in the user's units."""

    decision: dict[str, Value]
    fits: Mapping[str, Hyperparameters | None] = field(default_factory=dict)
    """The hyperparameters of each outcome's surrogate, where it was used."""
    left: tuple[str, ...] = ()
    """With control sets: the variables that are not controlled."""
    cost: float | None = None
    """With control sets: what deciding costs."""
    context: dict[str, Value] | None = None
    """The context, where it is chosen too."""

    def within(self, space: Space, context: Tensor, chosen: Sequence[str]) -> Plan:
        """Return the plan with the variables `chosen` of a context (d_c,) of the unit cube, too."""
        whole = space.contexts.decode(context[None])[0]
        return replace(self, context={name: whole[name] for name in space.contexts if name in chosen})

    def trial(self, history: History, context: Row | None = None, occasion: str | None = None) -> Trial:
        """Return the next trial of a history: this plan, with what is known of the context, and its occasion."""
        names = self.left or tuple(name for name in history.space.contexts if name not in self.decision)
        known = None if context is None else {name: value for name, value in context.items() if name in names}
        if context and not known:
            known = None
        if self.context is not None:  # what is known is not chosen
            known = {**self.context, **(known or {})}
        partly = known is not None and any(name not in known for name in names)
        several = bool(history.outcome_names)
        return Trial(
            number=len(history.trials),
            decision=self.decision,
            context=None if partly else known,
            fitted=None if several else next(iter(self.fits.values()), None),
            revision=history.revision,
            left=self.left,
            cost=self.cost,
            occasion=occasion,
            partial=known if partly else None,
            results={name: Result(fitted=each) for name, each in self.fits.items()} if several else None,
        )
