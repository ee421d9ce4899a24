import itertools
import json
import logging
import math

import pytest
import scipy.stats
from tests.integrations.shifted import OBJECTIVE, SEEDS, TRIALS, days, outcome, paired

import allweather as aw
from allweather.serialization.laws import encode_law

pytest.importorskip("ax", reason="Ax is not installed: pip install 'allweather[ax]'")
from allweather.integrations.botorch import InputNoise

from allweather.integrations.ax import AllweatherNode  # isort: skip (it silences Ax's own imports)
from ax.adapter.registry import Generators
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, DerivedParameterConfig, RangeParameterConfig
from ax.core.trial_status import TrialStatus
from ax.generation_strategy.generation_node import GenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import MinTrials
from ax.utils.common.logger import set_ax_logger_levels

# Ax warns of its own use of itself, and its default strategy of its own search.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning", "RuntimeWarning")
]
set_ax_logger_levels(logging.ERROR)
GRIP = aw.Space(grip=aw.Context(0, 1))
SPEED = RangeParameterConfig(name="speed", bounds=(0, 1), parameter_type="float")


def make(seed=3, parameters=(SPEED,), constraints=(), goal="earned", strategy=None, **words):
    client = Client(random_seed=seed)
    client.configure_experiment(parameters=list(parameters), parameter_constraints=list(constraints))
    client.configure_optimization(objective=goal)
    node = AllweatherNode(GRIP, seed=seed, **{"context": aw.KDE(64), "objective": OBJECTIVE, "initial": 3, **words})
    client.set_generation_strategy(node.strategy() if strategy is None else strategy(node))
    return client


def step(client, grip, luck=0.0, sign=1):
    ((index, values),) = client.get_next_trials(1).items()
    client.complete_trial(index, {"earned": sign * (float(outcome(values["speed"], grip)) + luck), "grip": float(grip)})
    return values["speed"]


def run(client, seed, first=0, last=TRIALS):
    return [step(client, *day) for day in list(zip(*days(seed), strict=True))[first:last]]


def decided(client, words=None):
    return AllweatherNode.of(client).recommend(**(words or {})).decision


def reloaded(client, tmp_path):
    client.save_to_json_file(str(tmp_path / "client.json"))
    return Client.load_from_json_file(str(tmp_path / "client.json"))


def test_fifteen_trials_hold_under_a_shift(record_property):
    def ours(seed):
        client = make(seed, initial=None, objective=OBJECTIVE)
        run(client, seed)
        return decided(client)["speed"]

    def default(seed):
        client = Client(random_seed=seed)
        client.configure_experiment(parameters=[SPEED])
        client.configure_optimization(objective="earned")
        run(client, seed)
        return client.get_best_parameterization()[0]["speed"]

    # What the objective does by itself is shown with BoTorch, which takes a fraction of the time.
    paired("Ax and its own best arm", ours, None, default, record_property, seeds=SEEDS[:3])


def test_after_the_first_trials_it_goes_where_it_learned_to_go():
    learned, spread = run(make(initial=3), 0, last=8), run(make(initial=8), 0, last=8)
    assert learned[:3] == spread[:3]
    assert all(abs(there - here) > 1e-3 for there, here in zip(learned[3:], spread[3:], strict=True))


def test_a_study_goes_on_from_a_file_as_if_it_had_not_stopped(tmp_path):
    without, client = make(), make()
    speeds = run(without, 0, last=9)
    before = run(client, 0, last=5)
    again = reloaded(client, tmp_path)
    assert before + run(again, 0, first=5, last=9) == speeds
    assert decided(again) == decided(without)


def test_the_same_seed_gives_the_same_study_and_another_one_another():
    assert run(make(seed=1), 0, last=6) == run(make(seed=1), 0, last=6)
    assert run(make(seed=1), 0, last=6) != run(make(seed=2), 0, last=6)


def test_it_chooses_what_a_study_of_ours_would():
    space = aw.Space(speed=aw.Real(0, 1), **GRIP.variables)
    client, ours = make(), aw.Study(space, context=aw.KDE(64), objective=OBJECTIVE, initial=3, seed=3)
    for grip, luck in list(zip(*days(0), strict=True))[:6]:
        trial = ours.ask()
        speed = step(client, grip, luck)
        assert speed == pytest.approx(trial.decision["speed"], abs=1e-3)
        ours.tell(trial, float(outcome(speed, grip)) + luck, context={"grip": grip}, decision={"speed": speed})


