"""The history of a study: an immutable list of trials, and the observations in it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from allweather.errors import InvalidInput, require, require_count
from allweather.space import Box, Space
from allweather.space.changes import changed_space, contains
from allweather.trials.changes import Change
from allweather.trials.occasions import by_occasion, contexts_of_occasions
from allweather.trials.suspicious import Suspicion, find_suspicious
from allweather.trials.trial import Row, Trial

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from allweather.surrogates.observations import Observations


@dataclass(frozen=True, eq=False)
class History:
    """All trials of a study so far; every change makes a new history."""

    space: Space
    sign: int
    """1 where larger outcomes are better, -1 where smaller ones are."""
    trials: tuple[Trial, ...] = ()
    revision: int = 0
    """How many times something was told or added."""
    whole: Box | None = None
    """All variables side by side, where control sets decide which of them are decisions."""
    past: int | None = None
    """The number of complete trials after which it was cut, where it is an earlier part of a history."""
    changes: tuple[Change, ...] = ()
    """Changes of the study so far; trials may lie outside the present bounds then."""
    outcome_names: tuple[str, ...] = ()
    """The names of several outcomes; empty where there is one, which needs no name."""
    observed: tuple[Row, ...] = ()
    """Contexts that occurred without a trial, from which their law is learned."""
    corrected: tuple[Trial, ...] = field(default=(), repr=False, compare=False)
    """Trials that were corrected or withdrawn, as they were before."""

    def asked(self, trial: Trial) -> History:
        """Return the history with a new trial."""
        return replace(self, trials=(*self.trials, trial))

    def told(self, trial: Trial) -> History:
        """Return the history with a trial in its new state."""
        before, after = self.trials[: trial.number], self.trials[trial.number + 1 :]
        return replace(self, trials=(*before, trial, *after), revision=self.revision + 1)

    def added(self, trials: list[Trial]) -> History:
        """Return the history with past data added."""
        return replace(self, trials=(*self.trials, *trials), revision=self.revision + 1)

    def changed(self, fields: Mapping[str, Any]) -> History:
        """Return the history after a change of the study."""
        space = changed_space(self.space, fields.get("variables", {}))
        whole = None if self.whole is None else space.joint
        changes = (*self.changes, Change(len(self.trials), fields, self.space))
        return replace(self, space=space, whole=whole, changes=changes, revision=self.revision + 1)

    @property
    def newest(self) -> tuple[Trial, ...]:
        """The trials since the last change: hyperparameters of earlier ones are about other bounds."""
        return self.trials[self.changes[-1].trials :] if self.changes else self.trials

    @property
    def happened(self) -> list[Row]:
        """One context for each occasion, from which their law is learned: those within the present bounds."""
        return self._allowed([*self.observed, *contexts_of_occasions(self.trials, self.space.variables)])

    def _allowed(self, rows: list[Row]) -> list[Row]:
        return [row for row in rows if contains(self.space.variables, row)] if self.changes else rows

    def find(self, trial: Trial | int, where: str = "Study.tell(trial=...)") -> Trial:
        """Return the current state of a trial.

        Args:
            trial: the trial, or its number.
            where: what errors call it.
        """
        number = trial.number if isinstance(trial, Trial) else trial
        known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(self.trials)
        if not self.trials:
            raise InvalidInput("There are no trials yet", where=where, received=trial)
        require(known, where, f"be the number of a trial, 0 to {len(self.trials) - 1}", trial)
        return self.trials[number]

    @property
    def complete(self) -> list[Trial]:
        """Trials whose context and outcome are known."""
        return [trial for trial in self.trials if trial.state == "complete"]

    def until(self, complete: int) -> History:
        """Return the history after the first `complete` complete trials."""
        require_count(complete, "Study.outlook(after=...)", low=1)
        known = self.complete
        fits = complete <= len(known)
        require(fits, "Study.outlook(after=...)", f"be at most the {len(known)} complete trials", complete)
        before = self.trials[: known[complete - 1].number + 1]
        return replace(self, trials=before, past=complete)

    def of_outcome(self, name: str, sign: int) -> History:
        """Return the history as one of a study with this outcome only.

        Args:
            name: of the outcome.
            sign: 1 where larger values of it are better, -1 where smaller ones are.
        """
        if not self.outcome_names:
            return self if sign == self.sign else replace(self, sign=sign)
        trials = tuple(trial.of_outcome(name) for trial in self.trials)
        return replace(self, sign=sign, trials=trials, outcome_names=())

    @cached_property
    def suspicious(self) -> tuple[Suspicion, ...]:
        """What looks wrong with the trials that inform the model."""
        return find_suspicious(self)

    @property
    def version(self) -> tuple[int, int | None]:
        """Equal for histories of one study with equal observations."""
        return self.revision, self.past

    def occasions_with(self, names: Sequence[str]) -> int:
        """Return how many occasions have a known value of a variable, the smallest number among some variables.

        Args:
            names: of the variables; of no variables it is the number of occasions with an outcome.
        """
        complete = by_occasion(self.complete)
        if not names:
            return len(complete)
        rows = list(self.observed)
        if self.changes:
            rows = self._allowed([*rows, *contexts_of_occasions(self.complete, self.space.variables)])
        else:
            rows += [
                {name: each for trial in group for name, each in (trial.context or {}).items()} for group in complete
            ]
        return min(sum(name in row for row in rows) for name in names)

    @cached_property
    def observations(self) -> Observations:
        """The outcomes so far, encoded, with the sign that makes larger better."""
        import torch  # here and below, since trials are read without it

        from allweather.surrogates.observations import Observations

        rows = [(trial.decision, trial.context, value) for trial in self.complete for value in trial.values]
        errors = _standard_errors(self.complete)
        values = torch.tensor([self.sign * value for _, _, value in rows], dtype=torch.float64)
        outside = bool(self.changes)
        if self.whole is not None:
            points = self.whole.encode([{**decision, **(context or {})} for decision, context, _ in rows], outside)
            return Observations(points, points[:, :0], values, points[:0, :0], errors)
        decisions = self.space.decisions.encode([decision for decision, _, _ in rows], outside)
        contexts = self.space.contexts.encode([context for _, context, _ in rows if context is not None], outside)
        return Observations(decisions, contexts, values, self.space.contexts.encode(self.happened), errors)

    def contexts_that_occurred(self, names: Collection[str], chosen: Collection[str]) -> list[Row]:
        """Return contexts that occurred, without the values of variables that were chosen.

        Args:
            names: of the context variables.
            chosen: those whose values in trials were chosen.
        """
        rows: list[Row] = [dict(row) for row in self._allowed(list(self.observed))]
        if any(name not in chosen for name in names):
            told = self._allowed(contexts_of_occasions(self.trials, self.space.variables))
            rows += [{name: value for name, value in row.items() if name not in chosen} for row in told]
        return rows

    def table(self) -> pd.DataFrame:
        """Return one row per trial and one column per variable; `value` is the mean of its outcomes.

        With several outcomes there is a column for each of them, by name, in place of `value`.
        """
        import pandas as pd

        if self.outcome_names:
            return self._table_of_outcomes()
        paid = ["left", "cost"] if self.whole is not None else []
        sd = ["sd"] if any(trial.sds for trial in self.trials) else []
        occasion = ["occasion"] if any(trial.occasion is not None for trial in self.trials) else []
        names = ["state", *self.space.decisions, *self.space.contexts, *paid, *occasion, "value", *sd]
        rows = [
            {
                "state": trial.state,
                "occasion": trial.occasion,
                "sd": _of_mean(trial),
                **trial.decision,
                **(trial.context or trial.partial or {}),
                "left": ", ".join(trial.left),
                "cost": trial.cost,
                "value": sum(trial.values) / len(trial.values) if trial.values else None,
            }
            for trial in self.trials
        ]
        return pd.DataFrame(rows, columns=names).rename_axis("trial")

    def _table_of_outcomes(self) -> pd.DataFrame:
        tables = {name: self.of_outcome(name, 1).table() for name in self.outcome_names}
        shared = next(iter(tables.values())).drop(columns=["value", "sd"], errors="ignore")
        shared = shared.assign(state=[trial.state for trial in self.trials])
        for name, table in tables.items():
            shared[name] = table["value"]
            if "sd" in table:
                shared[f"{name} sd"] = table["sd"]
        return shared


def _standard_errors(trials: Sequence[Trial]) -> Tensor | None:
    """Standard errors (t,) of all outcomes, NaN where not known; None where none is known."""
    if not any(trial.sds for trial in trials):
        return None
    import torch

    return torch.tensor([sd for trial in trials for sd in trial.noise()], dtype=torch.float64)


def _of_mean(trial: Trial) -> float | None:
    """The standard error of the mean of a trial's outcomes, where it is known of all."""
    known = [sd for sd in trial.sds if sd is not None]
    whole = bool(known) and len(known) == len(trial.values)
    return math.sqrt(sum(sd**2 for sd in known)) / len(known) if whole else None
