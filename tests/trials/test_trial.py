import pickle

import numpy as np
import pytest

from allweather import InvalidInput
from allweather.surrogates import Hyperparameters
from allweather.trials import Trial, outcomes, plain
from allweather.trials.reported_values import MAX_OUTCOME
from allweather.trials.results import Result

PLANNED = Trial(3, {"order": 0.3})


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "pending"),
        ({"context": {"demand": 0.2}}, "pending"),
        ({"values": (1.0,)}, "pending"),
        ({"context": {"demand": 0.2}, "values": (1.0,)}, "complete"),
        ({"context": {}, "values": (1.0,)}, "complete"),
        ({"failed": True}, "failed"),
        ({"expired": True}, "expired"),
        ({"expired": True, "context": {"demand": 0.2}, "values": (1.0,)}, "complete"),
        ({"withdrawn": True, "context": {"demand": 0.2}, "values": (1.0,)}, "withdrawn"),
    ],
)
def test_the_state_follows_from_what_is_known(changes, state):
    assert Trial(0, {"order": 0.3}, **changes).state == state


def test_context_and_outcome_may_come_one_after_the_other():
    first = PLANNED.told(context={"demand": 0.2})
    assert first.state == "pending"
    assert PLANNED.context is None
    done = first.told(values=(1.0, 2.0))
    assert (done.state, done.context, done.values) == ("complete", {"demand": 0.2}, (1.0, 2.0))
    assert done.told(decision={"order": 0.4}).decision == {"order": 0.4}


def test_the_same_report_twice_changes_nothing_and_another_one_is_refused():
    done = PLANNED.told({"demand": 0.2}, (1.0,))
    assert done.told({"demand": 0.2}, (1.0,)) == done
    with pytest.raises(InvalidInput, match="be told once") as value:
        done.told(values=(2.0,))
    assert "study.correct(3, ...)" in value.value.remedy
    with pytest.raises(InvalidInput, match="context"):
        done.told(context={"demand": 0.3})


def test_a_failed_trial_takes_its_context_and_no_outcome():
    failed = PLANNED.told(failed=True)
    assert failed.told(context={"demand": 0.2}).state == "failed"
    with pytest.raises(InvalidInput, match="has failed"):
        failed.told(values=(1.0,))
    with pytest.raises(InvalidInput, match="has an outcome"):
        PLANNED.told({"demand": 0.2}, (1.0,)).told(failed=True)
    with pytest.raises(InvalidInput, match="withdrawn"):
        Trial(0, {"order": 0.3}, withdrawn=True).told(values=(1.0,))


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(order=1.0),
        lambda row: row.pop("order"),
        lambda row: row.clear(),
        lambda row: row.setdefault("more", 1.0),
        lambda row: row.__setitem__("order", 1.0),
        lambda row: row.__delitem__("order"),
        lambda row: row.__ior__({"order": 1.0}),
        lambda row: row.popitem(),
    ],
)
def test_rows_of_a_trial_are_immutable(change):
    with pytest.raises(InvalidInput, match="a trial is immutable"):
        change(PLANNED.decision)
    assert PLANNED.decision == {"order": 0.3}


def test_a_trial_does_not_follow_the_dictionary_it_was_made_of():
    row = {"order": 0.3}
    trial = Trial(0, row)
    row["order"] = 0.9
    assert trial.decision == {"order": 0.3}


def test_plain_data_out_and_the_trial_back():
    fitted = Hyperparameters((0.3, 0.4), 1.0, 0.01, 0.0)
    whole = Trial(
        7,
        {"order": 0.3, "wood": "oak"},
        {"demand": 0.2},
        (1.0, 2.5),
        left=("demand",),
        cost=0.5,
        expired=True,
        fitted=fitted,
        revision=4,
    )
    for trial in (PLANNED, whole, whole.told(decision={"order": 0.1, "wood": "ash"})):
        assert Trial.from_dict(trial.to_dict()) == trial
    assert PLANNED.to_dict() == {"number": 3, "decision": {"order": 0.3}}


def test_pickles():
    assert pickle.loads(pickle.dumps(PLANNED.told({"demand": 0.2}, (1.0,)))).decision == {"order": 0.3}


def test_rows_become_python_values():
    made = plain({"a": np.float64(0.5), "b": np.int64(3), "c": "oak", 4: True})
    assert made == {"a": 0.5, "b": 3, "c": "oak", "4": True}
    assert [type(value) for value in made.values()] == [float, int, str, bool]


@pytest.mark.parametrize(("given", "read"), [(3, (3.0,)), ([1, 2.5], (1.0, 2.5)), (np.array([1.0, 2.0]), (1.0, 2.0))])
def test_outcomes_are_one_number_or_several(given, read):
    assert outcomes(given) == read


@pytest.mark.parametrize("wrong", [[], "3", None, True, [1.0, None], float("nan"), float("inf"), 10 * MAX_OUTCOME])
def test_outcomes_that_are_none(wrong):
    with pytest.raises(InvalidInput, match=r"Study\.tell\(value=\.\.\.\)"):
        outcomes(wrong)


def test_an_outcome_that_is_not_finite_points_to_failed():
    with pytest.raises(InvalidInput) as error:
        outcomes(float("nan"))
    assert "failed=True" in error.value.remedy


@pytest.mark.parametrize("value", [b"3.5", bytearray(b"3"), "3.5"])
def test_text_is_no_outcome(value):
    with pytest.raises(InvalidInput, match="be a number"):
        outcomes(value)


def test_a_trial_prints_on_one_line():
    done = Trial(3, {"order": 0.25}).told({"demand": 0.5}, (1.5,))
    assert str(done) == "trial 3 (complete): order = 0.25; context demand = 0.5; outcome 1.5"
    failed = PLANNED.told(failed=True, reason="the pump broke")
    assert str(failed) == "trial 3 (failed): order = 0.3; the pump broke"
    assert failed.told(reason="").reason == "the pump broke"
    several = Trial(
        3,
        {"order": 0.3},
        results={"gain": Result((1.5,), fitted=Hyperparameters((0.3, 0.4), 1.0, 0.01, 0.0)), "waste": Result()},
    )
    assert str(several) == "trial 3 (pending): order = 0.3; outcome gain 1.5"
    assert "lengthscales" not in repr(several)
