"""What an objective is: one number per decision, from a function's values over the contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from torch import Tensor

from allweather.contexts import Reference, fitted
from allweather.distances import Distance
from allweather.errors import require
from allweather.registry import Named
from allweather.schedules import Progress, Schedule


class Objective(Named, ABC):
    """An uncertainty objective: larger is better, whatever the objective."""

    @abstractmethod
    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The objective (...,) of `values` (..., n) at the reference's points."""

    def at(self, progress: Progress) -> Self:
        """This objective with every schedule in it, its distance's radius too, turned into a number for now."""
        if not is_dataclass(self):
            return self
        current: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        changed: dict[str, Any] = {}
        for name, value in current.items():
            if isinstance(value, Distance):
                changed[name] = value.at(progress)
            elif isinstance(value, Schedule):
                changed[name] = value(progress)
        return replace(self, **changed) if changed else self


def checked(objective: Objective, values: Tensor, reference: Reference) -> tuple[Tensor, Reference]:
    """Values (..., n) and reference, refused by name where they do not fit together."""
    return fitted(values, reference, type(objective).__name__)


def require_distance(objective: Objective, distance: Distance) -> None:
    """Refuse what is no distance."""
    where = f"{type(objective).__name__}(distance=...)"
    require(isinstance(distance, Distance), where, "be a distance such as TotalVariation(0.2)", distance)
