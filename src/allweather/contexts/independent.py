"""A context model for each variable, independent of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference, sobol
from allweather.contexts.known import Known
from allweather.errors import require
from allweather.space import Box

MAX_JOINT_POINTS = 1024
"""Points of the joint reference; where fewer combinations exist, all of them."""


@dataclass(frozen=True, eq=False, init=False)
class Independent(ContextModel):
    """Variables with a law of their own each: known shares of a material beside a learned temperature.

    Example:
        >>> from allweather import KDE, Choice, Context, Finite, Space
        >>> space = Space(lot=Context(Choice("A", "B")), ambient=Context(0, 40))
        >>> model = Independent(lot=Finite(["A", "B"], [0.25, 0.75]), ambient=KDE()).on(space)
        >>> seen = space.contexts.encode([{"lot": "A", "ambient": 18}, {"lot": "A", "ambient": 22}])
        >>> points, weights = model.reference(seen, 2, torch.Generator().manual_seed(0))
        >>> round(float(weights @ points[:, 1]), 2)  # the share of B, though only A was seen
        0.75
    """

    models: Mapping[str, ContextModel]
    """By variable."""
    box: Box | None = field(default=None, repr=False)

    @property
    def independent(self) -> bool:
        """By definition."""
        return True

    def __init__(self, **models: ContextModel) -> None:
        require(len(models) > 0, "Independent(...)", "have a model for each context variable", models)
        for name, model in models.items():
            fits = isinstance(model, ContextModel) and not isinstance(model, Independent)
            require(fits, f"Independent({name}=...)", "be a context model such as KDE()", model)
        named = {name: _named(name, model) for name, model in models.items()}
        object.__setattr__(self, "models", named)
        object.__setattr__(self, "box", None)

    def _on(self, box: Box) -> Self:
        missing, strange = [n for n in box if n not in self.models], [n for n in self.models if n not in box]
        require(not (missing or strange), "Independent(...)", f"have models of exactly {list(box)}", list(self.models))
        placed = Independent(**{name: self.models[name].on(Box("context", ((name, box[name]),))) for name in box})
        object.__setattr__(placed, "box", box)
        return placed  # type: ignore[return-value]

    def among(self, names: Sequence[str], everything: Sequence[str]) -> ContextModel:
        """The models of these variables."""
        missing = [name for name in names if name not in self.models]
        require(not missing, "Independent(...)", f"have a model for {', '.join(missing)}", list(self.models))
        return Independent(**{name: self.models[name] for name in names})

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """All combinations of the variables' points, or as many as there may be, spread evenly by weight."""
        parts = [model.reference(columns, step, generator) for model, columns in self.split(contexts)]
        sizes = [len(part.points) for part in parts]
        if torch.tensor(sizes).prod() <= MAX_JOINT_POINTS:
            rows = torch.cartesian_prod(*[torch.arange(size) for size in sizes]).reshape(-1, len(parts))
            chosen = [part.weights[rows[:, place]] for place, part in enumerate(parts)]
            weights = torch.stack(chosen).prod(0)
        else:
            uniform = sobol(MAX_JOINT_POINTS, len(parts), generator)
            columns = [_quantiles(part.weights, uniform[:, place]) for place, part in enumerate(parts)]
            rows = torch.stack(columns, 1)
            weights = torch.full((MAX_JOINT_POINTS,), 1 / MAX_JOINT_POINTS, dtype=torch.float64)
        points = torch.cat([part.points[rows[:, place]] for place, part in enumerate(parts)], 1)
        return Reference(points, weights)

    def resample(self, contexts: Tensor, reference: Reference, count: int, generator: Generator) -> Tensor:
        """The variables' own draws together: each changes the weight of a point by its own ratio."""
        weights, points = reference.weights, [columns for _, columns in self.split(reference.points)]
        total = weights.expand(count, -1)
        for (model, columns), own in zip(self.split(contexts), points, strict=True):
            drawn = model.resample(columns, Reference(own, weights), count, generator)
            total = total * torch.where(weights > 0, drawn / weights.clamp_min(1e-300), 1.0)
        return total / total.sum(-1, keepdim=True).clamp_min(1e-300)

    def split(self, contexts: Tensor) -> list[tuple[ContextModel, Tensor]]:
        """The model of each variable, and its columns (t, d) without rows that are not known."""
        names = list(self.models)
        sizes = [1] * len(names) if self.box is None else [self.box[name].columns for name in names]
        require(sum(sizes) == contexts.shape[1], "Independent(...)", "have its space: call `.on(space)`", names)
        columns = [part[~part.isnan().any(1)] for part in contexts.split(sizes, 1)]  # where a variable was chosen
        return list(zip(self.models.values(), columns, strict=True))


def _named(name: str, model: ContextModel) -> ContextModel:
    """A known law with the name of its variable."""
    if isinstance(model, Known) and not isinstance(model.law, Mapping) and not callable(model.law):
        return replace(model, law={name: model.law[0] if isinstance(model.law, Sequence) else model.law})
    return model


def _quantiles(weights: Tensor, uniform: Tensor) -> Tensor:
    return torch.searchsorted(weights.cumsum(0), uniform.contiguous()).clamp_max(len(weights) - 1)
