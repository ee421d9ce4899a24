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


def test_a_shift_is_that_of_the_study_where_its_radius_is_known():
    curve = pd.DataFrame({"radius": [0.0, 0.1, 1.0], "value": [2.0, 1.9, 1.5]})
    assert "falls to 1.9 when contexts shift by 0.1 in KL" in str(some(curve=curve))
    assert "when contexts shift by 1 in total variation" in str(some(distance="TotalVariation"))
    certain = pd.DataFrame({"believed": [1.0], "worst": [1.0]})
    assert "shift" not in str(some(worst=certain))
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), objective=aw.DRO(aw.KL(0.037)), seed=1)
    study.add([{"order": o / 6, "demand": (o % 3) / 2, "value": -abs(o - 2)} for o in range(7)])
    best = study.recommend()
    (own,) = best.curve["value"][best.curve["radius"] == 0.037]
    assert f"falls to {own:.4g} when contexts shift by 0.037 in KL" in str(best)


@pytest.mark.parametrize(
    ("gain", "said"), [(1.9e-15, "less than 0.001"), (0.0, "less than 0.001"), (0.02, "0.02"), (None, "")]
)
def test_a_gain_that_is_small_is_said_to_be_less_than_a_number(gain, said):
    assert some(expected_gain=gain).gain_text == said


def test_every_outcome_with_its_limit_margin_and_probability_in_the_same_words_everywhere():
    rows = [
        {"outcome": "gain", "wanted": "maximize the mean of gain", "margin": math.nan, "probability": math.nan},
        {"outcome": "purity", "wanted": "purity at least 0.9", "margin": 0.0625, "probability": 0.9991},
    ]
    outcomes = pd.DataFrame([{**row, "value": 1.0, "low": 0.5, "high": 1.5} for row in rows])
    best = some(outcomes=outcomes, feasible=0.9991)
    first, second, both = best.outcome_texts
    assert first == "maximize the mean of gain: 1 (90% credible 0.5 to 1.5)"
    assert second.endswith(", margin 0.0625, holds with probability over 99%")
    assert both == "all limits hold with probability over 99%"
    assert f"{first}; {second}; {both}; the mean of gain falls to" in str(best)


def test_an_objective_without_a_value():
    assert "the objective's target is not reached" in str(some(value=-math.inf))


@pytest.mark.parametrize("radii", [[], [-0.1], [[0.1]], "wide", [math.nan]])
def test_radii_that_are_refused(radii):
    with pytest.raises(aw.InvalidInput, match=r"Study\.recommend\(radii=\.\.\.\)"):
        checked_radii(radii)


def test_radii_are_numbers():
    assert checked_radii([0, 0.5]).tolist() == [0.0, 0.5]