def test_smaller_is_better_where_the_objective_says_so():
    up, down = make(), make(goal="-earned")
    for grip in (0.2, 0.5, 0.8, 0.4, 0.6):
        assert step(up, grip) == pytest.approx(step(down, grip, sign=-1), abs=1e-6)
    assert decided(up)["speed"] == pytest.approx(decided(down)["speed"], abs=0.02)


@pytest.mark.parametrize("late", [False, True])
def test_a_batch_looks_at_different_places_also_after_a_pause(tmp_path, late):
    client = make()
    run(client, 0, last=5)
    if late:
        first = client.get_next_trials(2)
        client = reloaded(client, tmp_path)
        batch = {**first, **client.get_next_trials(2)}
    else:
        batch = client.get_next_trials(4)
    speeds = sorted(values["speed"] for values in batch.values())
    assert len(speeds) == 4
    assert min(b - a for a, b in itertools.pairwise(speeds)) > 1e-3
    for index, values in batch.items():
        client.complete_trial(index, {"earned": float(outcome(values["speed"], 0.5)), "grip": 0.5})
    assert len(AllweatherNode.of(client).as_study().trials()) == 9


AGAIN = [
    (
        ChoiceParameterConfig("kind", ["a", "b", "c", "d"], "str", is_ordered=False),
        lambda kind: kind == "b",
    ),
    (RangeParameterConfig("layers", (0, 6), "int"), lambda layers: -((layers - 3) ** 2)),
    (RangeParameterConfig("speed", (0, 1), "float"), lambda speed: speed),
]


@pytest.mark.parametrize(("parameter", "earned"), AGAIN, ids=["choice", "int", "bound"])
def test_a_batch_varies_also_where_the_best_was_tried_before(parameter, earned):
    client = make(parameters=[parameter], objective=aw.CVaR(0.4))
    for turn in range(7):
        ((index, values),) = client.get_next_trials(1).items()
        client.complete_trial(index, {"earned": float(earned(values[parameter.name])), "grip": 0.1 * turn})
    ours = AllweatherNode.of(client).as_study().ask(4)
    batch = [values[parameter.name] for values in client.get_next_trials(4).values()]
    assert len(set(batch)) >= 3
    assert len(set(batch)) == len({trial.decision[parameter.name] for trial in ours})


MIXED = [
    RangeParameterConfig(name="rate", bounds=(1e-3, 1), parameter_type="float", scaling="log"),
    RangeParameterConfig(name="share", bounds=(0, 1), parameter_type="float", step_size=0.25),
    RangeParameterConfig(name="layers", bounds=(1, 5), parameter_type="int"),
    RangeParameterConfig(name="epochs", bounds=(1, 100), parameter_type="int", scaling="log"),
    ChoiceParameterConfig(name="kind", values=["a", "b", "c"], parameter_type="str", is_ordered=False),
    ChoiceParameterConfig(name="flag", values=[True, False], parameter_type="bool", is_ordered=True),
    ChoiceParameterConfig(name="fixed", values=[4], parameter_type="int"),
    DerivedParameterConfig(name="double", expression_str="2 * layers", parameter_type="float"),
]


def test_all_of_axs_parameters_are_searched(tmp_path):
    client = make(parameters=MIXED, constraints=["layers + 0 * layers <= 4"], initial=4)
    for turn in range(8):
        ((index, values),) = client.get_next_trials(1).items()
        assert values["fixed"] == 4
        assert values["double"] == 2 * values["layers"] <= 8
        earned = -values["share"] + 0.01 * values["epochs"] + (values["kind"] == "b") + values["flag"]
        client.complete_trial(index, {"earned": earned, "grip": 0.1 * turn})
        client = reloaded(client, tmp_path) if turn == 5 else client
    best = decided(client)
    assert set(best) == {config.name for config in MIXED}
    index = client.attach_trial(best)
    client.complete_trial(index, {"earned": 1.0, "grip": 0.2})
    client.get_next_trials(1)


def test_parameter_constraints_hold():
    parameters = [RangeParameterConfig(name=name, bounds=(0, 1), parameter_type="float") for name in ("sand", "lime")]
    client = make(parameters=parameters, constraints=["sand + lime <= 1"])
    for turn in range(6):
        ((index, values),) = client.get_next_trials(1).items()
        assert values["sand"] + values["lime"] <= 1 + 1e-9
        client.complete_trial(index, {"earned": values["sand"] + 2 * values["lime"], "grip": 0.1 * turn})
    best = decided(client)
    assert best["sand"] + best["lime"] <= 1 + 1e-9


