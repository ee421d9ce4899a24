"""How much of the prior variance the data explain, kept for decisions that are asked about again and again.

While hyperparameters stay as they are, a further outcome adds a row to the inverse of the Cholesky factor and changes
the others by the unit of the outcomes only. What it explains at b decisions and n contexts then costs O(b t n), where
all outcomes together cost O(b t^2 n).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import torch
from torch import Tensor

MAX_REMEMBERED_NUMBERS = 2**23
"""Of each table (64 MiB)."""
MAX_SEEN_DECISIONS = 2**14
"""How many decisions are known to have been asked about once."""


class Table:
    """The explained shares of the prior variance at decisions and a set of contexts."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._shares: Tensor | None = None
        """(m, n) of the decisions that are kept."""
        self._counts = np.zeros(0, dtype=np.int64)
        """(m,) how many outcomes the shares are of."""
        self._seen: set[bytes] = set()
        """Decisions that were asked about once: few of those of a search are asked about twice."""

    def shares(
        self,
        decisions: Tensor,
        outcomes: int,
        computed: Callable[[Tensor], Tensor],
        added: Callable[[Tensor, int], Tensor],
    ) -> Tensor:
        """The shares (b, n) that outcomes explain.

        Args:
            decisions: (b, d_x).
            outcomes: how many there are.
            computed: the shares of all outcomes, of some rows of the decisions.
            added: the shares of the outcomes from some number on, of some rows of the decisions.
        """
        keys = [row.tobytes() for row in decisions.detach().numpy()]
        places = np.array([self._places.get(key, -1) for key in keys], dtype=np.int64)
        known = places >= 0
        if known.any():
            self._extend(places, known, outcomes, added)
        if known.any() and known.all():
            assert self._shares is not None
            return self._shares[torch.from_numpy(places)]
        fresh = torch.from_numpy(np.flatnonzero(~known))
        new = computed(fresh)
        found = new.new_empty(len(keys), new.shape[1])
        found[fresh] = new
        if known.any():
            assert self._shares is not None
            old = torch.from_numpy(np.flatnonzero(known))
            found[old] = self._shares[torch.from_numpy(places[known])]
        self._keep([keys[row] for row in fresh.tolist()], new, outcomes)
        return found

    def _extend(
        self, places: np.ndarray, known: np.ndarray, outcomes: int, added: Callable[[Tensor, int], Tensor]
    ) -> None:
        """Add what outcomes explain that came after the last time."""
        assert self._shares is not None
        counts = np.where(known, self._counts[places], outcomes)
        for since in np.unique(counts[counts < outcomes]):
            rows = np.flatnonzero(counts == since)
            self._shares[torch.from_numpy(places[rows])] += added(torch.from_numpy(rows), int(since))
            self._counts[places[rows]] = outcomes

    def _keep(self, keys: list[bytes], shares: Tensor, outcomes: int) -> None:
        again = {key: row for row, key in enumerate(keys) if key in self._seen}
        if len(self._seen) + len(keys) > MAX_SEEN_DECISIONS:
            self._seen.clear()
        self._seen.update(keys)
        if not again or (len(self._places) + len(again)) * shares.shape[1] > MAX_REMEMBERED_NUMBERS:
            return
        first = len(self._places)
        self._places |= {key: first + number for number, key in enumerate(again)}
        kept = shares[list(again.values())]
        self._shares = kept if self._shares is None else torch.cat([self._shares, kept])
        self._counts = np.concatenate([self._counts, np.full(len(again), outcomes)])


class Explanations:
    """Tables by split of the columns and set of contexts; they are of outcomes that are only ever added to."""

    def __init__(self) -> None:
        self._tables: dict[Hashable, Table] = {}

    def of(self, key: Hashable) -> Table:
        """The table of a split and its contexts.

        Args:
            key: what identifies them.
        """
        return self._tables.setdefault(key, Table())
