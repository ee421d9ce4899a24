import numpy as np
import pytest

import allweather as aw
from allweather.trials import History, Trial
from allweather.trials.validation import MAX_ROWS_PER_EVENT, Validator

SPACE = aw.Space(order=aw.Real(0, 1), pots=aw.Integer(1, 5), demand=aw.Context(0, 10))
PLAIN = Validator(SPACE, controlled=False)
TRIAL = Trial(4, {"order": 0.3, "pots": 2})
FARM = aw.Space(ph=aw.Real(4, 9), nh3=aw.Real(0, 2))


def test_a_report_becomes_an_event_in_plain_values():
    event = PLAIN.told(np.float64(1.5), {"demand": np.int64(3)}, None, False)(TRIAL)
    assert (event.kind, event.trial) == ("told", 4)
    assert event.payload == {"context": {"demand": 3}, "values": [1.5], "failed": False}
    assert type(event.payload["context"]["demand"]) is int


def test_rows_come_in_the_order_of_the_variables():
    event = PLAIN.told(None, None, {"pots": 3, "order": 0.5}, False)(TRIAL)
    assert list(event.payload["decision"]) == ["order", "pots"]


def test_without_contexts_every_outcome_completes_a_trial():
    event = Validator(aw.Space(x=aw.Real(0, 1)), controlled=False).told(1.0, None, None, False)(Trial(0, {"x": 0.1}))
    assert event.payload["context"] == {}


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ((None, None, None, False), "tell a value, a context, a decision or a failure"),
        ((1.0, None, None, True), "be one or the other"),
        ((1.0, None, None, "no"), r"Study\.tell\(failed=\.\.\.\)"),
        ((float("nan"), None, None, False), "be finite"),
        ((1.0, {"demand": 11}, None, False), "demand"),
        ((1.0, {"rain": 1}, None, False), "rain"),
        ((1.0, {}, None, False), "demand"),
        ((1.0, {"demand": 1}, {"order": 0.5, "pots": 2.5}, False), "whole number"),
    ],
)
def test_reports_that_are_refused(report, message):
    with pytest.raises(aw.InvalidInput, match=message):
        PLAIN.told(*report)(TRIAL)


def test_corrections_are_of_trials_that_were_told():
    done = TRIAL.told({"demand": 3.0}, (1.0,))
    event = PLAIN.corrected(2.0, None, None)(done)
    assert (event.kind, event.payload) == ("corrected", {"values": [2.0], "failed": False})
    assert PLAIN.corrected(None, {"demand": 4}, None)(done).payload == {"context": {"demand": 4}}
    with pytest.raises(aw.InvalidInput, match="no result to correct"):
        PLAIN.corrected(2.0, None, None)(TRIAL)
    with pytest.raises(aw.InvalidInput, match="correct a value, a context or a decision"):
        PLAIN.corrected(None, None, None)
    assert PLAIN.withdrawn(done).payload == {"withdrawn": True}


def test_rows_from_before_are_numbered_after_the_trials_there_are():
    row = {"order": 0.5, "pots": 2, "demand": 3.0, "value": 1.0}
    history = History(SPACE, 1, (Trial(0, {"order": 0.1, "pots": 1}),))
    (event,) = PLAIN.added([row, row], ())(history)
    assert [trial.number for trial in event.parsed()] == [1, 2]
    assert not event.parsed()[0].asked
    parts = PLAIN.added([row] * (2 * MAX_ROWS_PER_EVENT + 1), ())(history)
    assert [len(part.parsed()) for part in parts] == [MAX_ROWS_PER_EVENT, MAX_ROWS_PER_EVENT, 1]
    assert parts[-1].parsed()[0].number == 2 * MAX_ROWS_PER_EVENT + 1


def test_with_control_sets_rows_may_leave_variables_alone():
    controlled = Validator(FARM, controlled=True)
    row = {"ph": 5.0, "nh3": 1.0, "value": 2.0}
    (event,) = controlled.added([row], ["nh3"])(History(FARM, 1, whole=FARM.joint))
    (trial,) = event.parsed()
    assert (trial.decision, trial.context) == ({"ph": 5.0}, {"nh3": 1.0})
    (own,) = controlled.added([{**row, "left": "ph"}], ())(History(FARM, 1, whole=FARM.joint))
    assert own.parsed()[0].context == {"ph": 5.0}
    told = controlled.told(1.0, {"nh3": 0.5}, None, False)(Trial(0, {"ph": 5.0}))
    assert told.payload["context"] == {"nh3": 0.5}


@pytest.mark.parametrize("left", ["nh3", ["rain"]])
def test_what_cannot_be_left_alone(left):
    with pytest.raises(aw.InvalidInput, match=r"Study\.add\(left=\.\.\.\)"):
        Validator(FARM, controlled=True).added([], left)


def test_nothing_is_left_alone_without_control_sets():
    with pytest.raises(aw.InvalidInput, match="without control sets"):
        Validator(FARM, controlled=False).added([], ["nh3"])
