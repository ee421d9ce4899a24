import json
import math

import pandas as pd
import pytest

import allweather as aw
from allweather.engine.recommendation import checked_radii


def test_a_recommendation_as_plain_data():
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), initial=3, seed=1)
    for number in range(4):
        study.tell(study.ask(), 0.1 * number, context={"demand": 0.2 + 0.1 * number})
    best = study.recommend()
    data = json.loads(json.dumps(best.to_dict(), allow_nan=False))
    assert list(data)[:4] == ["decision", "value", "interval", "expected"]
    assert {"curve", "distance", "radius"} <= set(data)
    assert not {"worst", "control", "cost", "frontier"} & set(data)
    again = aw.Recommendation.from_dict(json.loads(json.dumps(best.to_dict(worst=True))))
    assert str(again) == str(best)
    assert again.worst.equals(best.worst)
    assert math.isnan(aw.Recommendation.from_dict({**data, "value": None}).value)
    with pytest.raises(aw.InvalidInput, match="have no keys but"):
        aw.Recommendation.from_dict({**data, "extra": 1})


def some(**changes):
    curve = pd.DataFrame({"radius": [0.0, 1.0], "value": [2.0, 1.5]})
    worst = pd.DataFrame({"demand": [0.1], "believed": [1.0], "worst": [1.0]})
    fields = {"decision": {"order": 0.123456, "wood": "oak"}, "value": 1.75, "interval": (1.0, 2.5), "expected": 2.0}
    return aw.Recommendation(**{**fields, "curve": curve, "worst": worst, "distance": "KL", "radius": 0.1, **changes})


def test_a_sentence_says_it_all():
    said = str(some())
    assert said == repr(some())
    for part in ("order = 0.1235", "wood = oak", "objective 1.75 (90% credible 1 to 2.5)", "mean outcome 2", "KL"):
        assert part in said
    assert "falls to 1.5" in said
    assert "rises to 3" in str(some(curve=pd.DataFrame({"radius": [0.0, 1.0], "value": [2.0, 3.0]})))


def test_gains_and_warnings_are_said_where_there_are_some():
    assert "possible" not in str(some())
    assert "at most 0.5 better is possible (95%), 0.1 expected" in str(some(possible_gain=0.5, expected_gain=0.1))
    assert "possible" not in str(some(possible_gain=math.inf))
    assert "what is left to gain cannot be told yet" in str(some(possible_gain=math.inf))
    assert str(some(warning="the model predicts badly")).endswith("Warning: the model predicts badly")


def test_an_objective_without_a_value():
    assert "the objective's target is not reached" in str(some(value=-math.inf))


@pytest.mark.parametrize("radii", [[], [-0.1], [[0.1]], "wide", [math.nan]])
def test_radii_that_are_refused(radii):
    with pytest.raises(aw.InvalidInput, match=r"Study\.recommend\(radii=\.\.\.\)"):
        checked_radii(radii)


def test_radii_are_numbers():
    assert checked_radii([0, 0.5]).tolist() == [0.0, 0.5]
