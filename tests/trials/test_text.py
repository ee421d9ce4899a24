from allweather.trials import Trial
from allweather.trials.text import fields, outcome


def test_outcomes_as_text():
    assert outcome(Trial(0, {"x": 0.5})) == "no outcome"
    assert outcome(Trial(0, {"x": 0.5}, {}, (1.0, 0.123456789))) == "1, 0.123457"
    assert outcome(Trial(0, {"x": 0.5}, {}, tuple(map(float, range(7))))) == "0, 1, 2, 3, 4, ... (7 in all)"


def test_trials_as_plain_data():
    trial = Trial(2, {"x": 0.5}, {"c": 1.0}, (3.0,))
    plain = {"number": 2, "state": "complete", "decision": {"x": 0.5}, "context": {"c": 1.0}, "values": [3.0]}
    assert fields(trial) == plain
    assert type(fields(trial)["decision"]) is dict
    assert fields(Trial(1, {"x": 0.5}))["context"] is None
    paid = fields(Trial(1, {"x": 0.5}, left=("y",), cost=0.25))
    assert (paid["left"], paid["cost"]) == (["y"], 0.25)
