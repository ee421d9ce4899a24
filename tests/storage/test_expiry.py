import time

import pytest
from tests.storage.workers import study

from allweather.space import Real, Space
from allweather.storage import Database, Event, Journal, Storage
from allweather.storage.expiry import expired_events
from allweather.trials import History, Trial
from allweather.trials.replay import Replay


def test_pending_trials_are_given_up_after_their_time():
    asked = [Event.asked(Trial(number, {"order": 0.3})) for number in range(3)]
    events = [*asked, Event("told", {"values": [2.0], "context": {}}, 1)]
    timed = [Event(each.kind, each.payload, each.trial, n, 100.0 * n) for n, each in enumerate(events, start=1)]
    replay = Replay(History(Space(order=Real(0, 1)), 1)).after(timed)

    def late(now, expire):
        return [event.trial for event in expired_events(replay, now, expire)]

    assert late(400.0, 150.0) == [0]
    assert late(1000.0, 150.0) == [0, 2]
    assert late(400.0, 300.0) == []


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of this machine, by which SQLite's events are stamped."""
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_a_clock_that_jumps_ahead_loses_no_outcome(tmp_path, clock):
    storage = Storage(f"sqlite:///{tmp_path}/study.db", expire=3600)
    own, other = study(storage), study(storage)
    running = own.ask()
    clock[0] += 10 * 365 * 86400
    ahead = other.ask()
    assert other.trials()["state"].tolist() == ["expired", "pending"]
    assert own.tell(running, 1.0, context={"demand": 0.5}).state == "complete"  # its worker was alive
    clock[0] = 1e9 + 60
    assert other.ask().number == 2
    clock[0] += 3000
    own.ask()
    assert own.trials()["state"].tolist() == ["complete", "pending", "pending", "pending"]
    clock[0] += 700  # the trial of the wrong clock is as old as the one after it
    own.ask()
    assert own.trials().loc[ahead.number, "state"] == "expired"
    at = [event.at for event in Journal.open(Database(storage.url), "kiosk").read()]
    assert at != sorted(at)  # events keep the time of the clock as it was


def test_a_clock_that_jumps_back_gives_no_trial_up(tmp_path, clock):
    storage = Storage(f"sqlite:///{tmp_path}/study.db", expire=3600)
    own = study(storage)
    first = own.ask()
    clock[0] -= 10 * 365 * 86400
    second = own.ask()
    assert own.trials()["state"].tolist() == ["pending", "pending"]
    own.tell(second, 1.0, context={"demand": 0.5})
    clock[0] += 4000
    own.ask()
    assert own.trials()["state"].tolist() == ["expired", "complete", "pending"]  # by the time that passed since
    assert own.tell(first, 1.0, context={"demand": 0.5}).state == "complete"
