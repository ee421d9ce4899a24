"""Optimistic writes to a journal: retried after a conflict, with the history that follows from what was read."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from numbers import Integral
from typing import Protocol

from allweather.errors import Conflict, StorageError, require
from allweather.space import Space
from allweather.storage.expiry import expired_events
from allweather.storage.memory import MemoryJournal
from allweather.trials.events import Event
from allweather.trials.history import History
from allweather.trials.replay import Replay, apply_event, numbered, trial_from_events
from allweather.trials.trial import Trial


class Writable(Protocol):
    """What is needed of a journal."""

    name: str

    @property
    def key(self) -> str:
        """Identifies the study."""

    @property
    def last(self) -> int:
        """The number of the newest event."""

    def read(self, after: int = 0, trial: int | None = None, kind: str | None = None) -> list[Event]:
        """The events since number `after`, or those of them about a trial or of a kind."""

    def append(self, seen: int, events: Sequence[Event]) -> list[Event]:
        """Write events, or fail with `Conflict` if the first `seen` are not all that matter; return them numbered."""

    def now(self) -> float:
        """The time by the clock that events are stamped with, in seconds since 1970."""

    def turn(self) -> AbstractContextManager[None]:
        """A context in which no other worker decides."""


class OptimisticWrites:
    """Writes to a journal, and the history that follows from the part of it that was read."""

    def __init__(self, journal: Writable, empty: History, expire: float | None = None) -> None:
        """Begin to follow a journal.

        Args:
            journal: where events are written and read.
            empty: the history before the first event.
            expire: seconds after which a pending trial is given up, if ever.
        """
        self.journal = journal
        self._replay, self._expire = Replay(empty), expire
        self._deciding = threading.RLock()
        # A database detects conflicts while others read; a journal in memory does not, so telling takes the same lock.
        self._telling = self._deciding if isinstance(journal, MemoryJournal) else threading.RLock()

    @property
    def history(self) -> History:
        """All that has happened."""
        with self._deciding:
            events = self.journal.read(self._replay.seen)
            try:
                self._replay = self._replay.after(events)
            except (AttributeError, LookupError, TypeError, ValueError) as trouble:
                raise StorageError(
                    f"the study is damaged after event {self._replay.seen}: {trouble}; restore a backup, or save what "
                    f"can be read with `allweather export --salvage --study {shlex.quote(self.journal.name)}`"
                ) from trouble
            return self._replay.history

    def in_units_of(self, space: Space) -> None:
        """Use variables that differ from those of the journal in their units at most."""
        with self._deciding:
            past = self._replay.history
            whole = None if past.whole is None else space.joint
            self._replay = replace(self._replay, history=replace(past, space=space, whole=whole))

    @property
    def replayed(self) -> History:
        """All that has happened as far as it was read before."""
        return self._replay.history

    def after_changes(self) -> History:
        """The history, read again only where the study was changed since: trials may be missing in it."""
        newer = self.journal.last > self._replay.seen and self.journal.read(self._replay.seen, kind="changed")
        return self.history if newer else self._replay.history

    def decide(self, choose: Callable[[History], Sequence[Event]]) -> list[Trial]:
        """Write the events that `choose` makes of the history; after a conflict it chooses again.

        Returns:
            The trials that were asked for or added.
        """
        with self._deciding, self.journal.turn():
            while True:
                self._expire_overdue()
                events = choose(self.history)
                if not events:
                    return []
                self._replay.after(numbered(events, self._replay.seen))  # what cannot be replayed is not written
                try:
                    written = self.journal.append(self._replay.seen, events)
                except Conflict:
                    continue
                self._follow(written)
                new = [trial for event in written if event.kind in ("asked", "added") for trial in event.parsed()]
                return [replace(trial, study=self.journal.key) for trial in new]

    def tell(self, number: int | Trial, say: Callable[[Trial], Event]) -> Trial:
        """Write the event that `say` makes of a trial; only that trial's events are read for it."""
        with self._telling:
            while True:
                seen = self.journal.last
                trial = self._find(number, seen)
                self._require_own(number, trial)
                event = say(trial)
                after = apply_event(trial, event)
                if after == trial:  # it was told before: nothing happened
                    return replace(trial, study=self.journal.key)
                try:
                    others = self._same_occasion(event, after)
                    written = self.journal.append(seen, [replace(event, trials=(after,)), *others])
                except Conflict:
                    continue
                if self._deciding.acquire(blocking=False):  # else another thread is deciding, and will read it
                    try:
                        self._follow(written)
                    finally:
                        self._deciding.release()
                return replace(after, study=self.journal.key)

    def _follow(self, written: Sequence[Event]) -> None:
        """Add events that were just written, unless others came before them that were not read yet."""
        if written and written[0].number == self._replay.seen + 1:
            self._replay = self._replay.after(written)

    def _find(self, number: int | Trial, seen: int) -> Trial:
        """The trial as it is after the first `seen` events."""
        place = number.number if isinstance(number, Trial) else number
        whole = isinstance(place, Integral) and not isinstance(place, bool)
        if whole and seen > self._replay.seen and 0 <= place <= seen:
            found = trial_from_events(self.journal.read(trial=int(place)))
            if found is not None:
                return found
        return self.history.find(int(place) if whole else number)

    def _require_own(self, given: int | Trial, known: Trial) -> None:
        """Refuse a trial of another study: one that another returned, or whose decision this one never had."""
        if not isinstance(given, Trial) or given.study == self.journal.key:
            return
        own = not given.study and (
            given.decision == known.decision
            or any(given.decision == event.payload.get("decision") for event in self.journal.read(trial=known.number))
        )
        tell = "tell it to the study that returned it, or give the trial's number"
        require(own, "Study.tell(trial=...)", "be a trial of this study", given, tell)

    def _same_occasion(self, event: Event, told: Trial) -> list[Event]:
        """The context of a trial as an event of each other trial of its occasion that waits for it."""
        if told.occasion is None or not event.payload.get("context"):
            return []
        shared = [trial for trial in self.history.trials if trial.occasion == told.occasion and trial != told]
        waiting = [
            trial for trial in shared if trial.context is None and trial.state in ("pending", "expired", "failed")
        ]
        fitting = [trial for trial in waiting if set(trial.decision) == set(told.decision)]  # the same control set
        payload = {"context": event.payload["context"], "values": [], "failed": False}
        return [Event("told", dict(payload), trial.number) for trial in fitting if trial.number != told.number]

    def _expire_overdue(self) -> None:
        if self._expire is None:
            return
        _ = self.history
        late = expired_events(self._replay, self.journal.now(), self._expire)
        if late:
            with suppress(Conflict):  # told at the last moment, or given up by another worker
                self._follow(self.journal.append(self._replay.seen, late))
