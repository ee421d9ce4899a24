import copy
import math
import pickle

import pandas as pd
import pytest

import allweather as aw

pytest.importorskip("gest_api", reason="gest-api is not installed: pip install 'allweather[gest-api]'")
from gest_api import Generator
from gest_api.vocs import VOCS, ContextualVariable, ContinuousVariable, ExploreObjective

from allweather.integrations.gest_api import AllweatherGenerator

DEMANDS = (0.2, 0.5, 0.8, 0.4, 0.6, 0.3)
WORDS = {"context": aw.Empirical(), "initial": 3, "seed": 1}
BOUNDED = ContextualVariable(domain=[0, 1])


def vocs(**words):
    variables = {"order": [0, 1], "demand": BOUNDED}
    return VOCS(**{"variables": variables, "objectives": {"profit": "MAXIMIZE"}, **words})


def evaluated(point, demand):
    order = point["order"]
    return {**point, "demand": demand, "profit": 9 * min(order, demand) - 5 * order, "wasted": max(0, order - demand)}


def run(generator, days):
    orders = []
    for demand in days:
        (point,) = generator.suggest(1)
        orders.append(point["order"])
        generator.ingest([evaluated(point, demand)])
    return orders


def test_it_suggests_and_recommends_what_a_study_of_ours_would():
    limited = vocs(constraints={"wasted": ["LESS_THAN", 0.2]}, constants={"price": 9})
    wanted = {"profit": aw.Maximize(), "wasted": aw.AtMost(0.2, probability=0.8)}
    generator = AllweatherGenerator(limited, outcomes={"wasted": wanted["wasted"]}, **WORDS)
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), outcomes=wanted, **WORDS)
    assert isinstance(generator, Generator)
    assert generator.returns_id
    for day, demand in enumerate(DEMANDS[:4]):
        (point,) = generator.suggest()
        trial = study.ask()
        assert point == {"order": trial.decision["order"], "price": 9, "_id": day}
        result = evaluated(point, demand)
        generator = pickle.loads(pickle.dumps(copy.deepcopy(generator)))
        generator.ingest([result])
        study.tell(trial, {name: result[name] for name in wanted}, context={"demand": demand})
    best = generator.recommend(objective=aw.CVaR(0.5), radii=[0.0])
    assert best.decision == {**study.recommend(objective=aw.CVaR(0.5), radii=[0.0]).decision, "price": 9}


def test_constraints_and_objectives_are_outcomes():
    limits = {"wasted": ["LESS_THAN", 0.2], "BPM:X": ["BOUNDS", -1, 2], "profit": ["GREATER_THAN", 0]}
    problem = vocs(objectives={"profit": "MAXIMIZE", "state": "MINIMIZE"}, constraints=limits)
    chance = aw.AtMost(0.2, probability=0.9)
    generator = AllweatherGenerator(problem, objective=aw.CVaR(0.1), outcomes={"wasted": chance}, **WORDS)
    assert generator.as_study().spec.outcomes == {
        "profit": aw.Maximize(aw.CVaR(0.1)),
        "state_": aw.Minimize(aw.CVaR(0.1)),
        "wasted": chance,
        "BPM_X_lower": aw.AtLeast(-1),
        "BPM_X_upper": aw.AtMost(2),
        "profit_limit": aw.AtLeast(0),
    }
    (point,) = generator.suggest(1)
    generator.ingest([{**evaluated(point, 0.5), "state": 3, "BPM:X": 1.5}])
    row = generator.as_study().trials().iloc[0]
    assert (row["state_"], row["BPM_X_lower"], row["BPM_X_upper"]) == (3, 1.5, 1.5)
    assert row["profit"] == row["profit_limit"]


def test_variables_of_all_kinds_are_translated():
    whole = ContinuousVariable(domain=[0.5, 4], dtype=int)
    variables = {"size": {1, 2, 8}, "kind": {"a", "b"}, "only": {7}, "count": whole, "demand": "CONTEXTUAL"}
    generator = AllweatherGenerator(vocs(variables=variables), **WORDS)
    points = generator.suggest(6)
    assert {point["only"] for point in points} == {7}
    assert {point["size"] for point in points} <= {1, 2, 8}
    assert {point["kind"] for point in points} == {"a", "b"}
    assert all(type(point["count"]) is int and 1 <= point["count"] <= 4 for point in points)
    assert not any("demand" in point for point in points)


