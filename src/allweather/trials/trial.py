"""A trial: a decision, its context and its outcomes, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from allweather.errors import InvalidInput, is_number, require, shown
from allweather.space.variables import Value
from allweather.surrogates.hyperparameters import Hyperparameters

Row = Mapping[str, Value]
TEXT = (str, bytes, bytearray, memoryview)
LARGEST = 1e150
"""The largest outcome whose square is finite."""
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
        data = asdict(self)
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
        return cls(**given)

    @property
    def state(self) -> State:
        """`complete` once context and outcome are known."""
        if self.withdrawn:
            return "withdrawn"
        if self.failed:
            return "failed"
        if self.values and self.context is not None:
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
        return replace(
            self,
            context=self.context if context is None else dict(context),
            values=values or self.values,
            decision=self.decision if decision is None else dict(decision),
            failed=failed or self.failed,
            sds=sds or self.sds,
            occasion=occasion or self.occasion,
            partial=self._partial(context, partial),
        )

    def _partial(self, context: Row | None, partial: Row | None) -> Row | None:
        """The known part of the context once more is told; none once all of it is known."""
        if context is not None or self.context is not None:
            return None
        return {**(self.partial or {}), **partial} if partial else self.partial

    def noise(self) -> tuple[float, ...]:
        """The standard error of each outcome, NaN where not known."""
        return tuple(math.nan if sd is None else sd for sd in self.sds) or (math.nan,) * len(self.values)


_DEFAULTS = {each.name: each.default for each in fields(Trial)}


def plain(row: Any) -> dict[str, Value]:
    """A row of named values as a dictionary of Python's own types.

    Example:
        >>> import numpy as np
        >>> plain({"demand": np.float64(0.5)})
        {'demand': 0.5}
    """
    return {str(name): value.item() if hasattr(value, "item") else value for name, value in dict(row).items()}


def outcomes(value: Any, where: str = "Study.tell(value=...)") -> tuple[float, ...]:
    """Return one outcome or several as floats; refuse what is not a finite number.

    Example:
        >>> outcomes(3), outcomes([1.0, 2.0])
        ((3.0,), (1.0, 2.0))
    """
    several = value.tolist() if hasattr(value, "tolist") else value
    listed = list(several) if isinstance(several, Sequence) and not isinstance(several, TEXT) else [several]
    require(len(listed) > 0, where, "be a number or several", value)
    for each in listed:
        require(is_number(each), where, "be a number", each)
        fits = -LARGEST <= each <= LARGEST
        require(fits, where, "be finite, below 1e150", each, "report a trial without outcome with `failed=True`")
    return tuple(float(each) for each in listed)
