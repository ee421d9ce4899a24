"""Where a study writes down what happens before it answers, and reads what others wrote."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from numbers import Integral
from typing import Protocol

from allweather.history import History
from allweather.record import Record, alone, changed, numbered, trials_in
from allweather.storage import Conflict, Event
from allweather.storage.events import MemoryJournal
from allweather.trials import Trial


class Writable(Protocol):
    """What a notebook needs of a journal."""

    @property
    def last(self) -> int:
        """The number of the newest event."""

    def read(self, after: int = 0, trial: int | None = None) -> list[Event]:
        """The events since number `after`, or those of them about a trial."""

    def append(self, seen: int, written: Sequence[Event]) -> None:
        """Write events, or fail with `Conflict` if the first `seen` are not all that matter."""

    def turn(self) -> AbstractContextManager[None]:
        """A context in which no other worker decides."""


class Notebook:
    """A journal, and what follows from the part of it that was read."""

    def __init__(self, journal: Writable, empty: History, patience: float | None = None) -> None:
        self._journal, self._record, self._patience = journal, Record(empty), patience
        self._lock = threading.RLock()
        # A database checks what it is told while others read; a journal in memory checks nothing by itself.
        self._telling = self._lock if isinstance(journal, MemoryJournal) else threading.RLock()

    @property
    def journal(self) -> Writable:
        """Where it is written."""
        return self._journal

    @property
    def history(self) -> History:
        """All that has happened."""
        with self._lock:
            self._record = self._record.after(self._journal.read(self._record.seen))
            return self._record.history

    def decide(self, choose: Callable[[History], Sequence[Event]]) -> list[Trial]:
        """Write down what `choose` makes of the history; where another worker was faster, it chooses again.

        Returns:
            The trials that were asked for or added.
        """
        with self._lock, self._journal.turn():
            while True:
                self._give_up_the_overdue()
                written = choose(self.history)
                self._record.after(numbered(written, self._record.seen))  # what cannot be read is not written
                try:
                    self._journal.append(self._record.seen, written)
                except Conflict:
                    continue
                trials = self.history.trials
                return [trials[number] for number in trials_in(written)]

    def tell(self, number: int | Trial, say: Callable[[Trial], Event]) -> Trial:
        """Write down what `say` has to say about a trial; only that trial's events are read for it."""
        with self._telling:
            while True:
                seen = self._journal.last
                trial = self._find(number, seen)
                event = say(trial)
                after = changed(trial, event)
                if after == trial:  # it was told before: nothing happened
                    return trial
                try:
                    self._journal.append(seen, [event])
                except Conflict:
                    continue
                return after

    def _find(self, number: int | Trial, seen: int) -> Trial:
        place = number.number if isinstance(number, Trial) else number
        if isinstance(place, Integral) and not isinstance(place, bool):
            place = int(place)
            number = place
        else:
            return self.history.find(number)  # which refuses it
        if seen > self._record.seen and 0 <= place <= seen:
            found = alone(self._journal.read(trial=place))
            if found is not None:
                return found
        return self.history.find(number)

    def _give_up_the_overdue(self) -> None:
        if self._patience is None:
            return
        _ = self.history
        late = self._record.overdue(time.time(), self._patience)
        if late:
            with suppress(Conflict):  # told at the last moment, or given up by another worker
                self._journal.append(self._record.seen, [Event("expired", {}, number) for number in late])
