from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import allweather as aw

pytest.importorskip("xopt", reason="Xopt is not installed: it is tested by `make integrations`")
from gest_api.vocs import VOCS, ContextualVariable
from xopt import Evaluator, Xopt
from xopt.stopping_conditions import MaxEvaluationsCondition

from allweather.integrations.gest_api import AllweatherGenerator

PROBLEM = VOCS(
    variables={"order": [0, 1], "demand": ContextualVariable(domain=[0, 1])},
    objectives={"profit": "MAXIMIZE"},
    constraints={"wasted": ["LESS_THAN", 0.2]},
    constants={"price": 9},
)
WANTED = {"wasted": aw.AtMost(0.2, probability=0.8)}


def generator(problem=PROBLEM, **words):
    return AllweatherGenerator(problem, **{"initial": 4, "seed": 1, **words})


def stall(seed=0, breaks_above=2.0):
    rng = np.random.default_rng(seed)

    def day(inputs):
        order, demand = inputs["order"], rng.beta(4, 4)
        if order > breaks_above:
            raise RuntimeError("too much")
        return {
            "profit": inputs["price"] * min(order, demand) - 5 * order,
            "wasted": max(0.0, order - demand),
            "demand": demand,
        }

    return Evaluator(function=day)


def states(xopt):
    return xopt.generator.as_study().trials()["state"].tolist()


def test_xopt_runs_a_study_with_a_context_and_a_constraint():
    ours = generator(outcomes=WANTED)
    xopt = Xopt(generator=ours, evaluator=stall())
    for _ in range(8):
        xopt.step()
    assert states(xopt) == ["complete"] * 8
    assert ours.as_study().trials().empty  # Xopt works on a copy
    told = xopt.generator.as_study().trials()
    assert told["demand"].tolist() == pytest.approx(xopt.data["demand"].tolist())
    assert told["order"].tolist() == pytest.approx(xopt.data["order"].tolist())
    best = xopt.generator.recommend()
    assert best.outcomes["wanted"].tolist()[1] == "wasted at most 0.2 with probability 0.8"
    assert 0 <= best.decision["order"] < 0.7


def test_it_runs_until_a_condition_in_batches():
    xopt = Xopt(
        generator=generator(),
        evaluator=Evaluator(function=stall().function, max_workers=3, executor=ThreadPoolExecutor(3)),
        stopping_condition=MaxEvaluationsCondition(max_evaluations=6),
    )
    xopt.run()
    assert len(xopt.data) == 6
    assert xopt.data["order"].nunique() == 6


def test_a_run_goes_on_from_its_data(tmp_path):
    whole = Xopt(generator=generator(), evaluator=stall())
    for _ in range(5):
        whole.step()
    evaluator = stall()
    first = Xopt(generator=generator(), evaluator=evaluator, xopt_dump_file=str(tmp_path / "xopt.yml"))
    for _ in range(4):
        first.step()
    again = Xopt(generator=generator(), evaluator=evaluator, data=first.data)
    again.step()
    assert again.data["order"].tolist() == pytest.approx(whole.data["order"].tolist(), abs=1e-6)
    assert "AllweatherGenerator" in (tmp_path / "xopt.yml").read_text()


def test_exceptions_are_failures():
    xopt = Xopt(generator=generator(), evaluator=stall(breaks_above=0.5), strict=False)
    xopt.evaluate_data({"order": [0.9, 0.1]})
    assert states(xopt) == ["failed", "complete"]
    xopt.random_evaluate(2, seed=0)
    xopt.step()
    assert len(states(xopt)) == 5


def test_objectives_and_limits_of_all_kinds():
    problem = VOCS(
        variables={"order": [0, 1], "demand": "CONTEXTUAL"},
        objectives={"profit": "MAXIMIZE", "wasted": "MINIMIZE"},
        constraints={"demand_seen": ["BOUNDS", 0, 1]},
    )

    def day(inputs):
        demand = 0.3 + 0.4 * inputs["order"] ** 2
        return {
            "profit": min(inputs["order"], demand),
            "wasted": inputs["order"],
            "demand": demand,
            "demand_seen": demand,
        }

    xopt = Xopt(generator=generator(problem, initial=3), evaluator=Evaluator(function=day))
    for _ in range(4):
        xopt.step()
    assert {"profit", "wasted"} <= set(xopt.generator.as_study().front())