def test_missing_bounds_of_contexts_follow_from_results():
    generator = AllweatherGenerator(vocs(variables={"order": [0, 1], "demand": "CONTEXTUAL"}), **WORDS)
    for demand in (10, 30):
        (point,) = generator.suggest(1)
        generator.ingest([{**point, "demand": demand, "profit": 1.0}])
    assert generator.as_study().spec.space.contexts["demand"] == aw.Context(9, 31)
    half = vocs(variables={"order": [0, 1], "demand": ContextualVariable(domain=[0, math.inf])})
    generator = AllweatherGenerator(half, **WORDS)
    generator.ingest([{"order": 0.5, "demand": 10, "profit": 1.0}])
    assert generator.as_study().spec.space.contexts["demand"] == aw.Context(0, 10.01)


def test_contexts_can_be_observables_of_any_kind():
    lots = aw.Space(lot=aw.Context(aw.Choice("dry", "wet")), count=aw.Context(aw.Integer(0, 9)))
    observed = vocs(variables={"order": [0, 1]}, observables=["lot", "count"])
    generator = AllweatherGenerator(observed, space=lots, **WORDS)
    (point,) = generator.suggest(1)
    generator.ingest([{**point, "lot": "wet", "count": 3.0, "profit": 1.0}])
    assert generator.as_study().trials()["lot"].tolist() == ["wet"]


def test_points_are_pending_until_they_are_ingested_or_given_up():
    generator = AllweatherGenerator(vocs(), **WORDS)
    first, second, third = generator.suggest(3)
    assert len({point["order"] for point in (first, second, third)}) == 3
    generator.ingest([{**evaluated(second, 0.3), "order": 0.123}, {"order": 0.9, "demand": 0.5, "profit": 0.1}])
    table = generator.as_study().trials()
    assert table["state"].tolist() == ["pending", "complete", "pending", "complete"]
    assert table["order"].tolist()[1] == 0.123  # what was evaluated, not what was suggested
    generator.finalize()
    generator.ingest([evaluated(third, 0.3)])
    assert generator.as_study().trials()["state"].tolist() == ["expired", "complete", "complete", "complete"]


def test_results_without_a_value_have_failed():
    generator = AllweatherGenerator(vocs(constraints={"wasted": ["LESS_THAN", 0.2]}), **WORDS)
    first, second, third = generator.suggest(3)
    generator.ingest(
        [
            {**first, "demand": 0.3, "profit": math.nan, "wasted": 0.1},
            {**second, "xopt_error": True},
            {**third, "demand": 0.2, "profit": math.inf, "wasted": None},
        ]
    )
    study = generator.as_study()
    assert [trial.state for trial in study.history.trials] == ["complete", "failed", "failed"]
    assert study.history.trials[0].results["profit"].failed


def test_the_latest_context_can_be_expected_for_the_next_point():
    generator = AllweatherGenerator(vocs(), latest_context=True, **WORDS)
    run(generator, DEMANDS[:3])
    expected = generator.as_study().ask(context={"demand": DEMANDS[2]})
    assert generator.as_study().ask().decision != expected.decision
    (point,) = generator.suggest(1)
    assert point["order"] == expected.decision["order"]
    assert generator.as_study().trials()["demand"].isna().tolist()[-1]  # expected, not observed


def test_points_can_be_cautious():
    generator = AllweatherGenerator(vocs(constraints={"wasted": ["LESS_THAN", 0.2]}), cautious=0.9, **WORDS)
    with pytest.raises(ValueError, match=r"Study\(cautious=\.\.\.\)"):
        generator.suggest(1)
    generator.ingest([evaluated({"order": 0.1}, 0.5), evaluated({"order": 0.9}, 0.4)])
    assert generator.as_study().spec.cautious == 0.9
    assert generator.suggest(1)[0]["order"] < 0.6


