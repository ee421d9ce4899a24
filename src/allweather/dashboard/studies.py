"""The cache of open studies: each journal is read once, then followed; and the studies and trials that paths name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, unquote

from cachetools import LRUCache, cached
from fastapi import Depends, Path
from pydantic import BeforeValidator
from starlette.requests import Request

from allweather._utils.machine import total_memory
from allweather.dashboard.errors import NotFound
from allweather.dashboard.schemas import FigureChoice, ObjectiveChoice, PolicyChoice, describe_objective
from allweather.dashboard.tasks import Advice, Figure, Slots, TaskQueue, draw, policy, recommend
from allweather.engine.check import MIN_CHECKED_OUTCOMES
from allweather.engine.policy import Policy
from allweather.plots import STUDY_FIGURES, absent_figures
from allweather.plots.report import report_html
from allweather.space.text import describe
from allweather.storage import Database
from allweather.storage.journal_cache import GatedJournal, SharedJournal
from allweather.storage.summary import StudyKey, StudySummary, count_studies, find_study, study_summaries
from allweather.study import Study, StudyLog
from allweather.trials import Trial
from allweather.trials.additions import Added
from allweather.trials.history import History
from allweather.trials.text import suspicion

Result = TypeVar("Result")
MAX_OPEN_STUDIES = 32
"""Studies that are kept open."""
MAX_RESULTS_PER_STUDY = 64
"""Recommendations and figures that are kept per study."""
FIGURES = (*STUDY_FIGURES, "policy")
CERTAIN = "best outcome; no variable is uncertain"
"""The objective of a study without contexts."""
STATES = ("pending", "complete", "failed", "expired", "withdrawn")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A study as it was at one moment: its trials, and the facts that pages and API show."""

    log: StudyLog
    history: History
    last: int
    """The number of the newest event that the history is known to include."""
    by_state: Mapping[str, Sequence[Trial]]

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.log.name

    @property
    def direction(self) -> str:
        """`maximize` or `minimize`."""
        return self.log.direction

    @property
    def variables(self) -> dict[str, str]:
        """Role and range of each variable, as text."""
        return {name: describe(variable) for name, variable in self.log.space.variables.items()}

    @property
    def states(self) -> dict[str, int]:
        """Number of trials in each state."""
        return {state: len(self.by_state[state]) for state in STATES if state in self.by_state}

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(self.history.trials)

    @property
    def complete(self) -> int:
        """Number of complete trials, which the model is fitted to."""
        return len(self.by_state.get("complete", ()))

    @property
    def outcomes(self) -> int:
        """Number of outcomes of complete trials, each of which may have several."""
        return sum(each.measured for each in self.by_state.get("complete", ()))

    @property
    def controlled(self) -> bool:
        """Whether the study has control sets."""
        return self.log.spec.controlled

    @property
    def spent(self) -> float | None:
        """Total cost of the trials, where there are control sets."""
        return sum(each.cost or 0 for each in self.history.trials if each.asked) if self.controlled else None

    @property
    def budget(self) -> float | None:
        """The budget, where there is one."""
        control: Mapping[str, Any] = self.log.spec.fields.get("control", {})
        return control.get("budget")

    @property
    def has_contexts(self) -> bool:
        """Whether some variable is a context, at least under some control set."""
        sets = self.log.spec.fields.get("control", {}).get("sets", [])
        uncontrolled = any(set(self.log.space.decisions) - set(each["variables"]) for each in sets)
        return uncontrolled or len(self.log.space.contexts) > 0

    @property
    def objective(self) -> str:
        """The study's objective, as text."""
        spec = self.log.spec
        if spec.code:
            return describe_objective(spec.fields)
        return "; ".join(spec.wanted_texts) if self.has_contexts or spec.outcome_names else CERTAIN

    @property
    def why_not(self) -> str | None:
        """Why the study can be neither asked nor recommend here; None where it can."""
        return self.log.why_not

    @property
    def suspicious(self) -> list[tuple[int, str]]:
        """Trials that look wrong, and why."""
        return [(each.trial, suspicion(each)) for each in self.history.suspicious]

    @property
    def figures(self) -> dict[str, int]:
        """Figures that fit the study, with the number of outcomes that each needs."""
        without = absent_figures(self.log.spec.fields, self.controlled, self.has_contexts)
        without |= set() if len(self.log.space.contexts) > 0 and not self.controlled else {"policy"}
        return {name: MIN_CHECKED_OUTCOMES if name == "check" else 1 for name in FIGURES if name not in without}

    def find(self, number: int) -> Trial:
        """Return a trial by its number."""
        if not 0 <= number < self.trials:
            raise NotFound(f"there is no trial {number} in {self.name!r}, which has {self.trials}")
        return self.history.trials[number]


