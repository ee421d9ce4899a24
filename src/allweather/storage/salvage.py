"""Save what can be read of a damaged study: its events without those that cannot be read or applied."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from allweather.space import Space
from allweather.space.changes import changed_space
from allweather.storage.export import event_line, header_line, readable_space
from allweather.storage.journal import Journal
from allweather.trials.events import Event
from allweather.trials.replay import apply_event
from allweather.trials.trial import Trial

MAX_SHOWN = 20
"""Numbers of damaged events that are shown, at most."""
TROUBLE = (AttributeError, LookupError, TypeError, ValueError)


class Salvaged(NamedTuple):
    """What can be used of a study."""

    lines: list[str]
    """A study that `import` reads; where a trial is lost, those after it have smaller numbers than before."""
    lost: list[int]
    """The numbers of the events that are not in it."""
    spec: bool
    """Whether what the study is made of is what was written; else it is in the lines as far as it can be read."""

    @property
    def said(self) -> str:
        """What is damaged, in words; empty where nothing is.

        Example:
            >>> Salvaged([], [3, 4], False).said
            'events that cannot be used and are left out: 3, 4; what it is made of was changed or cannot be read'
        """
        shown = ", ".join(map(str, self.lost[:MAX_SHOWN])) + (", ..." if len(self.lost) > MAX_SHOWN else "")
        events = [f"events that cannot be used and are left out: {shown}"] if self.lost else []
        spec = [] if self.spec else ["what it is made of was changed or cannot be read"]
        return "; ".join([*events, *spec])


def salvage_lines(journal: Journal) -> Salvaged:
    """Return a damaged study as lines that `import` reads, and what is not in them.

    Args:
        journal: of the study.
    """
    found, lost = journal.read_readable()
    spec, whole = journal.read_spec()
    kept, skipped = _applicable(found, readable_space(spec))
    lines = [header_line(journal.name, spec), *(event_line(event) for event in kept)]
    return Salvaged(lines, sorted([*lost, *skipped]), whole)


def _applicable(events: Iterable[Event], space: Space | None) -> tuple[list[Event], list[int]]:
    """Return the events that follow from those before them, renumbered, and the numbers of the others."""
    trials: list[Trial] = []
    numbers: dict[int, int] = {}
    kept: list[Event] = []
    skipped: list[int] = []
    for event in events:
        try:
            if event.kind == "changed" and space is not None:
                space = changed_space(space, event.payload.get("variables", {}))
            renumbered = _renumbered(event, trials, numbers)
            json.dumps(renumbered.payload, allow_nan=False)
        except TROUBLE:
            skipped.append(event.number)
            continue
        kept.append(replace(renumbered, number=len(kept) + 1))
    return kept, skipped


def _renumbered(event: Event, trials: list[Trial], numbers: dict[int, int]) -> Event:
    if event.kind == "changed":
        return event
    if event.kind == "observed":
        made = Event.observed(event.payload["contexts"])
        return replace(event, payload=made.payload).signed(event.by)
    if event.kind not in ("asked", "added"):
        place = numbers[event.trial if event.trial is not None else -1]
        trials[place] = apply_event(trials[place], event)
        return replace(event, trial=place)
    parsed = event.parsed()
    new = [replace(trial, number=len(trials) + place) for place, trial in enumerate(parsed)]
    numbers.update({trial.number: later.number for trial, later in zip(parsed, new, strict=True)})
    trials.extend(new)
    made = Event.asked(new[0]) if event.kind == "asked" else Event.added(new)
    return replace(made, at=event.at, worker=event.worker, number=event.number).signed(event.by)
