"""Past data on the way into a study: rows that are there already are noticed, the others become trials."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from allweather._utils.tables import TABLE
from allweather.errors import InvalidInput
from allweather.trials.events import Event
from allweather.trials.history import History
from allweather.trials.rows import RowsRead
from allweather.trials.suspicious import Suspicion
from allweather.trials.trial import Trial

MAX_ROWS_PER_EVENT, MAX_PART_CHARACTERS = 1000, 500_000
"""Rows of past data in one event, and characters of them as JSON; a longer or wider table makes several."""
MIN_ROWS_KNOWN = 2
"""Rows that are there already before a table is taken for one that was added before: one may be a coincidence."""


class AlreadyThere(InvalidInput):
    """A table was added before, in whole or in part."""


class Addition:
    """The trials of a table, as the events that add them to a history."""

    def __init__(
        self, read: RowsRead, again: bool, skip: bool, reread: Callable[[History], Addition | None] = lambda _: None
    ) -> None:
        """Prepare to add rows.

        Args:
            read: what the rows say.
            again: whether rows that are there already are added once more.
            skip: whether rows that are there already are left out; otherwise they are refused.
            reread: reads them once more where the study was changed in the meantime.
        """
        self._read, self._again, self._skip, self._reread = read, again, skip, reread
        self.skipped: tuple[InvalidInput, ...] = tuple(read.skipped)
        """Why rows were left out."""

    def __call__(self, history: History) -> list[Event]:
        """Return the events that add the rows."""
        changed = self._reread(history)
        if changed is not None:
            events = changed(history)
            self.skipped = changed.skipped
            return events
        entries, self.skipped = self._read.entries, tuple(self._read.skipped)
        known = {} if self._again or len(entries) < MIN_ROWS_KNOWN else _known(entries, history)
        if len(known) >= MIN_ROWS_KNOWN and 2 * len(known) >= len(entries):
            if not self._skip:
                raise _already_there(known, len(entries), history)
            self.skipped += (_already_there(known, len(entries), history).suggest(""),)
            entries = [entry for place, entry in enumerate(entries) if place not in known]
        first = len(history.trials)
        trials = [Trial(first + place, **entry._asdict(), asked=False) for place, (_, entry) in enumerate(entries)]
        return [Event.added(part) for part in _parts(trials)]


class Added(list[Trial]):
    """The trials that were added, with what was left out and what looks wrong.

    Example:
        >>> from allweather import Context, Real, Space, Study
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
        >>> rows = [{"order": 0.2, "demand": 0.4, "value": 1.4}, {"order": 7, "demand": 0.4, "value": 1.5}]
        >>> added = study.add(rows, invalid="skip")
        >>> [trial.number for trial in added]
        [0]
        >>> print(added)
        1 trial added, number 0
        left out: `row 2, column 'order'` must be a number in [0, 1], got 7
    """

    def __init__(
        self,
        trials: Iterable[Trial] = (),
        skipped: Sequence[InvalidInput] = (),
        history: Callable[[], History] | None = None,
    ) -> None:
        """Keep what was added.

        Args:
            trials: that were added.
            skipped: why rows were left out.
            history: returns the history after them.
        """
        super().__init__(trials)
        self.skipped = tuple(each.at(each.where.removeprefix(f"{TABLE} ")).suggest("") for each in skipped)
        """Why rows were left out, cell by cell."""
        self._history = history

    @property
    def suspicious(self) -> tuple[Suspicion, ...]:
        """What looks wrong with the trials that were added."""
        if self._history is None or not self:
            return ()
        new = {trial.number for trial in self}
        return tuple(each for each in self._history().suspicious if each.trial in new)

    @property
    def summary(self) -> str:
        """How many trials were added, and how many of them wait for something."""
        waiting = sum(trial.state == "pending" for trial in self)
        waits = f", of which {waiting} wait{'s' if waiting == 1 else ''} for more" if waiting else ""
        if len(self) < 2:
            return f"1 trial added, number {self[0].number}{waits}" if self else "nothing was added"
        return f"{len(self)} trials added, numbers {self[0].number} to {self[-1].number}{waits}"

    def __str__(self) -> str:
        listed = [f"left out: {each}" for each in self.skipped] + [f"looks wrong: {each}" for each in self.suspicious]
        return "\n".join([self.summary, *listed])


def _known(entries: Sequence[tuple[str, Any]], history: History) -> dict[int, int]:
    """The rows that are in a history already, by place, with the trial of each, also where it was corrected since."""
    numbers = defaultdict[str, list[int]](list)
    for trial in (*(each for each in history.trials if not each.withdrawn), *history.corrected):
        numbers[content(trial)].append(trial.number)
    found: dict[int, int] = {}
    if numbers:
        for place, (_, entry) in enumerate(entries):
            same = numbers.get(content(Trial(0, **entry._asdict())))
            if same:
                found[place] = same.pop(0)
    return found


def content(trial: Trial) -> str:
    """Return what a trial says, as text: equal for trials with equal decision, context and outcomes.

    Args:
        trial: of a study.
    """
    plain = replace(trial, number=0, asked=False, fitted=None, revision=0, expired=False, study="", cost=None)
    if plain.results is not None:
        plain = replace(plain, results={name: replace(each, fitted=None) for name, each in plain.results.items()})
    return json.dumps(plain.to_dict(), sort_keys=True)


def _already_there(known: dict[int, int], rows: int, history: History) -> AlreadyThere:
    numbers = sorted(known.values())
    since = len({trial.number for trial in history.corrected} & set(numbers))
    found = f"trials {numbers[0]} to {numbers[-1]}" + (f", {since} corrected or withdrawn since" if since else "")
    if len(known) == rows:
        problem = f"these {rows} rows are already there ({found})"
        remedy = "add them again with `again=True` (option `--again`)"
    else:
        problem = f"{len(known)} of these {rows} rows are already there ({found})"
        remedy = (
            "leave them out with `invalid='skip'` (option `--skip-invalid`), or add all with `again=True` "
            "(option `--again`)"
        )
    return AlreadyThere(problem, remedy=remedy)


def _parts(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Divide rows of past data into parts that a journal takes."""
    parts: list[list[Trial]] = []
    length = MAX_PART_CHARACTERS
    for trial in trials:
        own = len(json.dumps(trial.to_dict()))
        if length + own > MAX_PART_CHARACTERS or len(parts[-1]) == MAX_ROWS_PER_EVENT:
            parts.append([])
            length = 0
        parts[-1].append(trial)
        length += own
    return parts
