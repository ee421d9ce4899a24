"""A finite set of contexts with given probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Generator, Tensor

from allweather._utils.tensors import as_tensor
from allweather.contexts.base import ContextModel, Reference
from allweather.errors import InvalidInput, require
from allweather.space import Box


@dataclass(frozen=True, eq=False)
class Finite(ContextModel):
    """Contexts that can happen, and how likely each is; a weight of zero marks where only an adversary would go.

    Points are rows in the user's units: an array with one column per context variable, a list of `{"name": value}`, or
    for a single variable its values, also those of a choice: `Finite(["A", "B"], [0.3, 0.7])`. Without a space (`on`
    was not called) they are rows of the unit cube.

    Example:
        >>> Finite([[0.0], [1.0]], [0.25, 0.75]).reference(torch.empty(0, 1), 1, torch.Generator()).points
        tensor([[0.],
                [1.]], dtype=torch.float64)
    """

    points: Any
    weights: Any = None
    """Probabilities that sum to 1; equal ones if not given."""
    _encoded: Reference | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if hasattr(self.points, "to_dict"):  # a pandas DataFrame: its columns are names
            object.__setattr__(self, "points", self.points.to_dict("records"))
        sized = hasattr(self.points, "__len__") and len(self.points) > 0
        require(sized, "Finite(points=...)", "have at least one point", self.points)
        if _listed(self.points):
            rows = [
                tuple(row) if isinstance(row, Sequence) and not isinstance(row, str) else (row,) for row in self.points
            ]
            object.__setattr__(self, "points", rows)
        elif not _named(self.points):
            points = as_tensor(self.points, "Finite(points=...)").detach().clone()
            object.__setattr__(self, "points", points)
            self._checked(points)

    def _on(self, box: Box) -> Self:
        """The same contexts as points of the unit cube of `box`."""
        if _named(self.points):
            return replace(self, _encoded=self._checked(box.encode(list(self.points))))
        points = self.points
        if _listed(points):
            wide, size = all(len(row) == len(box) for row in points), tuple(len(row) for row in points)
        else:
            wide, size = points.ndim == 2 and points.shape[1] == len(box), tuple(points.shape)
        require(wide, "Finite(points=...)", f"have one column for each of the contexts {', '.join(box)}", size)
        rows = [dict(zip(box, row, strict=True)) for row in (points if _listed(points) else points.tolist())]
        return replace(self, _encoded=self._checked(box.encode(rows)))

    def among(self, names: Sequence[str], everything: Sequence[str]) -> Finite:
        """These columns of the points."""
        if _named(self.points):
            missing = [name for name in names if any(name not in row for row in self.points)]
            require(not missing, "Finite(points=...)", f"have a column {', '.join(map(repr, missing))}", self.points[0])
            return replace(self, points=[{name: row[name] for name in names} for row in self.points])
        places = [list(everything).index(name) for name in names]
        if _listed(self.points):
            fits = all(len(row) == len(everything) for row in self.points)
            require(fits, "Finite(points=...)", f"have one value for each of {', '.join(everything)}", self.points[0])
            return replace(self, points=[tuple(row[place] for place in places) for row in self.points])
        fits = self.points.ndim == 2 and self.points.shape[1] == len(everything)
        requirement = f"have one column for each of {', '.join(everything)}"
        require(fits, "Finite(points=...)", requirement, tuple(self.points.shape))
        return replace(self, points=self.points[:, places])

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The given points and weights, whatever was seen."""
        if self._encoded is not None:
            return self._encoded
        if _named(self.points) or _listed(self.points):
            raise InvalidInput(
                "`Finite(points=...)` has named contexts: give it the space first, `.on(space.contexts)`"
            )
        inside = bool(((self.points >= 0) & (self.points <= 1)).all())
        require(inside, "Finite(points=...)", "lie in the unit cube, or be given their space with `.on`", self.points)
        return self._checked(self.points)

    def _checked(self, points: Any) -> Reference:
        n = len(points)
        weights = torch.full((n,), 1 / n, dtype=torch.float64) if self.weights is None else self.weights
        return Reference.checked(points, weights, "Finite")


def _listed(points: Any) -> bool:
    """Whether points are given by position and have options of choices among them."""
    if not isinstance(points, Sequence) or isinstance(points[0], Mapping):
        return False
    cells = [
        cell for row in points for cell in (row if isinstance(row, Sequence) and not isinstance(row, str) else [row])
    ]
    return any(isinstance(cell, str | bool) for cell in cells)


def _named(points: Any) -> bool:
    return isinstance(points, Sequence) and isinstance(points[0], Mapping)
