"""The studies of one database, opened once each and kept up to date by reading only what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from starlette.requests import Request

from allweather.dashboard.lane import Lane, Rooms
from allweather.dashboard.problems import NotHere
from allweather.storage import Database, Event, Journal
from allweather.storage.schema import studies
from allweather.storage.stored_study import StoredStudy
from allweather.storage.summary import Glance, glances, how_many
from allweather.study import Study
from allweather.trials import Trial
from allweather.trials.history import History
from allweather.trials.validation import Say

Found = TypeVar("Found")
OPEN = 32
"""Studies that are kept open at once."""
KEPT = 64
"""Results that a study remembers."""


class Recent:
    """The results that were wanted last.

    Example:
        >>> recent = Recent(size=1)
        >>> recent.put("a", 1), recent.put("b", 2)
        (1, 2)
        >>> recent.get("a"), recent.get("b")
        (None, 2)
    """

    def __init__(self, size: int) -> None:
        self._size, self._found, self._lock = size, OrderedDict[Hashable, Any](), threading.Lock()

    def get(self, key: Hashable) -> Any:
        """What was put there, or None."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Hashable, result: Found) -> Found:
        """Remember a result, and forget the one that was not wanted for longest."""
        with self._lock:
            self._found[key] = result
            self._found.move_to_end(key)
            while len(self._found) > self._size:
                self._found.popitem(last=False)
        return result


class Opened:
    """One study: its trials for reading and telling, and apart from them lanes for asking, advising and drawing.

    Each has a notebook of its own: who reads or tells waits for no computation, and who asks for no figure.
    """

    def __init__(self, journal: Journal, made: tuple[int, float], url: str, rooms: Rooms) -> None:
        self.journal, self.made = journal, made
        self._opening, self._recent = threading.Lock(), Recent(KEPT)
        self._kept: StoredStudy | None = None
        self._asking, self._advising, self._drawing = (
            Lane(lambda: Study.load(url, self.kept.journal.name), room)
            for room in (rooms.asking, rooms.advising, rooms.drawing)
        )
        self._sorted: tuple[Sequence[Trial] | None, Mapping[str, Sequence[Trial]]] = (None, {})

    @property
    def name(self) -> str:
        """The study's."""
        return self.journal.name

    @property
    def kept(self) -> StoredStudy:
        """The study as far as its journal tells it."""
        with self._opening:
            if self._kept is None:
                self._kept = StoredStudy.of(self.journal)
            return self._kept

    @property
    def history(self) -> History:
        """All trials, also those that other workers have written by now."""
        return self.kept.history

    @property
    def why_not(self) -> str | None:
        """Why nothing can be asked or computed here; None where it can."""
        return self.kept.why_not

    @property
    def by_state(self) -> Mapping[str, Sequence[Trial]]:
        """All trials by their state, in order; sorted once for as long as nothing happens."""
        trials = self.history.trials
        if self._sorted[0] is not trials:
            found: dict[str, list[Trial]] = {}
            for trial in trials:
                found.setdefault(trial.state, []).append(trial)
            self._sorted = trials, found
        return self._sorted[1]

    def find(self, number: int) -> Trial:
        """A trial as it is now."""
        trials = self.history.trials
        if not 0 <= number < len(trials):
            raise NotHere(f"there is no trial {number} in {self.name!r}, which has {len(trials)}")
        return trials[number]

    def tell(self, number: int, say: Say) -> Trial:
        """Write down what is said about a trial."""
        self.find(number)
        return self.kept.session.tell(number, say)

    def withdraw(self, number: int) -> Trial:
        """Take a trial out."""
        return self.tell(number, lambda known: Event("corrected", {"withdrawn": True}, known.number))

    def add(self, rows: list[dict[str, Any]], left: Sequence[str]) -> list[Trial]:
        """Data from before; with a notebook of its own, since it may wait for a worker that is asking."""
        kept = StoredStudy.of(self.journal)
        return kept.session.decide(kept.validator.added(rows, left))

    async def asked(self, work: Callable[[Study], Found], reader: Request) -> Found:
        """The trials that `work` asks the study for."""
        return await self._asking.run(work, reader)

    async def advised(self, work: Callable[[Study], Found], reader: Request, key: Hashable) -> Found:
        """A recommendation, remembered by its key until something happens in the study."""
        return await self._advising.run(self._remembered(work, key), reader)

    async def drawn(self, work: Callable[[Study], Found], reader: Request, key: Hashable | None = None) -> Found:
        """A figure, or a report of figures; remembered by its key, if it has one."""
        return await self._drawing.run(work if key is None else self._remembered(work, key), reader)

    def _remembered(self, work: Callable[[Study], Found], key: Hashable) -> Callable[[Study], Found]:
        def recall(study: Study) -> Found:
            known = key, self.journal.last
            found: Found | None = self._recent.get(known)
            return self._recent.put(known, work(study)) if found is None else found

        return recall

    def end(self) -> None:
        """Let go of all who wait for a computation."""
        for lane in (self._asking, self._advising, self._drawing):
            lane.end()


class Shelf:
    """All studies of a database."""

    def __init__(self, url: str) -> None:
        self.url, self.database, self._rooms = url, Database(url), Rooms()
        self._open, self._lock = OrderedDict[str, Opened](), threading.Lock()

    def find(self, name: str) -> Opened:
        """The study of this name; one that was made anew since it was opened is opened anew."""
        made = self._made(name)
        with self._lock:
            found = self._open.get(name)
            if found is None or found.made != made:
                journal = Journal(self.database, made[0], name)
                found = self._open[name] = Opened(journal, made, self.url, self._rooms)
            self._open.move_to_end(name)
            while len(self._open) > OPEN:
                self._open.popitem(last=False)
        return found

    def _made(self, name: str) -> tuple[int, float]:
        """Which study has this name now, and since when: databases use numbers again."""
        chosen = sa.select(studies.c.id, studies.c.created).where(studies.c.name == name)
        row = None
        if name.isprintable():  # no study has another name, and not every database can look for one
            with self.database.reading() as connection:
                row = connection.execute(chosen).first()
        if row is None:
            raise NotHere(f"there is no study {name!r} in {self.database.address}")
        return row.id, row.created

    def end(self) -> None:
        """Let go of all who wait for a computation: the server is ending."""
        with self._lock:
            for opened in self._open.values():
                opened.end()

    def page(self, limit: int, offset: int) -> tuple[list[Glance], int]:
        """Some studies by name, and how many there are."""
        return glances(self.database, limit, offset), how_many(self.database)
