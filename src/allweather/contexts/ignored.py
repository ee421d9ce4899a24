"""A context model that ignores the context."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference


@dataclass(frozen=True)
class Ignored(ContextModel):
    """Treat the effect of contexts as noise: the surrogate has decisions only, as in plain GP-UCB.

    Example:
        >>> Ignored().reference(torch.empty(3, 2), 3, torch.Generator()).points.shape
        torch.Size([1, 0])
    """

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """One point without coordinates."""
        return Reference(torch.zeros(1, 0, dtype=torch.float64), torch.ones(1, dtype=torch.float64))