@pytest.mark.parametrize(
    ("reported", "state", "said"),
    [
        (
            {"earned": 1.0},
            "pending",
            r"trial 4 is complete but lacks the metric 'grip'; it is treat.*attach_data\(4, {",
        ),
        ({"earned": 1.0, "gripp": 0.5}, "pending", "lacks the metric 'grip'; other metrics are 'gripp'"),
        ({"grip": 0.5}, "pending", "lacks the metric 'earned'"),
        ({"earned": 1.0, "grip": 1.5}, "pending", r"trial 4: .*must be a number in \[0, 1\], got 1.5; it is treated"),
        ({"earned": 1.0, "grip": math.nan}, "pending", "got nan; it is treated as pending"),
        ({"earned": math.inf, "grip": 0.5}, "failed", "metric of trial 4.*must be finite.*treated as failed"),
        ({"earned": math.nan, "grip": 0.5}, "failed", "metric of trial 4.*must be finite.*treated as failed"),
    ],
)
def test_what_cannot_be_learned_from_is_said_and_stops_nothing(reported, state, said):
    client = make()
    run(client, 0, last=4)
    ((index, _),) = client.get_next_trials(1).items()
    client.complete_trial(index, reported)
    with pytest.warns(UserWarning, match=said):
        step(client, 0.5)
    with pytest.warns(UserWarning, match=said):
        assert AllweatherNode.of(client).as_study().trials()["state"].tolist()[4] == state
    client.attach_data(index, {"earned": 1.0, "grip": 0.5})
    step(client, 0.5)
    assert AllweatherNode.of(client).as_study().trials()["state"].tolist() == ["complete"] * 7


def test_standard_errors_of_contexts_are_refused_until_they_are_put_right():
    client = make()
    run(client, 0, last=4)
    ((index, _),) = client.get_next_trials(1).items()
    client.complete_trial(index, {"earned": (1.0, 0.1), "grip": (0.5, 0.1)})
    for call in (lambda: client.get_next_trials(1), lambda: decided(client)):
        with pytest.raises(aw.InvalidInput, match=r"'grip' of trial 4.*no standard error.*got 0.1"):
            call()
    client.attach_data(index, {"earned": 1.0, "grip": 0.5})
    step(client, 0.5)


def test_running_failed_and_abandoned_trials_count_as_ax_says():
    client = make()
    run(client, 0, last=4)
    running, failed, abandoned, stopped = client.get_next_trials(4)
    client.attach_data(running, {"grip": 0.3})
    client.attach_data(failed, {"grip": 0.4})
    client.mark_trial_failed(failed)
    client.mark_trial_abandoned(abandoned)
    client.attach_data(stopped, {"earned": 0.1})
    client.mark_trial_early_stopped(stopped)
    table = AllweatherNode.of(client).as_study().trials()
    assert table["state"].tolist() == ["complete"] * 4 + ["pending", "expired", "failed", "failed"]
    assert table["grip"].tolist()[4:6] == [0.3, 0.4]
    step(client, 0.5)


def test_the_last_of_several_steps_counts():
    client = make()
    run(client, 0, last=3)
    ((index, _),) = client.get_next_trials(1).items()
    for progression, earned in ((1, 0.1), (3, 0.3), (2, 0.2)):
        client.attach_data(index, {"earned": earned, "grip": 0.5}, progression=progression)
    client.complete_trial(index)
    assert AllweatherNode.of(client).as_study().trials()["value"].tolist()[-1] == 0.3


def test_arms_attached_by_hand_are_learned_from():
    client = make()
    inside = client.attach_trial({"speed": 0.4})
    client.complete_trial(inside, {"earned": 0.5, "grip": 0.5, "temperature": 21.0})
    baseline = client.attach_baseline({"speed": 0.7})
    client.complete_trial(baseline, {"earned": 0.6, "grip": 0.6})
    assert AllweatherNode.of(client).as_study().trials()["speed"].tolist() == [0.4, 0.7]
    outside = client.attach_trial({"speed": 1.4})
    client.complete_trial(outside, {"earned": 0.6, "grip": 0.6})
    with pytest.warns(UserWarning, match="of trial 2 is outside of the search space"):
        client.get_next_trials(1)


