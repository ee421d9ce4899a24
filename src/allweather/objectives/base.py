"""What an objective is: one number per decision, from a function's values over the contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from allweather._utils.registry import Named
from allweather.contexts import Reference, fitted
from allweather.distances import Distance
from allweather.errors import require
from allweather.schedules import Progress, Schedule


@dataclass(frozen=True, eq=False)
class Band:
    """Functions of the context between two bounds; one function alone is a band without spread.

    Example:
        >>> import torch
        >>> Band(mean=torch.tensor([1.0, 2.0]), spread=torch.tensor([0.5, 0.0])).upper
        tensor([1.5000, 2.0000])
    """

    mean: Tensor
    """(..., n) the middle."""
    spread: Tensor | None = None
    """(..., n) how far the bounds are from it: a width times a standard deviation."""
    steepness: Callable[[], Tensor] | None = None
    """The largest norm (...,) of the upper bound's derivative in the context, computed when asked for."""

    @property
    def upper(self) -> Tensor:
        """(..., n) the upper bound."""
        return self.mean if self.spread is None else self.mean + self.spread

    @property
    def lower(self) -> Tensor:
        """(..., n) the lower bound."""
        return self.mean if self.spread is None else self.mean - self.spread


class Objective(Named, ABC):
    """An uncertainty objective: larger is better, whatever the objective."""

    concave: ClassVar[bool] = False
    """Whether it is a concave function of the values, such as a smallest mean over some distributions.

    A concave objective is nowhere above its tangent, so that tangent's posterior bounds the objective's own.
    """

    weighted: ClassVar[bool] = False
    """Whether values count by the weights of their points, and those of points without weight only by a distance."""

    signed: ClassVar[bool] = True
    """Whether it changes sign with the outcomes, as a mean does; a probability does not."""

    @property
    def slow(self) -> bool:
        """Whether it is made of worst cases that take long."""
        distance = getattr(self, "distance", None)
        return isinstance(distance, Distance) and distance.slow

    @property
    def ignores_unlikely(self) -> bool:
        """Whether values at points without weight certainly do not matter, because nature cannot go there."""
        distance = getattr(self, "distance", None)
        return self.weighted and not (isinstance(distance, Distance) and distance.reaches_unlikely)

    @abstractmethod
    def __call__(self, values: Tensor, reference: Reference) -> Tensor:
        """The objective (...,) of `values` (..., n) at the reference's points."""

    def upper(self, band: Band, reference: Reference) -> Tensor:
        """What an optimist maximises: the most the objective can be for a function within the band.

        The value at the upper bound, which is exact for every objective that does not fall when values rise; others
        say what they use instead. It must be finite: an objective that can be -inf ranks those decisions by how far
        they are from a finite one.
        """
        return self(band.upper, reference)

    def tangent(self, values: Tensor, reference: Reference) -> Tensor:
        """The weights (..., n) of the objective's tangent at `values` (..., n), its gradient there.

        For a smallest mean over some distributions this is the worst distribution itself.

        Example:
            >>> from allweather import CVaR
            >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
            >>> CVaR(0.5).tangent(torch.tensor([1.0, 3.0], dtype=torch.float64), reference).tolist()
            [1.0, 0.0]
        """
        with torch.enable_grad():
            moved = values.detach().requires_grad_()
            (weights,) = torch.autograd.grad(self(moved, reference).sum(), moved)
        return weights

    def with_tangent(self, values: Tensor, reference: Reference) -> tuple[Tensor, Tensor]:
        """The objective (...,) of `values` (..., n), differentiable, and the weights of its tangent."""
        return self(values, reference), self.tangent(values.detach(), reference)

    def under(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """The objective (k, b) of k functions of b decisions, each under a law of its own, without gradient.

        Args:
            values: (k, b, n) at the contexts.
            points: (n, d_c) the contexts.
            laws: (l, n) distributions; function i has law `i % l`.
        """
        found = values.new_empty(values.shape[:2])
        for place, law in enumerate(laws):
            found[place :: len(laws)] = self(values[place :: len(laws)], Reference(points, law))
        return found

    def ceiling(self, reference: Reference) -> Callable[[Band], Tensor] | None:
        """A function that is never below `upper`, if there is one that is much cheaper: few decisions pass it."""
        return None

    @property
    def mean_factor(self) -> float | None:
        """A factor that makes the mean of the upper bound under the reference at least `upper`, if there is one."""
        return None

    def facing(self, sign: int) -> Self:
        """This objective for values times `sign`: -1 where the user minimises, and means targets the other way."""
        return self

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
