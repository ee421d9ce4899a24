"""What a study is and how far it has come, in a few plain facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allweather.dashboard.choice import own
from allweather.dashboard.shelf import Opened
from allweather.space.text import described
from allweather.storage.stored_study import StoredStudy

STATES = ("pending", "complete", "failed", "expired", "withdrawn")


@dataclass(frozen=True)
class Outline:
    """The facts that stand at the top of a study's page."""

    name: str
    direction: str
    variables: Mapping[str, str]
    """What each is, in words."""
    counts: Mapping[str, int]
    """Trials by state."""
    last: int
    """The number of the newest event."""
    wanted: str
    """What the study was made for."""
    spent: float | None = None
    """What the trials cost, where control sets have costs."""
    budget: float | None = None
    chance: bool = True
    """Whether anything happens that nobody decides."""
    why_not: str | None = None
    """Why nothing can be asked or computed here."""

    @property
    def trials(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    @property
    def complete(self) -> int:
        """How many the study learns from."""
        return self.counts.get("complete", 0)

    @classmethod
    def of(cls, opened: Opened) -> Outline:
        """The outline of a study as it is now."""
        last = opened.journal.last  # read first: what comes in meanwhile is news next time
        kept, states = opened.kept, opened.by_state
        controlled = kept.validator.controlled
        costs = [each.cost or 0 for each in opened.history.trials if each.asked] if controlled else []
        control = (kept.spec or {}).get("control", {})
        chance = left_to_chance(kept)
        return cls(
            name=opened.name,
            direction=kept.direction,
            variables={name: described(variable) for name, variable in kept.space.variables.items()},
            counts={state: len(states[state]) for state in STATES if state in states},
            last=last,
            wanted=wanted(kept.spec) if chance else "a good outcome; nothing is left to chance",
            spent=sum(costs) if controlled else None,
            budget=control.get("budget"),
            chance=chance,
            why_not=opened.why_not,
        )


def left_to_chance(kept: StoredStudy) -> bool:
    """Whether a study has contexts, or control sets that leave something alone."""
    sets = (kept.spec or {}).get("control", {}).get("sets", [])
    left = any(set(kept.space.decisions) - set(each["variables"]) for each in sets)
    return left or len(kept.space.contexts) > 0 or (kept.spec is None and kept.validator.controlled)


def wanted(recipe: Mapping[str, Any] | None) -> str:
    """What a recipe says that a study is for.

    Example:
        >>> wanted({"objective": {"name": "dro", "distance": {"name": "tv", "radius": 0.2}}})
        'the worst mean outcome when contexts shift by up to 0.2 in total variation'
        >>> wanted({"method": "wdrbo", "objective": {"name": "mean-variance", "penalty": 0.5}})
        'method wdrbo, mean-variance (penalty 0.5)'
    """
    known = own(recipe)
    if known is not None and recipe and "method" not in recipe:
        return known.words()
    said = [f"method {_said(recipe['method'])}"] if recipe and "method" in recipe else []
    said += [_said(recipe["objective"])] if recipe and "objective" in recipe else []
    return ", ".join(said) or "the default: a good mean, also when contexts shift a little"


def _said(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    settings = ", ".join(f"{key} {_said(value)}" for key, value in part.items() if key != "name")
    return f"{part.get('name', '')} ({settings})" if settings else str(part.get("name", ""))
