import datetime

import numpy as np
import pytest

import allweather as aw
from allweather.trials import History, Trial
from allweather.trials.occasions import contexts_of_occasions
from allweather.trials.reported_values import occasion_name, standard_errors
from allweather.trials.validation import Validator

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 10), lot=aw.Context(aw.Choice("A", "B")))
SAID = {"demand": 3.0, "lot": "A"}
PLAIN = Validator(SPACE, controlled=False)
TRIAL = Trial(0, {"order": 0.3})


def test_standard_errors_are_kept_with_their_outcomes():
    event = PLAIN.told([1.0, 1.2], SAID, None, False, [0.1, None])(TRIAL)
    assert event.payload["sds"] == [0.1, None]
    told = TRIAL.told(SAID, (1.0, 1.2), sds=(0.1, None))
    assert np.isnan(told.noise()[1])
    assert Trial.from_dict(told.to_dict()) == told
    assert PLAIN.corrected(None, None, None, 0.2)(told).payload == {"sds": [0.2, 0.2]}
    assert PLAIN.corrected([2.0, 2.1], None, None)(told).payload == {"values": [2.0, 2.1], "failed": False}
    with pytest.raises(aw.InvalidInput, match="be given again"):
        PLAIN.corrected(2.0, None, None)(told)


def test_reports_without_them_are_written_as_before():
    assert set(PLAIN.told(1.0, SAID, None, False)(TRIAL).payload) == {"context", "values", "failed"}
    assert set(TRIAL.told(SAID, (1.0,)).to_dict()) == {"number", "decision", "context", "values"}


def test_a_pair_is_refused_with_a_question():
    for report in (PLAIN.told, PLAIN.corrected):
        with pytest.raises(aw.InvalidInput, match=r"two outcomes, or a value and its standard error.*sd=0.1"):
            report((1.0, 0.1), None, None, *([False] if report == PLAIN.told else []))
    assert PLAIN.told((1.0, 0.1, 0.2), SAID, None, False)(TRIAL).payload["values"] == [1.0, 0.1, 0.2]


@pytest.mark.parametrize("sd", [-0.1, float("nan"), float("inf"), [0.1], "auto", "repeats", True, [0.1, "x"]])
def test_what_is_no_standard_error(sd):
    with pytest.raises(aw.InvalidInput, match="sd"):
        standard_errors(sd, (1.0, 2.0), "sd")


def test_one_is_for_all_and_repeats_give_their_own():
    assert standard_errors(np.float64(0.1), (1.0, 2.0), "sd") == (0.1, 0.1)
    assert standard_errors(np.array([0.1, 0.2]), (1.0, 2.0), "sd") == (0.1, 0.2)
    assert standard_errors("repeats", (1.0, 2.0, 3.0), "sd") == (1.0, 1.0, 1.0)
    assert standard_errors([None, None], (1.0, 2.0), "sd") == ()
    with pytest.raises(aw.InvalidInput, match="told with the outcome"):
        PLAIN.told(None, SAID, None, False, 0.1)


def test_occasions_are_named_by_text_numbers_and_dates():
    assert [occasion_name(each, "o") for each in (" Mon ", 3, datetime.date(2026, 5, 4), None)] == [
        "Mon",
        "3",
        "2026-05-04",
        None,
    ]
    for wrong in (True, "", 1.5, ["Mon"], "a\nb", "x" * 201):
        with pytest.raises(aw.InvalidInput, match="be a name, a number or a date"):
            occasion_name(wrong, "o")


def test_an_occasion_has_one_context():
    rows = [{"demand": 2.0, "lot": "A"}, {"demand": 4.0, "lot": "B"}, {"demand": 3.0, "lot": "B"}]
    trials = [Trial(n, {"order": 0.1}, row, (1.0,), occasion="Mon") for n, row in enumerate(rows)]
    trials.append(Trial(3, {"order": 0.1}, SAID, (1.0,)))
    assert contexts_of_occasions(trials, SPACE.variables) == [{"demand": 3.0, "lot": "B"}, SAID]
    history = History(SPACE, 1, tuple(trials))
    assert (history.occasions_with(["demand"]), len(history.observations.seen), len(history.observations)) == (2, 2, 4)


def test_the_table_has_them_where_there_are_any():
    plain = History(SPACE, 1, (TRIAL.told(SAID, (1.0,)),))
    assert list(plain.table().columns) == ["state", "order", "demand", "lot", "value"]
    told = TRIAL.told(SAID, (1.0, 2.0), sds=(0.3, 0.4), occasion="Mon")
    row = History(SPACE, 1, (told,)).table().iloc[0]
    assert (row["occasion"], row["sd"]) == ("Mon", 0.25)
