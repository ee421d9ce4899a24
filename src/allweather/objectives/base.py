"""What an objective is: one number per decision, from a function's values over the contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from torch import Tensor

from allweather.contexts import Reference
from allweather.distances import Distance
from allweather.errors import require
from allweather.registry import Named
from allweather.schedules import Progress, Schedule
from allweather.tensors import as_tensor, as_weights


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


def checked(objective: Objective, values: Tensor, reference: Reference) -> tuple[Tensor, Tensor]:
    """Values (..., n) and weights (n,), refused by name where they do not fit together."""
    where = type(objective).__name__
    values = as_tensor(values, f"{where}(values)")
    n = reference.points.shape[0]
    require(
        values.ndim >= 1 and values.shape[-1] == n,
        f"{where}(values)",
        f"have {n} as its last dimension, one value per point of the reference",
        tuple(values.shape),
    )
    return values, as_weights(reference.weights, n, f"{where}(reference.weights)")
