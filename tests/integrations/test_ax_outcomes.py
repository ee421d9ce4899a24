import logging

import pytest
from tests.docs.fences import DOCS, program

import allweather as aw

pytest.importorskip("ax", reason="Ax is not installed: pip install 'allweather[ax]'")
from allweather.integrations.ax import AllweatherNode  # isort: skip (it silences Ax's own imports)
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.utils.common.logger import set_ax_logger_levels

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning", "RuntimeWarning")
]
set_ax_logger_levels(logging.ERROR)
WEATHER = aw.Space(rain=aw.Context(0, 1))
RAINS = (0.2, 0.5, 0.8, 0.4, 0.6, 0.3, 0.7, 0.5)


def make(objective="gain", limits=("over <= 0.7",), **words):
    client = Client()
    client.configure_experiment(parameters=[RangeParameterConfig(name="x", bounds=(0, 1), parameter_type="float")])
    client.configure_optimization(objective=objective, outcome_constraints=list(limits))
    node = AllweatherNode(WEATHER, **{"context": aw.Empirical(), "initial": 4, "seed": 1, **words})
    client.set_generation_strategy(node.strategy())
    return client


def run(client, measure, trials=8):
    for rain in RAINS[:trials]:
        ((index, arm),) = client.get_next_trials(1).items()
        client.complete_trial(index, {**measure(arm["x"], rain), "rain": rain})


def limited(x, rain):
    return {"gain": x, "over": x + 0.3 * rain}


def test_outcome_constraints_are_kept_and_saved(tmp_path):
    client = make(outcomes={"over": aw.AtMost(0.7, probability=0.9)})
    run(client, limited)
    best = AllweatherNode.of(client).recommend()
    assert best.decision["x"] < 0.49  # 0.7 - 0.3 * 0.75
    assert best.outcomes["wanted"].tolist()[1] == "over at most 0.7 with probability 0.9"
    client.save_to_json_file(str(tmp_path / "client.json"))
    again = Client.load_from_json_file(str(tmp_path / "client.json"))
    assert AllweatherNode.of(again).outcomes == AllweatherNode.of(client).outcomes
    assert again.get_next_trials(2) == client.get_next_trials(2)


def test_limits_hold_on_average_by_default():
    client = make(objective="-loss", limits=["-over >= -0.7"])
    run(client, lambda x, rain: {"loss": -x, "over": (x + 0.3 * rain, 0.001)})
    node = AllweatherNode.of(client)
    assert node.as_study().spec.outcomes == {"loss": aw.Minimize(), "over": aw.AtMost(0.7)}
    assert node.as_study().trials()["over sd"].tolist() == [0.001] * 8
    assert 0.45 < node.recommend().decision["x"] < 0.57


def test_several_objectives_have_a_front_and_thresholds():
    client = make(objective="gain, -cost", limits=["gain >= 0.2", "cost <= 0.3"])
    run(client, lambda x, rain: {"gain": x * (1 + rain), "cost": x**2})
    node = AllweatherNode.of(client)
    assert {"x", "gain", "cost"} <= set(node.as_study().front())
    assert node.recommend().decision["x"] < 0.6  # by the thresholds
    assert node.recommend(weights={"gain": 0.99, "cost": 0.01}).decision["x"] > 0.7


def test_metrics_that_are_missing_are_waited_for():
    client = make()
    run(client, limited, trials=2)
    ((index, _),) = client.get_next_trials(1).items()
    client.complete_trial(index, {"gain": 0.5, "rain": 0.5})
    with pytest.warns(UserWarning, match="trial 2 is complete but lacks the metric 'over'"):
        table = AllweatherNode.of(client).as_study().trials()
    assert table["state"].tolist() == ["complete", "complete", "pending"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"limits": ["over <= 0.9 * baseline"]}, "without a baseline"),
        ({"limits": ["over <= 1", "over >= 0"]}, "one outcome constraint for each metric"),
        ({"limits": ["over + rest <= 1"]}, "on one metric each"),
        ({"outcomes": {"over": aw.AtLeast(0.7)}}, r"over` must be AtMost\(0.7, ...\), as in the experiment"),
        ({"outcomes": {"over": aw.AtMost(0.8)}}, r"over` must be AtMost\(0.7, ...\), as in the experiment"),
        ({"outcomes": {"ovr": aw.AtMost(0.7)}}, "name objectives and outcome constraints of the experiment"),
        ({"outcomes": {"gain": aw.Minimize()}}, r"gain` must be Maximize\(...\)"),
    ],
)
def test_what_does_not_fit_the_experiment_is_refused(words, said):
    client = make(**words)
    with pytest.raises(aw.InvalidInput, match=said):
        client.get_next_trials(1)


def test_outcomes_are_given_by_name():
    with pytest.raises(aw.InvalidInput, match="be given by name"):
        AllweatherNode(WEATHER, outcomes=[aw.Maximize()])


def test_the_program_for_users_of_ax_runs():
    found = {}
    exec(program(DOCS / "coming_from" / "ax.md"), found)
    assert 0 <= found["best"]["order"] <= 100