def test_metrics_that_only_some_trials_report_change_nothing():
    plain, tracked = make(), make()
    run(plain, 0, last=5)
    run(tracked, 0, last=4)
    ((index, values),) = tracked.get_next_trials(1).items()
    grip, luck = (part[4] for part in days(0))
    earned = float(outcome(values["speed"], grip)) + luck
    tracked.complete_trial(index, {"earned": earned, "grip": float(grip), "temperature": 21.0})
    assert plain.get_next_trials(1) == tracked.get_next_trials(1)


def test_a_context_on_its_bound_stays_inside_when_ax_rounds_it(tmp_path):
    space = aw.Space(grip=aw.Context(1 / 3, 2 / 3))
    client = make(strategy=lambda node: AllweatherNode(space, initial=2).strategy())
    for grip in (1 / 3, 2 / 3, 0.5):
        step(client, grip)
    again = reloaded(client, tmp_path)
    assert client.get_next_trials(1) == again.get_next_trials(1)


def test_arms_of_a_batch_are_trials_each():
    client = make()
    run(client, 0, last=4)
    experiment = client._experiment
    (runs,) = AllweatherNode.of(client).generation_strategy.gen(experiment, n=3)
    trial = experiment.new_batch_trial(generator_runs=runs).mark_running(no_runner_required=True)
    assert len({arm.parameters["speed"] for arm in trial.arms}) == 3
    trial.mark_arm_abandoned(trial.arms[2].name)
    raw = {arm.name: {"earned": 0.5, "grip": 0.5} for arm in trial.arms}
    trial.attach_batch_trial_data(raw_data=raw)
    trial.mark_completed()
    states = AllweatherNode.of(client).as_study().trials()["state"].tolist()
    assert states == ["complete"] * 6 + ["failed"]


def test_it_follows_a_node_of_axs_own(tmp_path):
    def strategy(node):
        spread = GenerationNode(
            name="spread",
            generator_specs=[GeneratorSpec(Generators.SOBOL, generator_kwargs={"seed": 1})],
            transition_criteria=[MinTrials(threshold=3, transition_to="allweather")],
        )
        return GenerationStrategy(nodes=[spread, node], name="both")

    client = make(strategy=strategy)
    run(client, 0, last=2)
    client = reloaded(client, tmp_path)
    run(client, 0, first=2, last=6)
    names = [trial.generator_runs[0]._generation_node_name for trial in client._experiment.trials.values()]
    assert names == ["spread"] * 3 + ["allweather"] * 3


def test_its_own_transitions_are_saved(tmp_path):
    def strategy(node):
        after = GenerationNode(name="after", generator_specs=[GeneratorSpec(Generators.SOBOL)])
        return GenerationStrategy(nodes=[node, after], name="both")

    criteria = [MinTrials(threshold=2, transition_to="after", only_in_statuses=[TrialStatus.COMPLETED])]
    client = make(strategy=strategy, transition_criteria=criteria)
    run(client, 0, last=1)
    client = reloaded(client, tmp_path)
    run(client, 0, first=1, last=3)
    names = [trial.generator_runs[0]._generation_node_name for trial in client._experiment.trials.values()]
    assert names == ["allweather", "allweather", "after"]


def test_of_several_nodes_the_one_at_work_is_found():
    def strategy(node):
        criteria = [MinTrials(threshold=2, transition_to="allweather")]
        first = AllweatherNode(GRIP, name="first", transition_criteria=criteria)
        return GenerationStrategy(nodes=[first, node], name="both")

    client = make(strategy=strategy)
    run(client, 0, last=1)
    assert AllweatherNode.of(client).name == "first"
    run(client, 0, first=1, last=3)
    assert AllweatherNode.of(client).name == "allweather"


def refused(said, **words):
    client = make(**words)
    with pytest.raises(aw.InvalidInput, match=said):
        client.get_next_trials(1)


