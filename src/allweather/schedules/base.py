"""What a schedule is, and the plain ones: constants, power laws, functions of the step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from allweather._utils.registry import Named
from allweather.errors import is_number, require, require_count, require_number


@dataclass(frozen=True)
class Progress:
    """The progress of a study, on which schedules depend.

    Example:
        >>> PowerLaw(0.3, 0.5)(Progress(step=9))
        0.09999999999999999
    """

    step: int
    """Observations so far, initial ones included; at least 1."""
    decision_dim: int = 1
    context_dim: int = 1
    information_gain: float | None = None
    """0.5 * log det(I + K / noise variance) of the data under the current surrogate."""
    contexts: int | None = None
    """Number of points the reference distribution lives on."""
    context_kernel: Callable[[Any, Any], Any] | None = field(default=None, repr=False, compare=False)
    """The fitted kernel of the surrogate as a function of two sets of contexts, (n, d_c) and (m, d_c) to (n, m)."""

    def __post_init__(self) -> None:
        for name in ("step", "decision_dim", "context_dim"):
            require_count(getattr(self, name), f"Progress({name}=...)", low=1)
        if self.information_gain is not None:
            require_number(self.information_gain, "Progress(information_gain=...)", low=0)


class Schedule(Named, ABC):
    """A number for every step of a study."""

    @abstractmethod
    def __call__(self, progress: Progress) -> float:
        """The number to use now."""


def as_schedule(value: float | Schedule | Callable[[int], float], where: str) -> Schedule:
    """A number, a schedule, or a function of the step alone, as a schedule.

    Example:
        >>> as_schedule(lambda t: 1 / t, "UCB(width=...)")(Progress(step=4))
        0.25
    """
    if isinstance(value, Schedule):
        return value
    if callable(value):
        return Custom(value)
    require_number(value, where)
    return Constant(float(value))


@dataclass(frozen=True)
class Constant(Schedule):
    """The same number at every step."""

    value: float

    def __post_init__(self) -> None:
        require_number(self.value, "Constant(value=...)")

    def __call__(self, progress: Progress) -> float:
        """The constant."""
        return self.value


@dataclass(frozen=True)
class PowerLaw(Schedule):
    """`scale * t**-exponent`."""

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        require_number(self.scale, "PowerLaw(scale=...)")
        require_number(self.exponent, "PowerLaw(exponent=...)")

    def __call__(self, progress: Progress) -> float:
        """The power law at this step."""
        power = -self.exponent * math.log(progress.step)
        require(power < 700, f"PowerLaw(exponent={self.exponent:g})", "stay finite", f"t**{-self.exponent:g}")
        return self.scale * math.exp(power)


@dataclass(frozen=True)
class Custom(Schedule):
    """Any function of the step."""

    function: Callable[[int], float]

    def __call__(self, progress: Progress) -> float:
        """The function's number, checked."""
        value = self.function(progress.step)
        require_number(value, f"Custom(function=...)({progress.step})")
        return float(value)


def require_failure(schedule: Schedule) -> None:
    """Refuse a failure probability that is none."""
    failure = schedule.failure  # type: ignore[attr-defined]
    where = f"{type(schedule).__name__}(failure=...)"
    require(is_number(failure) and 0 < failure < 1, where, "be a probability between 0 and 1", failure)
