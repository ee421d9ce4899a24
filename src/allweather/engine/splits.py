"""Splits: the variables of a study as decisions and contexts, which differ between control sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from allweather.errors import InvalidInput
from allweather.methods.control import ControlSet
from allweather.space import Box, Space
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Context, Integer, Value
from allweather.surrogates import Posterior
from allweather.surrogates.observations import Observations
from allweather.trials.history import History
from allweather.trials.occasions import contexts_of_occasions

ENOUGH = 5
"""Number of joint observations from which the joint law of contexts is learned."""
SPREAD = 64
"""Points of a variable that was always controlled."""


@dataclass(frozen=True, eq=False)
class Split:
    """The variables under one control set."""

    control: ControlSet
    space: Space
    """Its variables as decisions, all others as contexts."""
    order: tuple[int, ...]
    """For each column of the split, its index among the columns of all variables."""

    @classmethod
    def of(cls, control: ControlSet, space: Space) -> Split:
        """The split of a space's variables."""
        split = space.controlling(control.variables)
        columns, start = {}, 0
        for name, variable in space.variables.items():
            columns[name] = range(start, start + variable.columns)
            start += variable.columns
        order = [column for name in (*split.decisions, *split.contexts) for column in columns[name]]
        return cls(control, split, tuple(order))

    def apply(self, history: History, posterior: Posterior) -> tuple[SplitHistory, Posterior]:
        """Return a history and a posterior of all variables as they look under this split."""
        arranged = posterior.arranged(self.order, self.space.decisions.columns)
        return SplitHistory.under(self, history), arranged

    @property
    def left(self) -> tuple[str, ...]:
        """The variables that are not controlled."""
        return tuple(self.space.contexts)


@dataclass(frozen=True, eq=False)
class SplitHistory(History):
    """The trials of a study, as they look under one control set."""

    split: Split | None = None
    outcomes: Observations | None = field(default=None, repr=False)
    """The outcomes with all variables as decisions."""

    @classmethod
    def under(cls, split: Split, history: History) -> SplitHistory:
        """Return a history of all variables under a split."""
        return cls(
            split.space,
            history.sign,
            history.trials,
            history.revision,
            past=history.past,
            changes=history.changes,
            observed=history.observed,
            split=split,
            outcomes=history.observations,
        )

    @cached_property
    def observations(self) -> Observations:
        """The outcomes, and the contexts from which their law is learned."""
        assert self.split is not None
        assert self.outcomes is not None
        points, d = self.outcomes.joint[:, list(self.split.order)], self.space.decisions.columns
        seen = left_alone(self.happened, self.space.contexts)
        return Observations(points[:, :d], points[:, d:], self.outcomes.values, seen, self.outcomes.sds)

    def natural_contexts(self, chosen: Sequence[str]) -> Tensor:
        """Return contexts (m, d_c) that occurred, without values that were chosen; none where a variable has none.

        Args:
            chosen: names of the variables whose values in trials were chosen.
        """
        told = self._allowed(contexts_of_occasions(self.trials, self.space.variables))
        met = [{name: value for name, value in row.items() if name not in chosen} for row in told]
        rows = [*self._allowed(list(self.observed)), *met]
        box = self.space.contexts
        if all(any(name in row for row in rows) for name in box):
            return left_alone(rows, box)
        return torch.zeros(0, box.columns, dtype=torch.float64)

    @property
    def contexts_seen(self) -> int:
        """The smallest number of observations among the variables that are not controlled."""
        counts = [sum(name in row for row in self.happened) for name in self.space.contexts]
        return min(counts) if counts else len(self.complete)


def left_alone(rows: Sequence[Mapping[str, Value]], box: Box) -> Tensor:
    """Return contexts (m, d_c) to learn the law of a box's variables from, given the context of each trial.

    Trials that controlled none of them count as they are. While these are fewer than 5, the newest uncontrolled values
    of each variable are combined at random; a variable that was always controlled is taken as uniform.
    """
    together = [{name: row[name] for name in box} for row in rows if all(name in row for name in box)]
    if len(together) >= ENOUGH or not len(box):
        return box.encode(together)
    source = np.random.default_rng(0)
    columns = []
    for name, variable in box.items():
        alone = Box("context", ((name, variable),))
        seen = alone.encode([{name: row[name]} for row in rows if name in row])
        columns.append((alone, seen))
    # As many rows as the variable that was seen least, so that nobody takes few values for many.
    n = min((len(seen) for _, seen in columns if len(seen)), default=SPREAD)
    mixed = []
    for place, (alone, seen) in enumerate(columns):
        values = seen if len(seen) else _uniform(alone, n, source)
        newest = values[len(values) - n :]
        mixed.append(newest if place == 0 else newest[source.permutation(n)])
    return torch.cat(mixed, dim=1)


def _uniform(box: Box, n: int, source: np.random.Generator) -> Tensor:
    """Return values (n, columns) of one variable, drawn uniformly."""
    (variable,) = (v.variable if isinstance(v, Context) else v for v in box.values())
    if isinstance(variable, Integer):
        levels = variable.upper - variable.lower
        return torch.from_numpy(source.integers(levels + 1, size=(n, 1)) / levels)
    return box.snap(torch.from_numpy(source.random((n, variable.columns))))


def columns_of(names: Sequence[str], box: Box) -> list[int]:
    """Return the indices of some variables' columns among those of a box."""
    columns: list[int] = []
    start = 0
    for name, variable in box.items():
        columns += range(start, start + variable.columns) if name in names else []
        start += variable.columns
    return columns


def within(constraints: Sequence[LinearConstraint], control: ControlSet) -> tuple[LinearConstraint, ...]:
    """Return the constraints on a control set; one that also depends on other variables is refused."""
    kept = []
    for each in constraints:
        names = set(each.coefficients)
        inside = names & set(control.variables)
        if inside and inside != names:
            alone = ", ".join(sorted(names - inside))
            problem = f"must depend on controlled variables only: {each} depends on {alone}"
            place = f"{control!r}, which does not control {alone}"
            raise InvalidInput(problem, where="Study(constraints=...)", path=(place,))
        if inside:
            kept.append(each)
    return tuple(kept)