def test_what_an_external_node_would_ignore_is_refused():
    pair = [RangeParameterConfig(name=name, bounds=(0.1, 1), parameter_type="float") for name in ("a", "b")]
    refused("objectives of one metric each", goal="earned + spent")
    refused("objective without weights", goal="2 * earned")
    child = RangeParameterConfig(name="child", bounds=(0, 1), parameter_type="float")
    root = ChoiceParameterConfig(
        name="root",
        values=["a", "b"],
        parameter_type="str",
        is_ordered=True,
        dependent_parameters={"a": ["child"], "b": ["speed"]},
    )
    refused("without conditional parameters", parameters=[root, child, SPEED])
    refused("not name a context like a parameter", parameters=[RangeParameterConfig("grip", (0, 1), "float")])
    refused("not name a context like", goal="grip")
    for name in ("value", "self"):
        taken = RangeParameterConfig(name, (0, 1), "float")
        refused(f"AllweatherNode` must not name a parameter .*got '{name}'", parameters=[taken])
    client = make(parameters=pair)
    with pytest.raises(aw.InvalidInput, match="not be given fixed_features"):
        client.get_next_trials(1, fixed_parameters={"a": 0.5})
    client = make()
    client.configure_optimization(objective="earned", pruning_target_parameterization={"speed": 0.5})
    with pytest.raises(aw.InvalidInput, match="no pruning target"):
        client.get_next_trials(1)


PARTS = [
    {"surrogate": InputNoise({"grip": "speed"}), "context": aw.Uniform(16)},
    {"method": "wdrbo"},
    {"method": aw.method("sbo-kde", width=2.0), "objective": None},
    {"context": aw.KDE(64), "objective": aw.CVaR(0.3), "acquisition": aw.Thompson()},
    {"context": aw.Empirical(unseen=8), "objective": aw.DRO(aw.MMD(0.1, lengthscale=0.2))},
    {"context": aw.Known(aw.truncated_normal(0.5, 0.04)), "objective": aw.DRO(aw.KL(aw.PowerLaw(0.3, 0.5)))},
    {"context": aw.Finite([{"grip": 0.2}, {"grip": 0.7}], [0.4, 0.6]), "surrogate": aw.GP(noise=0.1)},
    {"context": aw.Finite([[0.2], [0.7]]), "surrogate": aw.GP(lengthscales={"speed": 0.3, "grip": 0.5})},
    {"objective": aw.General(1.0, 0.5, aw.Wasserstein(0.1, norm=math.inf)), "acquisition": aw.UCB(aw.BayesianWidth())},
]


@pytest.mark.parametrize("words", PARTS, ids=lambda words: ", ".join(f"{k}={v!r:.30}" for k, v in words.items()))
def test_every_part_comes_back_from_a_file(tmp_path, words):
    client = make(**{"objective": OBJECTIVE, **words})
    run(client, 0, last=4)
    again = reloaded(client, tmp_path)
    for name in ("method", "context", "objective", "acquisition", "surrogate", "initial", "seed"):
        before, after = (getattr(AllweatherNode.of(each).options, name) for each in (client, again))
        assert type(before) is type(after)
    assert client.get_next_trials(1) == again.get_next_trials(1)


@pytest.mark.parametrize(
    "words",
    [
        {"objective": aw.DRO(aw.KL(lambda t: 1 / t))},
        {"surrogate": lambda x, y: None},
        {"context": aw.Known(lambda n, generator: generator.random((n, 1)))},
    ],
)
def test_functions_cannot_be_saved_and_it_is_said(tmp_path, words):
    client = make(**words)
    with pytest.raises(aw.InvalidInput, match=r"cannot be saved with .* in it"):
        client.save_to_json_file(str(tmp_path / "client.json"))


def test_a_file_cannot_make_anything_but_parts(tmp_path):
    client = make()
    client.save_to_json_file(str(tmp_path / "client.json"))
    data = json.loads((tmp_path / "client.json").read_text())
    law = {"demand": {"name": "test"}}
    for key, part, said in (
        ("objective", {"name": "os.system"}, "knows no 'os.system'"),
        ("objective", {"kind": "Objective: system"}, "lacks 'name'"),
        ("context", {"name": "known", "law": law}, "knows no 'test'"),
    ):
        parts = {**data["generation_strategy"]["nodes"][0]["parts"], key: part}
        other = json.loads(json.dumps(data))
        other["generation_strategy"]["nodes"][0]["parts"] = parts
        (tmp_path / "other.json").write_text(json.dumps(other))
        with pytest.raises(aw.InvalidInput, match=said):
            Client.load_from_json_file(str(tmp_path / "other.json"))


def test_contexts_may_be_whole_numbers_and_numbered_options():
    space = aw.Space(guests=aw.Context(aw.Integer(0, 9)), lane=aw.Context(aw.Choice(1, 2)))
    client = make(strategy=lambda node: AllweatherNode(space, objective=aw.CVaR(0.5)).strategy())
    for turn in range(6):
        ((index, values),) = client.get_next_trials(1).items()
        client.complete_trial(index, {"earned": values["speed"] * turn, "guests": turn, "lane": 1 + turn % 2})
    assert decided(client)["speed"] > 0.5


