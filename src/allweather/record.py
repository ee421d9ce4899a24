"""A study as a fold over its events: what happened is kept, what follows from it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from allweather.errors import require
from allweather.history import History
from allweather.storage import Event
from allweather.surrogates import Hyperparameters
from allweather.trials import Trial


@dataclass(frozen=True, eq=False)
class Record:
    """The history after the first `seen` events of a journal."""

    history: History
    seen: int = 0
    asked_at: Mapping[int, float] = field(default_factory=dict)
    """When each trial was asked for, in seconds since 1970."""

    def after(self, events: Iterable[Event]) -> Record:
        """This record with further events."""
        seen, asked_at = self.seen, dict(self.asked_at)
        trials, revision = list(self.history.trials), self.history.revision
        for event in events:
            seen = event.number
            if event.kind == "asked":
                asked_at[len(trials)] = event.at
                trials.append(_next(trial_of(event.payload), len(trials), event))
                continue
            revision += 1
            if event.kind == "added":
                trials += [trial_of(fields) for fields in event.payload["trials"]]
            else:
                known = event.trial is not None and 0 <= event.trial < len(trials)
                require(known, f"journal event {event.number}", f"be about one of {len(trials)} trials", event.trial)
                trials[event.trial or 0] = changed(trials[event.trial or 0], event)
        if seen == self.seen:
            return self
        return Record(replace(self.history, trials=tuple(trials), revision=revision), seen, asked_at)

    def overdue(self, now: float, patience: float) -> list[int]:
        """Pending trials that were asked for too long ago: their worker is taken for dead."""
        trials = self.history.trials
        return [n for n, at in self.asked_at.items() if now - at > patience and trials[n].state == "pending"]


def _next(trial: Trial, number: int, event: Event) -> Trial:
    fits = trial.number == number and event.trial in (None, number)
    require(fits, f"journal event {event.number}", f"ask for trial {number}", (trial.number, event.trial))
    return trial


def changed(trial: Trial, event: Event) -> Trial:
    """A trial after an event about it."""
    fields = event.payload
    if event.kind == "told":
        return trial.told(
            fields.get("context"), tuple(fields.get("values", ())), fields.get("decision"), fields.get("failed", False)
        )
    if event.kind == "expired":
        return replace(trial, expired=True)
    assert event.kind == "corrected", event.kind
    new: dict[str, Any] = {
        name: fields[name] for name in ("context", "decision", "failed", "withdrawn") if name in fields
    }
    if "values" in fields:
        new["values"] = tuple(fields["values"])
    return replace(trial, **new)


def alone(events: Sequence[Event]) -> Trial | None:
    """The trial that these events, all about it, tell of; None where it was added with others."""
    if not events or events[0].kind != "asked":
        return None
    trial = trial_of(events[0].payload)
    for event in events[1:]:
        trial = changed(trial, event)
    return trial


def retold(trials: Sequence[Trial]) -> list[Event]:
    """The events of trials that were each told at once, or not at all."""
    events = []
    listed = isinstance(trials, Sequence) and all(isinstance(trial, Trial) for trial in trials)
    require(listed, "Study.restore(trials=...)", "be trials of an earlier study", trials)
    for number, trial in enumerate(trials):
        require(trial.number == number, "Study.restore(trials=...)", f"have trial {number} next", trial)
        if not trial.asked:
            events.append(Event("added", {"trials": [fields_of(trial)]}))
            continue
        answered = bool(trial.values) or trial.failed
        context = None if answered else trial.context
        plan = replace(trial, values=(), failed=False, expired=False, withdrawn=False, context=context)
        events.append(Event("asked", fields_of(plan), number))
        if trial.expired:
            events.append(Event("expired", {}, number))
        if answered:
            told = {"context": None if trial.context is None else dict(trial.context), "values": list(trial.values)}
            events.append(Event("told", {**told, "failed": trial.failed}, number))
        if trial.withdrawn:
            events.append(Event("corrected", {"withdrawn": True}, number))
    return events


def numbered(events: Sequence[Event], seen: int) -> list[Event]:
    """The events as they would follow the first `seen` ones."""
    return [replace(event, number=seen + place) for place, event in enumerate(events, start=1)]


def trials_in(events: Sequence[Event]) -> list[int]:
    """The numbers of the trials that these events ask for or add."""
    asked = [[event.trial] if event.kind == "asked" else [] for event in events]
    added = [[fields["number"] for fields in event.payload.get("trials", [])] for event in events]
    return [number for pair in zip(asked, added, strict=True) for part in pair for number in part if number is not None]


def fields_of(trial: Trial) -> dict[str, Any]:
    """A trial as plain data; what has its default is left out."""
    fields = asdict(trial)
    plain = {name: value for name, value in fields.items() if value != getattr(_EMPTY, name)}
    return {**plain, "number": trial.number, "decision": dict(trial.decision)}


def trial_of(fields: Mapping[str, Any]) -> Trial:
    """The trial that `fields_of` wrote down."""
    known = {**fields, "values": tuple(fields.get("values", ()))}
    if known.get("fitted") is not None:
        fitted = dict(known["fitted"])
        known["fitted"] = Hyperparameters(**{**fitted, "lengthscales": tuple(fitted["lengthscales"])})
    return Trial(**known)


_EMPTY = Trial(-1, {})