def test_contexts_of_a_simulator_are_chosen():
    generator = AllweatherGenerator(vocs(), context=aw.Uniform(16), simulator=True, initial=2)
    for point in generator.suggest(2):
        generator.ingest([{**point, "profit": point["order"] * point["demand"]}])
    assert generator.as_study().trials()["state"].tolist() == ["complete"] * 2


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"order": 0.5, "demand": 0.5}, "have the output 'profit'"),
        ({"order": 0.5, "profit": 1.0}, "have finite contexts demand"),
        ({"order": 0.5, "demand": math.nan, "profit": 1.0}, "have finite contexts demand"),
        ({"order": 1.5, "demand": 0.5, "profit": 1.0}, r"\[1\]\['order'\]` must be within Real"),
        ({"order": 0.5, "demand": 1.5, "profit": 1.0}, "1.5"),
        ({"demand": 0.5, "profit": 1.0}, "have the variable 'order'"),
        ({"order": 0.5, "demand": 0.5, "profit": "x"}, r"\['profit'\]` must be a number"),
        ({"order": 0.5, "demand": 0.5, "profit": 1.0, "_id": 7}, "be of a point that was suggested, got 7"),
        ({"order": 0.5, "demand": 0.5, "profit": 1.0, "_id": 0}, "be ingested once, got 0"),
    ],
)
def test_results_that_do_not_fit_are_refused_and_none_is_taken(row, said):
    generator = AllweatherGenerator(vocs(), **WORDS)
    (point,) = generator.suggest(1)
    with pytest.raises(ValueError, match=said):
        generator.ingest([evaluated(point, 0.5), row])
    assert generator.as_study().trials()["state"].tolist() == ["pending"]


UNBOUNDED = {"order": [0, 1], "demand": "CONTEXTUAL"}


@pytest.mark.parametrize(
    ("problem", "words", "said"),
    [
        (vocs(objectives={}), {}, "have an objective"),
        (vocs(objectives={"f": ExploreObjective()}), {}, "objectives to maximize or minimize"),
        (vocs(variables={"demand": BOUNDED}), {}, "have a variable to choose"),
        (vocs(variables={"trial": [0, 1]}), {}, "not name a parameter or context like"),
        (vocs(variables={"x": ContinuousVariable(domain=[0, 1], dtype=(float, (2,)))}), {}, "be a number: `dtype`"),
        (vocs(variables={"x": ContinuousVariable(domain=[0, math.inf])}), {}, "have finite bounds"),
        (vocs(variables=UNBOUNDED), {"simulator": True, "context": aw.Uniform()}, "finite bounds for contexts"),
        (vocs(), {"outcomes": {"profit": aw.Minimize()}}, r"be Maximize\(...\), as in the VOCS"),
        (vocs(), {"cautious": 0.9}, "come with constraints"),
        (vocs(), {"outcomes": {"wasted": aw.AtMost(0)}}, "name outcomes: profit"),
        (vocs(), {"space": aw.Space(rain=aw.Context(0, 1))}, "name contextual variables or observables"),
        (vocs(), {"latest_context": True, "simulator": True, "context": aw.Uniform()}, "latest_context"),
        ({"variables": {}}, {}, "be VOCS of gest-api"),
    ],
)
def test_problems_that_it_would_ignore_are_refused(problem, words, said):
    with pytest.raises(ValueError, match=said):
        AllweatherGenerator(problem, **words)


def test_tables_of_earlier_results_are_past_data():
    generator, earlier = AllweatherGenerator(vocs(), **WORDS), AllweatherGenerator(vocs(), **WORDS)
    points = [evaluated(point, 0.5) for point in earlier.suggest(2)]
    generator.add_data(None)
    generator.add_data(pd.DataFrame([*points, {"order": 0.5, "xopt_error": True}]))
    assert generator.as_study().trials()["state"].tolist() == ["complete", "complete", "failed"]


def test_it_suggests_whole_numbers_of_points():
    with pytest.raises(ValueError, match=r"suggest\(num_points=...\)` must be a whole number, at least 1"):
        AllweatherGenerator(vocs(), **WORDS).suggest(0)
