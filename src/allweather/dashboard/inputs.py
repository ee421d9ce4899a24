"""What a form asks for: one input for every variable, of the variable's own kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allweather._utils.formatting import brief, row
from allweather.dashboard.shelf import Opened
from allweather.space import Space
from allweather.space.variables import Choice, Context, Integer, Variable
from allweather.trials import Trial
from allweather.trials.text import outcome


@dataclass(frozen=True)
class Input:
    """One field of a form."""

    name: str
    """In the form."""
    label: str
    kind: str
    """`choice`, `whole` or `number`."""
    low: Any = None
    high: Any = None
    options: tuple[str, ...] = ()
    typed: str = ""

    @classmethod
    def of(cls, half: str, label: str, variable: Variable, typed: Mapping[str, str]) -> Input:
        """The input for a variable, with what was typed into it before.

        Example:
            >>> Input.of("context", "demand", Context(0, 9), {"context:demand": "3"}).typed
            '3'
        """
        inner = variable.variable if isinstance(variable, Context) else variable
        name = f"{half}:{label}"
        known = typed.get(name, "")
        if isinstance(inner, Choice):
            return cls(name, label, "choice", options=tuple(map(str, inner.options)), typed=known)
        limits: Any = inner
        kind = "whole" if isinstance(inner, Integer) else "number"
        return cls(name, label, kind, limits.lower, limits.upper, typed=known)


@dataclass(frozen=True)
class Card:
    """A trial, and the form that tells what became of it."""

    trial: Trial
    contexts: tuple[Input, ...]
    decisions: tuple[Input, ...]
    values: str
    failed: bool
    mistake: str | None = None
    """What was wrong with the form the last time."""

    @property
    def noted(self) -> str:
        """What is known already of a trial that waits, and what it waits for; empty where nothing is."""
        trial = self.trial
        known = [f"outcome {outcome(trial)}"] * bool(trial.values) + [row(trial.context)] * bool(trial.context)
        missing = [] if trial.context else [each.label for each in self.contexts]
        missing += [] if trial.values else ["the outcome"]
        return f"{', '.join(known)} noted; still waiting for: {', '.join(missing)}" if known and missing else ""

    @classmethod
    def of(
        cls, opened: Opened, trial: Trial, typed: Mapping[str, str] | None = None, mistake: str | None = None
    ) -> Card:
        """The card of a trial; what was typed before is still there."""
        space, typed = space_of(opened, trial), typed or {}
        known = {f"context:{name}": brief_exact(value) for name, value in (trial.context or {}).items()}
        return cls(
            trial,
            tuple(Input.of("context", name, variable, {**known, **typed}) for name, variable in space.contexts.items()),
            tuple(Input.of("decision", name, variable, typed) for name, variable in space.decisions.items()),
            typed.get("values", ""),
            bool(typed.get("failed")),
            mistake,
        )


def space_of(opened: Opened, trial: Trial) -> Space:
    """The variables as they are split in this trial."""
    kept = opened.kept
    return kept.space.controlling(list(trial.decision)) if kept.validator.controlled else kept.space


def brief_exact(value: Any) -> str:
    """A value as it can be typed again, without losing a digit."""
    return repr(value) if isinstance(value, float) else brief(value)
