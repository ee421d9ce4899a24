import pytest

import allweather as aw
from allweather.trials import Event, History, Trial
from allweather.trials.replay import Replay, apply_event, events_of, numbered, trial_from_events

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
EMPTY = Replay(History(SPACE, 1))
ASKED = [Event.asked(Trial(number, {"order": 0.1 * number})) for number in range(3)]


def told(number, value, **more):
    return Event("told", {"context": {"demand": 0.5}, "values": [value], **more}, number)


def replayed(*events):
    return EMPTY.after(numbered(events, 0))


def test_events_add_up_to_a_history():
    replay = replayed(*ASKED, told(1, 2.0), Event("corrected", {"values": [3.0]}, 1), Event.expired(0))
    assert [trial.state for trial in replay.history.trials] == ["expired", "complete", "pending"]
    assert replay.history.trials[1].values == (3.0,)
    assert (replay.seen, replay.history.revision) == (6, 3)
    assert EMPTY.history.trials == ()


def test_in_parts_or_at_once_is_the_same():
    events = numbered([*ASKED, told(2, 1.0), Event.added([Trial(3, {"order": 0.9}, {"demand": 0.1}, (4.0,))])], 0)
    whole = EMPTY.after(events)
    for cut in range(len(events) + 1):
        parts = EMPTY.after(events[:cut]).after(events[cut:])
        assert parts.history.trials == whole.history.trials
        assert (parts.seen, parts.history.revision) == (whole.seen, whole.history.revision)


def test_nothing_new_is_the_same_object():
    replay = replayed(*ASKED)
    assert replay.after([]) is replay


def test_a_trial_that_was_built_already_is_not_built_again():
    trial = Trial(0, {"order": 0.3})
    assert replayed(Event.asked(trial)).history.trials[0] is trial


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([ASKED[1]], "ask for trial 0"),
        ([ASKED[0], told(1, 2.0)], "be about one of 1 trials"),
        ([ASKED[0], Event("told", {}, None)], "be about one of 1 trials"),
        ([ASKED[0], Event("sung", {}, 0)], "be of a known kind"),
    ],
)
def test_a_journal_that_does_not_add_up_names_the_event(events, message):
    with pytest.raises(aw.InvalidInput, match=message) as error:
        replayed(*events)
    assert error.value.where == f"journal event {len(events)}"


def test_events_about_one_trial():
    trial = Trial(0, {"order": 0.3})
    done = apply_event(trial, told(0, 2.0, decision={"order": 0.4}))
    assert (done.decision, done.values, done.context) == ({"order": 0.4}, (2.0,), {"demand": 0.5})
    assert apply_event(done, Event("corrected", {"withdrawn": True}, 0)).state == "withdrawn"
    assert apply_event(trial, told(0, 2.0, failed=False)).state == "complete"
    assert apply_event(trial, Event("told", {"failed": True}, 0)).state == "failed"
    assert trial_from_events([ASKED[1], told(1, 2.0)]).values == (2.0,)
    assert trial_from_events([]) is None
    assert trial_from_events([told(1, 2.0)]) is None


def test_the_events_of_trials_replay_to_those_trials():
    trials = (
        Trial(0, {"order": 0.1}, {"demand": 0.2}, (1.0, 2.0)),
        Trial(1, {"order": 0.2}, {"demand": 0.2}),
        Trial(2, {"order": 0.3}, failed=True),
        Trial(3, {"order": 0.4}, expired=True),
        Trial(4, {"order": 0.5}, {"demand": 0.3}, (1.0,), asked=False),
        Trial(5, {"order": 0.6}, {"demand": 0.3}, (1.0,), withdrawn=True),
    )
    assert replayed(*events_of(trials)).history.trials == trials


@pytest.mark.parametrize("wrong", [7, ["trial"], [Trial(1, {"order": 0.3})]])
def test_what_cannot_be_restored(wrong):
    with pytest.raises(aw.InvalidInput, match=r"Study\.restore\(trials=\.\.\.\)"):
        events_of(wrong)
