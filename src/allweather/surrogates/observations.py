"""Observations: the frozen table of decisions, contexts and outcomes that surrogates are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from allweather._utils.tensors import as_tensor
from allweather.errors import require


@dataclass(frozen=True, eq=False)
class Observations:
    """Measured outcomes at points of the unit cube; larger is better.

    A trial that was measured several times fills several rows, but its context counts once in `seen`; a trial
    that failed after its context had shown itself counts there too.

    Example:
        >>> table = Observations.of(decisions=[[0.1], [0.4]], contexts=[[0.5], [0.6]], values=[1.0, 2.0])
        >>> len(table), table.joint[0].tolist()
        (2, [0.1, 0.5])
    """

    decisions: Tensor
    """(t, d_x) what was decided, or rather what was carried out."""
    contexts: Tensor
    """(t, d_c) the context of each outcome."""
    values: Tensor
    """(t,) the outcomes."""
    seen: Tensor
    """(m, d_c) one row per context that happened, oldest first."""
    sds: Tensor | None = None
    """(t,) standard errors of the outcomes, NaN where not known; None where none is known."""

    @classmethod
    def of(
        cls, decisions: object, contexts: object, values: object, seen: object = None, sds: object = None
    ) -> Observations:
        """Observations from anything array-like.

        Args:
            decisions: (t, d_x) in the unit cube.
            contexts: (t, d_c) in the unit cube.
            values: (t,) the outcomes, larger being better.
            seen: (m, d_c) the contexts that happened; every row of `contexts` if not given.
            sds: (t,) standard errors of the outcomes, NaN where not known.
        """
        x = as_tensor(decisions, "Observations(decisions=...)")
        c = as_tensor(contexts, "Observations(contexts=...)")
        y = as_tensor(values, "Observations(values=...)")
        happened = c if seen is None else as_tensor(seen, "Observations(seen=...)")
        require(x.ndim == 2 and c.ndim == 2, "Observations(decisions=..., contexts=...)", "be tables", (x, c))
        fits = y.shape == x.shape[:1] == c.shape[:1]
        require(fits, "Observations(values=...)", "be one per decision and context", tuple(y.shape))
        errors = None if sds is None else torch.as_tensor(np.asarray(sds, dtype=np.float64))
        fits = errors is None or (errors.shape == y.shape and not bool((errors < 0).any() | errors.isinf().any()))
        require(fits, "Observations(sds=...)", "be one per outcome, at least 0, or NaN", sds)
        return cls(x, c, y, happened, errors)

    def to(self, device: torch.device | str) -> Observations:
        """The same outcomes on a device; the contexts seen stay, since their law is learned on the CPU."""
        if self.values.device == torch.device(device):
            return self
        errors = None if self.sds is None else self.sds.to(device)
        decisions, contexts, values = (each.to(device) for each in (self.decisions, self.contexts, self.values))
        return Observations(decisions, contexts, values, self.seen, errors)

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, chosen: np.ndarray) -> Observations:
        """Some of the outcomes, by place; the contexts seen stay."""
        places = torch.from_numpy(chosen)
        errors = None if self.sds is None else self.sds[places]
        return Observations(self.decisions[places], self.contexts[places], self.values[places], self.seen, errors)

    def without(self, places: Sequence[int]) -> Observations:
        """All outcomes but some, by place; the contexts seen stay."""
        return self.rows(np.setdiff1d(np.arange(len(self)), np.array(places))) if places else self

    def without_contexts(self) -> Observations:
        """The same outcomes when contexts are taken for noise."""
        nothing = self.contexts[:, :0]
        return Observations(self.decisions, nothing, self.values, self.seen[:, :0], self.sds)

    @property
    def all_known(self) -> bool:
        """Whether the standard error of every outcome is known."""
        return self.sds is not None and not bool(self.sds.isnan().any())

    @property
    def joint(self) -> Tensor:
        """(t, d_x + d_c) decisions and contexts side by side."""
        return torch.cat([self.decisions, self.contexts], dim=1)
