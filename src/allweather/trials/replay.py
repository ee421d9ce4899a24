"""Replay: from the events of a journal to the history they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from allweather.errors import require
from allweather.trials.events import Event
from allweather.trials.history import History
from allweather.trials.results import Result, decode_results, encode_results
from allweather.trials.trial import Trial


@dataclass(frozen=True, eq=False)
class Replay:
    """The history after the first `seen` events of a journal."""

    history: History
    seen: int = 0
    asked_at: Mapping[int, float] = field(default_factory=dict)
    """When each trial was asked for, in seconds since 1970, and no later than the events after it."""

    def after(self, events: Iterable[Event]) -> Replay:
        """Return the replay with further events."""
        seen, asked_at = self.seen, dict(self.asked_at)
        trials, history = list(self.history.trials), self.history
        revision, observed, corrected = history.revision, list(history.observed), list(history.corrected)
        for event in events:
            seen = event.number
            for number in reversed(asked_at) if event.at else ():  # by a clock that was ahead, and set back since
                if asked_at[number] <= event.at:
                    break
                asked_at[number] = event.at
            if event.kind == "changed":
                history = replace(history, trials=tuple(trials), revision=revision).changed(event.content)
                revision = history.revision
                continue
            if event.kind == "asked":
                asked_at[len(trials)] = event.at
                trials.append(_next(event, len(trials)))
                continue
            revision += 1
            if event.kind == "added":
                trials += event.parsed()
            elif event.kind == "observed":
                observed += event.payload["contexts"]
            else:
                known = event.trial is not None and 0 <= event.trial < len(trials)
                require(known, f"journal event {event.number}", f"be about one of {len(trials)} trials", event.trial)
                place = event.trial or 0
                if event.kind == "corrected":
                    corrected.append(trials[place])
                trials[place] = event.trials[0] if event.trials else apply_event(trials[place], event)
        if seen == self.seen:
            return self
        history = replace(history, trials=tuple(trials), revision=revision)
        history = replace(history, observed=tuple(observed), corrected=tuple(corrected))
        return Replay(history, seen, asked_at)


def _next(event: Event, number: int) -> Trial:
    (trial,) = event.parsed()
    fits = trial.number == number and event.trial in (None, number)
    require(fits, f"journal event {event.number}", f"ask for trial {number}", (trial.number, event.trial))
    return trial


def apply_event(trial: Trial, event: Event) -> Trial:
    """Return a trial as it is after an event about it."""
    data = event.payload
    if event.kind == "told":
        return trial.told(
            data.get("context"),
            tuple(data.get("values", ())),
            data.get("decision"),
            data.get("failed", False),
            tuple(data.get("sds", ())),
            data.get("occasion"),
            data.get("partial"),
            decode_results(data.get("results", {})),
            str(data.get("reason", "")),
        )
    if event.kind == "expired":
        return replace(trial, expired=True)
    require(event.kind == "corrected", f"journal event {event.number}", "be of a known kind", event.kind)
    kept = ("context", "decision", "failed", "withdrawn", "occasion")
    new: dict[str, Any] = {name: data[name] for name in kept if name in data}
    new |= {name: tuple(data[name]) for name in ("values", "sds") if name in data}
    if "results" in data:
        known, changed = trial.results or {}, decode_results(data["results"])
        new["results"] = {**known, **{name: replace(each, fitted=known[name].fitted) for name, each in changed.items()}}
        new["failed"] = all(each.failed for each in new["results"].values())
    if not new.get("failed", True):
        new["reason"] = ""
    return replace(trial, **new)


def trial_from_events(events: Sequence[Event]) -> Trial | None:
    """Return the trial that these events, all about it, add up to; None where it was added with others."""
    if not events or events[0].kind != "asked":
        return None
    (trial,) = events[0].parsed()
    for event in events[1:]:
        trial = apply_event(trial, event)
    return trial


def events_of(trials: Sequence[Trial]) -> list[Event]:
    """Return the events of trials that were each told in one call, or not at all."""
    events = []
    listed = isinstance(trials, Sequence) and all(isinstance(trial, Trial) for trial in trials)
    require(listed, "Study.restore(trials=...)", "be trials of an earlier study", trials)
    for number, trial in enumerate(trials):
        require(trial.number == number, "Study.restore(trials=...)", f"have trial {number} next", trial)
        if not trial.asked:
            events.append(Event.added([trial]))
            continue
        resolved = {name: each for name, each in (trial.results or {}).items() if each.resolved}
        answered = bool(trial.values) or trial.failed or bool(resolved)
        context = None if answered else trial.context
        plan = replace(
            trial, values=(), sds=(), failed=False, expired=False, withdrawn=False, context=context, reason=""
        )
        if trial.results is not None:
            waiting = {name: Result(fitted=each.fitted) for name, each in trial.results.items()}
            plan = replace(plan, results=waiting)
        events.append(Event.asked(plan))
        if trial.expired:
            events.append(Event.expired(number))
        if answered:
            told = {"context": None if trial.context is None else dict(trial.context), "values": list(trial.values)}
            further: dict[str, Any] = {"sds": list(trial.sds)} if trial.sds else {}
            further |= {"reason": trial.reason} if trial.reason else {}
            if resolved:
                without_fits = {name: replace(each, fitted=None) for name, each in resolved.items()}
                further["results"] = encode_results(without_fits)
            events.append(Event("told", {**told, "failed": trial.failed and not resolved, **further}, number))
        if trial.withdrawn:
            events.append(Event("corrected", {"withdrawn": True}, number))
    return events


def numbered(events: Sequence[Event], seen: int) -> list[Event]:
    """Return the events as they would follow the first `seen` ones."""
    return [replace(event, number=seen + place) for place, event in enumerate(events, start=1)]
