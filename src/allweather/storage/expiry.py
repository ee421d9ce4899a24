"""Expiry: a trial that nobody reports in time is given up, since its worker is presumed dead."""

from __future__ import annotations

from allweather.trials.events import Event
from allweather.trials.replay import Replay

EXPIRE = 7 * 24 * 3600.0
"""Seconds after which a pending trial is given up, unless a study says something else: a week."""


def expired_events(replay: Replay, now: float, expire: float) -> list[Event]:
    """Return an event for each pending trial that was asked for too long ago; it can still be told.

    Args:
        replay: the trials so far, and when they were asked for.
        now: in seconds since 1970, by the clock of the journal.
        expire: seconds.
    """
    trials = replay.history.trials
    late = [n for n, at in replay.asked_at.items() if now - at > expire and trials[n].state == "pending"]
    return [Event.expired(number) for number in late]