class OpenStudy:
    """An open study: one shared journal, and task queues of which none waits for another.

    Reading and telling use a log of their own, so they wait for no computation, and asking waits for no figure.
    """

    def __init__(self, journal: SharedJournal, key: StudyKey, slots: Slots) -> None:
        self.journal, self.key = journal, key
        self._opening, self._caching = threading.Lock(), threading.Lock()
        self._results = LRUCache[Hashable, Any](MAX_RESULTS_PER_STUDY)
        self._log: StudyLog | None = None
        self._gate, memory = slots.ask, (slots.memory, lambda: self.snapshot().outcomes)
        self._asking = TaskQueue(self._load, memory=memory)
        self._recommending, self._drawing = (
            TaskQueue(self._load, each, memory) for each in (slots.recommend, slots.draw)
        )
        self._telling = TaskQueue(lambda: self.log)
        self._adding = TaskQueue(lambda: StudyLog.of(self.journal))  # it may wait while another worker asks
        self._sorted: tuple[Sequence[Trial] | None, Mapping[str, Sequence[Trial]]] = (None, {})
        self.latest: tuple[Advice, int] | None = None  # for the study's own objective, with the newest event then

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.journal.name

    @property
    def log(self) -> StudyLog:
        """What the study is, and what happened in it."""
        with self._opening:
            if self._log is None:
                self._log = StudyLog.of(self.journal)
            return self._log

    def snapshot(self) -> Snapshot:
        """Return the study as it is now, including what other workers have written."""
        last = self.journal.last  # before the history is read, so that newer events are reported as news
        log = self.log
        history = log.history
        if self._sorted[0] is not history.trials:
            by_state: dict[str, list[Trial]] = {}
            for trial in history.trials:
                by_state.setdefault(trial.state, []).append(trial)
            self._sorted = history.trials, by_state
        return Snapshot(log, history, last, self._sorted[1])

    async def report(self, number: int, task: Callable[[StudyLog], Trial], request: Request) -> Trial:
        """Tell, correct or withdraw a trial."""

        def found(log: StudyLog) -> Trial:
            self.snapshot().find(number)
            return task(log)

        return await self._telling.run(found, request)

    async def add(self, rows: Sequence[Any], request: Request, **options: Any) -> Added:
        """Add past data, all rows or none; the options are those of `StudyLog.add`."""
        return await self._adding.run(lambda log: log.add(list(rows), **options), request)

    async def observe(self, rows: Sequence[Any], again: bool, request: Request) -> int:
        """Write contexts that occurred without a trial, all rows or none."""
        return await self._adding.run(lambda log: log.observe_contexts(list(rows), again=again), request)

    async def ask(self, task: Callable[[Study], Result], request: Request) -> Result:
        """Run a task that asks the study for trials."""
        return await self._asking.run(task, request)

    async def recommend(self, choice: ObjectiveChoice, request: Request) -> Advice:
        """Return the recommendation for an objective."""
        key, last = ("recommendation", choice.key, choice.tolerance), self.journal.last
        task = self._cached(lambda study: recommend(study, choice, self.snapshot().complete), key)
        advice = await self._recommending.run(task, request)
        self.latest = (advice, last) if choice.objective == "own" else self.latest
        return advice

    async def policy(self, choice: PolicyChoice, request: Request) -> Policy:
        """Return the best decision for each value of a context variable that is known."""
        task = self._cached(lambda study: policy(study, choice), ("policy", choice.key, choice.by))
        return await self._recommending.run(task, request)

    async def draw(self, name: str, choice: FigureChoice, request: Request) -> Figure:
        """Return a figure."""
        if name not in FIGURES:
            raise NotFound(f"there is no figure {name!r}; the figures are {', '.join(FIGURES)}")
        key = (name, choice.key, choice.by, choice.width)
        return await self._drawing.run(self._cached(lambda study: draw(study, name, choice), key), request)

    async def report_page(self, choice: ObjectiveChoice, request: Request) -> str:
        """Return the report for an objective, as HTML."""
        return await self._drawing.run(lambda study: report_html(study, choice.part()), request)

    def cancel(self) -> None:
        """Release all requests that wait for a task."""
        for queue in (self._asking, self._recommending, self._drawing, self._telling, self._adding):
            queue.cancel()

    def _load(self) -> Study:
        return Study.of(GatedJournal(self.journal, self._gate))

    def _cached(self, task: Callable[[Study], Result], key: Hashable) -> Callable[[Study], Result]:
        """Return a task that reuses its result until the study changes."""
        return cached(self._results, lambda study: (key, self.journal.last), self._caching)(task)