class TestSimulator:
    def simulate(self, client, node, trials):
        for _ in range(trials):
            ((index, values),) = client.get_next_trials(1).items()
            grip = node.chosen_context(index)["grip"]
            client.complete_trial(index, {"earned": float(outcome(values["speed"], grip))})

    def made(self, **words):
        client = make(context=aw.Uniform(16), simulator=True, **words)
        return client, AllweatherNode.of(client)

    def test_contexts_are_chosen_kept_with_the_trial_and_not_reported(self, tmp_path):
        client, node = self.made()
        self.simulate(client, node, 4)
        table = node.as_study().trials()
        assert (table["state"] == "complete").all()
        assert table["grip"].nunique() > 2
        loaded = reloaded(client, tmp_path)
        again = AllweatherNode.of(loaded)
        assert again.chosen_context(2, loaded._experiment) == node.chosen_context(2)
        pair, other = client.get_next_trials(2), loaded.get_next_trials(2)
        assert [node.chosen_context(index) for index in pair] == [again.chosen_context(index) for index in other]
        assert node.as_study().trials()["state"].value_counts().to_dict() == {"complete": 4, "pending": 2}
        assert 0 <= again.recommend().decision["speed"] <= 1

    def test_a_context_that_was_reported_counts_instead(self):
        client, node = self.made()
        ((index, _),) = client.get_next_trials(1).items()
        client.complete_trial(index, {"earned": 1.0, "grip": 0.125})
        assert node.as_study().trials()["grip"].tolist() == [0.125]

    def test_what_has_no_chosen_context_is_named(self):
        client, node = self.made()
        client.attach_trial({"speed": 0.5})
        for trial, said in ((0, "a trial that the node generated"), (7, r"one of the trials \[0\]")):
            with pytest.raises(aw.InvalidInput, match=said):
                node.chosen_context(trial)
        with pytest.raises(aw.InvalidInput, match="be called with `simulator=True`"):
            AllweatherNode.of(make()).chosen_context(0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"space": aw.Space(speed=aw.Real(0, 1))}, r"AllweatherNode\(space=...\)` must hold contexts only"),
        (
            {"space": aw.Space(wood=aw.Context(aw.Choice("oak", "ash")))},
            r"numeric contexts, as metrics are.*number the options, Choice\(0, 1\)",
        ),
        ({"objective": "dro"}, "be an objective"),
        ({"method": "ucb-cvs"}, r"AllweatherNode\(method=...\)` must not require control sets"),
        ({"simulator": ("grip",)}, r"AllweatherNode\(simulator=...\)` must choose all contexts"),
        ({"seed": 1.5}, r"AllweatherNode\(seed=...\)` must be a whole number"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_node_is_made(words, said):
    with pytest.raises(aw.InvalidInput, match=said):
        AllweatherNode(**{"space": GRIP, **words})


def test_the_recommendation_answers_other_questions_too():
    client = make()
    run(client, 0, last=8)
    forecast = aw.Finite([{"grip": 0.1}, {"grip": 0.2}])
    for words in (
        {"objective": aw.Expectation()},
        {"context": {"grip": 0.9}},
        {"forecast": forecast},
        {"radii": [0.1]},
    ):
        assert set(decided(client, words)) == {"speed"}
    assert AllweatherNode.of(client).recommend(client._experiment).decision == decided(client)
    with pytest.raises(aw.InvalidInput, match="be an Ax experiment"):
        AllweatherNode.of(client).recommend("client")


def test_a_client_without_the_node_is_told_so():
    client = Client()
    client.configure_experiment(parameters=[SPEED])
    client.configure_optimization(objective="earned")
    client.configure_generation_strategy()
    with pytest.raises(aw.InvalidInput, match="have a strategy with an AllweatherNode"):
        AllweatherNode.of(client)


def test_a_law_of_ones_own_is_not_saved_as_scipys(tmp_path):
    class Own(scipy.stats.rv_continuous):
        def _pdf(self, x):
            return 2 * x

    client = make(context=aw.Known({"grip": Own(name="uniform", a=0, b=1)()}))
    with pytest.raises(aw.InvalidInput, match="cannot be saved"):
        client.save_to_json_file(str(tmp_path / "client.json"))
    assert encode_law(scipy.stats.norm(0.5, 0.1))["name"] == "norm"
