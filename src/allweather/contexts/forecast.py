"""A distribution that is given anew for each step: a weather forecast, a price quote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference
from allweather.errors import InvalidInput, require
from allweather.space import Box


@dataclass(frozen=True, eq=False)
class Forecast(ContextModel):
    """The context distribution is told before each decision, with `given`, or by a function of the step.

    Example:
        >>> import torch
        >>> from allweather import Finite
        >>> today = Forecast().given(Finite([[0.3], [0.4]]))
        >>> today.reference(torch.empty(0, 1), 1, torch.Generator()).weights
        tensor([0.5000, 0.5000], dtype=torch.float64)
    """

    by_step: Callable[[int], ContextModel] | None = None
    """Called with the step where no distribution was given by hand."""
    distribution: ContextModel | None = None
    box: Box | None = None
    part: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The variables it is asked about, among those it speaks about."""

    def __post_init__(self) -> None:
        fits = self.by_step is None or callable(self.by_step)
        require(fits, "Forecast(by_step=...)", "be a function of the step", self.by_step)

    def given(self, distribution: ContextModel) -> Self:
        """This forecast with the distribution for the coming step."""
        require(isinstance(distribution, ContextModel), "Forecast.given(...)", "be a context model", distribution)
        return replace(self, distribution=distribution)

    def _on(self, box: Box) -> Self:
        """The same forecast; what is given speaks the units of `box`."""
        return replace(self, box=box)

    def among(self, names: Sequence[str], everything: Sequence[str]) -> Forecast:
        """What is given speaks about everything; these variables of it."""
        return replace(self, part=(tuple(names), tuple(everything)))

    @property
    def independent(self) -> bool:
        """Whether the distribution given has independent variables."""
        return self.distribution is not None and self.distribution.independent

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The reference of the distribution given for this step."""
        return self._given_at(step).reference(contexts, step, generator)

    def resample(self, contexts: Tensor, reference: Reference, count: int, generator: Generator) -> Tensor:
        """Draws of the distribution given: the same for all, unless it is learned from the contexts seen."""
        return self._given_at(max(len(contexts), 1)).resample(contexts, reference, count, generator)

    def _given_at(self, step: int) -> ContextModel:
        distribution = self.distribution
        if distribution is None and self.by_step is not None:
            distribution = self.by_step(step)
            fits = isinstance(distribution, ContextModel)
            require(fits, f"Forecast(by_step=...)({step})", "return a context model", distribution)
        if distribution is None:
            raise InvalidInput(f"`Forecast` has no distribution for step {step}: call `.given(distribution)` first")
        if self.part is not None:
            distribution = distribution.among(*self.part)
        if self.box is not None:
            distribution = distribution.on(self.box)
        return distribution
