from allweather.space import Real, Space
from allweather.storage import Event
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
