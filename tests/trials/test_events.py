import pytest

from allweather.trials import Event, Trial
from allweather.trials.events import concerns

TRIAL = Trial(2, {"order": 0.3})


def test_an_event_carries_the_trial_it_was_made_of():
    event = Event.asked(TRIAL)
    assert (event.kind, event.trial) == ("asked", 2)
    assert event.parsed() == (TRIAL,)
    assert event.parsed()[0] is TRIAL


def test_an_event_that_was_read_gives_an_equal_trial():
    for event in (Event.asked(TRIAL), Event.added([TRIAL, Trial(3, {"order": 0.4}, {"demand": 1.0}, (2.0,))])):
        read = Event(event.kind, event.payload, event.trial)
        assert read.parsed() == event.parsed()
        assert read == event


def test_data_from_before_are_about_no_single_trial():
    assert Event.added([TRIAL]).trial is None
    assert Event.expired(2) == Event("expired", {}, 2)


@pytest.mark.parametrize(
    ("kind", "trial", "written", "matters"),
    [
        ("asked", 0, [Event.asked(TRIAL)], True),
        ("added", None, [Event.asked(TRIAL)], True),
        ("asked", 0, [Event.added([TRIAL])], True),
        ("told", 2, [Event("told", {}, 2)], True),
        ("told", 1, [Event("told", {}, 2)], False),
        ("told", 0, [Event.asked(TRIAL)], False),
        ("added", None, [Event("told", {}, 2)], False),
        ("expired", 2, [Event("told", {}, 1), Event("told", {}, 2)], True),
        ("asked", 0, [], False),
    ],
)
def test_which_events_conflict(kind, trial, written, matters):
    assert concerns(kind, trial, written) is matters
