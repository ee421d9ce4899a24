"""A trial: a decision, its context and its outcomes, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from allweather._utils.formatting import row
from allweather.errors import InvalidInput, require, shown
from allweather.space.variables import Value
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.trials.results import Result, Results, decode_results, encode_results, merge_results

Row = Mapping[str, Value]
State = Literal["pending", "complete", "failed", "expired", "withdrawn"]


class Frozen(dict[str, Value]):
    """An immutable row of named values.

    Example:
        >>> Frozen(order=1.0)["order"]
        1.0
    """

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise InvalidInput(
            "a trial is immutable", remedy="report what was really done with `study.tell(trial, decision={...})`"
        )

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> tuple[type[Frozen], tuple[dict[str, Value]]]:
        return Frozen, (dict(self),)


@dataclass(frozen=True)
class Trial:
    """A decision, its context and its outcomes.

    Example:
        >>> trial = Trial(0, {"order": 0.3})
        >>> trial.state, trial.told({"demand": 0.2}, (1.4,)).state
        ('pending', 'complete')
    """

    number: int
    decision: Row
    """The decision to make; or the one that was really made, once told."""
    context: Row | None = None
    """The context that occurred, or was known in advance."""
    values: tuple[float, ...] = ()
    """The outcomes: several where one trial was measured repeatedly."""
    failed: bool = False
    asked: bool = True
    """Whether the study chose the decision; past data were added."""
    left: tuple[str, ...] = ()
    """With control sets: the variables that are not controlled, whose values are told as `context`."""
    cost: float | None = None
    """The cost of the control set, where there are any."""
    expired: bool = False
    """Whether it was given up because its worker is presumed dead; it can still be told."""
    withdrawn: bool = False
    """Whether it is excluded from the model."""
    fitted: Hyperparameters | None = field(default=None, repr=False)
    """The surrogate's hyperparameters when it was asked for: the next fit starts there, also after a crash."""
    revision: int = field(default=0, repr=False)
    """The revision of the history when it was asked for."""
    study: str = field(default="", repr=False, compare=False)
    """The key of the study that returned it: told to another study, it is refused. Not stored."""
    sds: tuple[float | None, ...] = field(default=(), repr=False)
    """The standard errors of the outcomes, one each, None where not known; empty where none is known."""
    occasion: str | None = field(default=None, repr=False)
    """What it shares its context with: all trials of one occasion count once in the context's law."""
    partial: Row | None = field(default=None, repr=False)
    """The part of the context that is known, until all of it is."""
    results: Results | None = None
    """With several outcomes: what is known of each; `values` is empty then."""
    reason: str = field(default="", repr=False)
    """Why it failed, where that was told."""
    run: str = field(default="", repr=False, compare=False)
    """Identifies the call of `Study.optimize` that carries it out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decision", Frozen(self.decision))
        if self.context is not None:
            object.__setattr__(self, "context", Frozen(self.context))
        if self.partial is not None:
            object.__setattr__(self, "partial", Frozen(self.partial))
        object.__setattr__(self, "left", tuple(self.left))

    def to_dict(self) -> dict[str, Any]:
        """The trial as plain data; fields that have their default are left out.

        Example:
            >>> Trial(0, {"order": 0.3}, context={"demand": 0.2}).to_dict()
            {'number': 0, 'decision': {'order': 0.3}, 'context': {'demand': 0.2}}
        """
        data = asdict(replace(self, results=None))
        data["results"] = None if self.results is None else encode_results(self.results)
        told = {name: value for name, value in data.items() if name != "study" and value != _DEFAULTS[name]}
        return {**told, "number": self.number, "decision": dict(self.decision)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        """The trial that `to_dict` wrote.

        Example:
            >>> Trial.from_dict({"number": 0, "decision": {"order": 0.3}}).state
            'pending'
        """
        given = {**data, "values": tuple(data.get("values", ())), "sds": tuple(data.get("sds", ()))}
        if given.get("fitted") is not None:
            given["fitted"] = Hyperparameters.from_dict(given["fitted"])
        if given.get("results") is not None:
            given["results"] = decode_results(given["results"])
        return cls(**given)

    def __str__(self) -> str:
        context = self.context or self.partial
        said = f"; context {row(context)}" if context else ""
        return f"trial {self.number} ({self.state}): {row(self.decision)}{said}{self._told()}"

    def _told(self) -> str:
        """What was told of its outcomes, as text."""
        from allweather.trials.text import outcome  # here, since that module needs this one

        known = self.measured or any(each.failed for each in (self.results or {}).values())
        reason = f"; {self.reason}" if self.failed and self.reason else ""
        return (f"; outcome {outcome(self)}" if known and not self.failed else "") + reason

    @property
    def state(self) -> State:
        """`complete` once context and outcome are known; of several outcomes each, or that it failed."""
        if self.withdrawn:
            return "withdrawn"
        if self.failed:
            return "failed"
        known = self.values if self.results is None else all(each.resolved for each in self.results.values())
        if known and self.context is not None:
            return "complete"
        return "expired" if self.expired else "pending"

    def told(
        self,
        context: Row | None = None,
        values: tuple[float, ...] = (),
        decision: Row | None = None,
        failed: bool = False,
        sds: tuple[float | None, ...] = (),
        occasion: str | None = None,
        partial: Row | None = None,
        results: Results | None = None,
        reason: str = "",
    ) -> Trial:
        """Return this trial with what was told; what was told before stays."""
        where = f"Study.tell(trial={self.number})"
        if self.withdrawn:
            raise InvalidInput("was withdrawn: it takes no more results", where=where)
        correct = f"call `study.correct({self.number}, ...)`"
        if self.failed and values:  # its context, or the same report again, may still come
            raise InvalidInput("has failed: it takes no outcome", where=where, remedy=f"if it has one, {correct}")
        if failed and self.values:
            raise InvalidInput("has an outcome: it cannot be reported as failed", where=where)
        reports: list[tuple[str, Any, Any]] = [("context", context, self.context), ("value", values, self.values)]
        for name, new, old in [*reports, ("sd", sds, self.sds), ("occasion", occasion, self.occasion)]:
            again = new and old and new != old
            once = f"be told once (repeated outcomes together); it was {shown(old)}"
            require(not again, f"{where}: {name}", once, new, f"to change it, {correct}")
        if results and self.results is not None:
            results = merge_results(self.results, results, where)
            failed = all(each.failed for each in results.values())
        return replace(
            self,
            results=results or self.results,
            context=self.context if context is None else dict(context),
            values=values or self.values,
            decision=self.decision if decision is None else dict(decision),
            failed=failed or self.failed,
            sds=sds or self.sds,
            occasion=occasion or self.occasion,
            partial=self._partial(context, partial),
            reason=reason or self.reason,
        )

    def _partial(self, context: Row | None, partial: Row | None) -> Row | None:
        """The known part of the context once more is told; none once all of it is known."""
        if context is not None or self.context is not None:
            return None
        return {**(self.partial or {}), **partial} if partial else self.partial

    @property
    def measured(self) -> int:
        """How many values there are; of several outcomes, of the one that has most."""
        return max((len(each.values) for each in (self.results or {}).values()), default=len(self.values))

    def of_outcome(self, name: str) -> Trial:
        """Return this trial as one of a study with this outcome only."""
        result = Result() if self.results is None else self.results[name]
        failed = self.failed or result.failed
        return replace(self, results=None, values=result.values, sds=result.sds, failed=failed, fitted=result.fitted)

    def noise(self) -> tuple[float, ...]:
        """The standard error of each outcome, NaN where not known."""
        return tuple(math.nan if sd is None else sd for sd in self.sds) or (math.nan,) * len(self.values)


_DEFAULTS = {each.name: each.default for each in fields(Trial)}


def completed(said: Row | None, known: Row | None) -> dict[str, Value] | None:
    """Return what was said about some variables with what was known of the others; None where nothing was said.

    Args:
        said: about some of the variables.
        known: what holds for the others.

    Example:
        >>> completed({"order": 2}, {"order": 1, "wood": "oak"})
        {'order': 2, 'wood': 'oak'}
    """
    return {**(known or {}), **said} if said else None


def plain(row: Any) -> dict[str, Value]:
    """A row of named values as a dictionary of Python's own types.

    Example:
        >>> import numpy as np
        >>> plain({"demand": np.float64(0.5)})
        {'demand': 0.5}
    """
    return {str(name): value.item() if hasattr(value, "item") else value for name, value in dict(row).items()}
