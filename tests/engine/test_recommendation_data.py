import json
import math

import pytest

import allweather as aw


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