class StudyCache:
    """The studies of a database, each opened once.

    Args:
        url: the database's address.
        memory: in bytes, that computations may use together; half of the machine's if not given.
        computations: of each kind that run at once.
    """

    def __init__(self, url: str, memory: float | None = None, computations: int = 1) -> None:
        self.url, self.database = url, Database(url)
        self._slots = Slots(computations, total_memory() / 2 if memory is None else memory)
        self._open, self._lock = LRUCache[str, OpenStudy](MAX_OPEN_STUDIES), threading.Lock()

    def find(self, name: str) -> OpenStudy:
        """Return the study of this name; one that was deleted and created again is opened again."""
        key = find_study(self.database, name)
        if key is None:
            raise NotFound(f"there is no study {name!r} in {self.database.address}")
        with self._lock:
            found = self._open.get(name)
            if found is None or found.key != key:
                journal = SharedJournal(self.database, key.id, name)
                found = self._open[name] = OpenStudy(journal, key, self._slots)
        return found

    def page(self, limit: int, offset: int) -> tuple[list[StudySummary], int]:
        """Return summaries of some studies by name, and the number of all."""
        return study_summaries(self.database, limit, offset), count_studies(self.database)

    def latest(self, summary: StudySummary) -> tuple[Advice, int] | None:
        """Return the last recommendation that this server has computed, and the newest event then; None if none."""
        with self._lock:
            found = self._open.get(summary.name)
        return found.latest if found is not None and found.key.created == summary.created else None

    def cancel(self) -> None:
        """Release all requests that wait for a task: the server is shutting down."""
        with self._lock:
            for study in self._open.values():
                study.cancel()


def encode_segment(name: str) -> str:
    """Return a study's name as one segment of a path; names of dots get a mark, since browsers resolve `..`.

    Example:
        >>> encode_segment("a/b?"), encode_segment("..")
        ('a%2Fb%3F', '..;')
    """
    return quote(name, safe="") + (";" if set(name) == {"."} else "")


def decode_segment(segment: str) -> str:
    """Return the name that `encode_segment` encoded.

    Example:
        >>> [decode_segment(encode_segment(name)) for name in ("a/b?", "..", "100%", "x;")]
        ['a/b?', '..', '100%', 'x;']
    """
    return unquote(segment.removesuffix(";"))


def study_path(name: str) -> str:
    """Return the path of a study's page.

    Example:
        >>> study_path("red wheat")
        '/studies/red%20wheat'
    """
    return f"/studies/{encode_segment(name)}"


def cache_of(request: Request) -> StudyCache:
    """Return the studies that this server shows."""
    cache: StudyCache = request.app.state.studies
    return cache


def study_of(
    request: Request,
    name: Annotated[str, Path(description="a study, percent-encoded", examples=["kiosk"])],
) -> OpenStudy:
    """Return the study that a path names."""
    return cache_of(request).find(decode_segment(name))


CurrentStudy = Annotated[OpenStudy, Depends(study_of)]


def _digits(text: Any) -> Any:
    """Refuse what Python reads as a whole number and nobody else does, such as 1_0."""
    if isinstance(text, str) and not (text.isascii() and text.isdigit()):
        raise ValueError("must be a whole number")
    return text


TrialNumber = Annotated[int, BeforeValidator(_digits), Path(ge=0, le=10**9, description="the trial's number")]
