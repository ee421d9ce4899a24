"""The table of trials: which of them a reader wants to see, in which order, a page at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from allweather._utils.formatting import brief
from allweather.trials import Trial

ROWS = 25
"""Of a page."""


def _given(text: Any) -> Any:
    return None if text == "" else text


Number = Annotated[float | None, BeforeValidator(_given)]
Text = Annotated[str, Field(max_length=200)]


class Sieve(BaseModel):
    """What was chosen above the table; what does not make sense keeps nothing back.

    Example:
        >>> trials = [Trial(0, {"order": 1.0}), Trial(1, {"order": 5.0})]
        >>> [trial.number for trial in Sieve(variable="order", low=2).sifted(trials)]
        [1]
        >>> [trial.number for trial in Sieve(sort="order").sifted(trials)]
        [0, 1]
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: Text = ""
    variable: Text = ""
    low: Number = None
    high: Number = None
    text: Text = ""
    sort: Text = "-trial"
    page: Annotated[int, Field(ge=1, le=10**6)] = 1

    def sifted(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials that are wanted, in the order that is wanted."""
        kept = [trial for trial in reversed(trials) if self._keeps(trial)] if self._chosen else list(reversed(trials))
        name = self.sort.removeprefix("-")
        if self.sort == "-trial":
            return kept
        backwards = self.sort.startswith("-")
        known = [trial for trial in kept if cells(trial).get(name) is not None]
        known.sort(key=lambda trial: _order(cells(trial)[name]), reverse=backwards)
        return known + [trial for trial in kept if cells(trial).get(name) is None]

    def query(self, **changes: Any) -> str:
        """These choices with some changed, as they stand in an address."""
        said = {**self.model_dump(exclude_defaults=True, exclude_none=True), **changes}
        return urlencode(said)

    @property
    def _chosen(self) -> bool:
        return bool(self.state or self.text or self.variable)

    def _keeps(self, trial: Trial) -> bool:
        if self.state and trial.state != self.state:
            return False
        row = cells(trial)
        if self.text and not any(self.text.lower() in brief(each).lower() for each in row.values()):
            return False
        if not self.variable or (self.low is None and self.high is None):
            return True
        found = row.get(self.variable)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return isinstance(found, int | float) and low <= found <= high


@dataclass(frozen=True)
class Page:
    """Some rows of the table."""

    trials: Sequence[Trial]
    number: int
    pages: int
    total: int

    @classmethod
    def of(cls, trials: Sequence[Trial], sieve: Sieve) -> Page:
        """The page that is wanted, or the last one."""
        found = sieve.sifted(trials)
        pages = max(-(-len(found) // ROWS), 1)
        number = min(sieve.page, pages)
        return cls(found[(number - 1) * ROWS : number * ROWS], number, pages, len(found))


def cells(trial: Trial) -> Mapping[str, Any]:
    """What a row of the table holds, by column."""
    mean = sum(trial.values) / len(trial.values) if trial.values else None
    return {"trial": trial.number, "value": mean, "cost": trial.cost, **(trial.context or {}), **trial.decision}


def _order(value: Any) -> tuple[int, Any]:
    """Numbers before words."""
    return (0, value) if isinstance(value, int | float) else (1, str(value))
