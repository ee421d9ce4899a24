import math

import numpy as np
import pytest
import scipy.stats

from allweather import (
    BestValue,
    BudgetSpent,
    Context,
    Control,
    ControlSet,
    CostAdaptive,
    Expectation,
    Finite,
    InvalidInput,
    Known,
    LinearConstraint,
    Real,
    Space,
    Study,
    truncated_normal,
)
from allweather.methods.control import Ledger

FARM = Space(ph=Real(4, 9), nh3=Real(0, 2))
LAW = scipy.stats.uniform(0, 2)
LAWS = Known({"ph": scipy.stats.uniform(4, 5), "nh3": scipy.stats.uniform(0, 2)}, samples=64)


@pytest.mark.parametrize("cost", [0, -1, math.nan, math.inf, "much"])
def test_costs_are_positive_numbers(cost):
    with pytest.raises(InvalidInput, match=r"ph.*` must be a finite number, (greater than|at least) 0"):
        Control({"ph": cost})


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf])
def test_budgets_are_positive_numbers(budget):
    with pytest.raises(InvalidInput, match=r"Control\(budget=\.\.\.\)"):
        Control({"ph": 1}, budget=budget)


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (lambda: Control({}), "hold at least one control set"),
        (lambda: Control({(): 1.0}), "name at least one variable"),
        (lambda: Control({("ph", "ph"): 1.0}), "name a variable once"),
        (lambda: Control([ControlSet(("ph", "nh3"), 1), ControlSet(("nh3", "ph"), 2)]), "set of variables once"),
        (lambda: Control({"ph": 1.0}, rule="etc-ada"), "be a rule such as CostAdaptive()"),
        (lambda: Control(7), "be costs by variables, or control sets"),
        (lambda: Study(FARM, control={"ph": 1.0}), "be a Control of sets"),
        (lambda: Study(FARM, method="etc-ada"), "be given with a method that chooses among control sets"),
        (lambda: Study(FARM, control=Control({"nh": 1.0}), context=LAWS), "did you mean 'nh3'?"),
        (
            lambda: Study(Space(ph=Real(4, 9), rain=Context(0, 1)), control=Control({"rain": 1.0}), context=LAWS),
            "name no Context, which nobody decides",
        ),
        (
            lambda: Study(FARM, control=Control({"ph": 1.0}), context=Known({"ph": scipy.stats.uniform(4, 5)})),
            "ControlSet(ph; cost 1), which does not control nh3: `Known(law=...)` must have a law for 'nh3'",
        ),
        (
            lambda: Study(
                FARM,
                control=Control({"ph": 1.0}),
                context=LAWS,
                constraints=LinearConstraint({"ph": 1, "nh3": 1}, upper=8),
            ),
            "ControlSet(ph; cost 1), which does not control nh3",
        ),
        (lambda: Control({5: 0.1}), "name at least one variable"),
        (lambda: Control({None: 0.1}), "name at least one variable"),
        (lambda: Control.every(["a"], 0.1), "Control.every(cost=...)` must be a function"),
        (lambda: Control.every(None, len), "Control.every(names=...)` must be a list of names"),
        (
            lambda: Study(FARM, control=Control({"ph": 1}), context=Finite([{"ph": 5.0}])),
            "which does not control nh3: `Finite(points=...)` must have a column 'nh3'",
        ),
        (
            lambda: Study(FARM, control=Control({"ph": 1}), constraints=LinearConstraint({"z": 1}, upper=1)),
            "name variables among ['ph', 'nh3'], got ['z']",
        ),
        (
            lambda: Study(FARM, control=Control({"ph": 1}), context=Known(dict.fromkeys(("nh3", "x"), LAW))),
            "have laws of ['ph', 'nh3'] only, got ['x']",
        ),
    ],
)
def test_mistakes_are_named(control, message):
    with pytest.raises(InvalidInput) as error:
        control()
    assert message in str(error.value)


def test_all_subsets_on_request():
    control = Control.every(["a", "b", "c"], cost=len, budget=10)
    assert [each.variables for each in control.sets] == [
        *(("a",), ("b",), ("c",)),
        *(("a", "b"), ("a", "c"), ("b", "c")),
        ("a", "b", "c"),
    ]
    assert [each.cost for each in control.sets] == [1, 1, 1, 2, 2, 2, 3]


def test_ten_thousand_plays_of_a_tenth_cost_exactly_a_thousand():
    sets = [ControlSet(("a",), 0.1)]
    almost = Ledger.of(sets, 1000, [(("a",), 0.1)] * 9_999)
    assert almost.left == almost.sets[0].exact_cost
    assert [each.variables for each in almost.affordable] == [("a",)]
    with pytest.raises(BudgetSpent, match="the budget of 1000 is spent: 1000 in 10000 plays, 0 is left"):
        _ = Ledger.of(sets, 1000, [(("a",), 0.1)] * 10_000).affordable


def test_costs_of_less_precision_are_what_they_print():
    control = Control({"a": np.float32(0.1)}, budget=1)
    assert Ledger.of(control.sets, 1, [(("a",), 0.1)] * 9).left == control.sets[0].exact_cost
    with pytest.raises(BudgetSpent, match=r"the budget of 0\.05 pays for nothing: 0 in 0 plays, 0\.05 is left"):
        _ = Ledger.of(control.sets, 0.05, []).affordable


def test_an_exhausted_budget_says_so_and_what_was_told_stays():
    control = Control({"ph": 0.3, ("ph", "nh3"): 1.0}, budget=1.0)
    study = Study(FARM, control=control, context=LAWS, objective=Expectation(), seed=1)
    for _ in range(3):
        trial = study.ask()
        assert trial.cost == 0.3
        study.tell(trial, trial.decision["ph"], context=dict.fromkeys(trial.left, 1.0))
    with pytest.raises(BudgetSpent, match=r"0\.9 in 3 plays, 0\.1 is left and the cheapest control set costs 0\.3"):
        study.ask()
    assert len(study.trials()) == 3
    assert study.recommend().control in {("ph",), ("ph", "nh3")}


@pytest.mark.parametrize(("leftover", "costs"), [("stop", [1.0]), ("spend", [1.0, 0.3, 0.3])])
def test_the_rest_of_a_budget_may_be_spent_on_cheaper_sets(leftover, costs):
    control = Control({"ph": 0.3, ("ph", "nh3"): 1.0}, budget=1.7, rule=BestValue(), leftover=leftover)
    study = Study(FARM, control=control, context=LAWS, objective=Expectation(), initial=1, seed=1)
    study.add([{"ph": 7.0, "nh3": 1.0, "value": 1.0}, {"ph": 5.0, "nh3": 2.0, "value": 0.0}])
    for cost in costs:
        trial = study.ask()
        assert trial.cost == cost
        study.tell(trial, trial.decision["ph"], context=dict.fromkeys(trial.left, 1.0))
    with pytest.raises(BudgetSpent, match="cheapest" if leftover == "spend" else "does not pay for the chosen"):
        study.ask()
    with pytest.raises(InvalidInput, match=r"Control\(leftover=\.\.\.\)"):
        Control({"ph": 1}, leftover="keep")


def test_what_is_waiting_is_paid_for():
    control = Control({"ph": 0.3}, budget=1.0)
    study = Study(FARM, control=control, context=LAWS)
    assert len(study.ask(3)) == 3
    with pytest.raises(BudgetSpent):
        study.ask()


@pytest.mark.parametrize("budget", [0.9, 1.0])
def test_a_batch_that_cannot_be_paid_for_is_not_asked_at_all(budget):
    study = Study(FARM, control=Control({"ph": 0.3}, budget=budget), context=LAWS)
    with pytest.raises(BudgetSpent):
        study.ask(4)
    assert len(study.trials()) == 0
    assert len(study.ask(3)) == 3


@pytest.mark.parametrize(("variance", "scale"), [(0.02, 0.142), (0.04, 0.214), (0.08, 0.906)])
def test_a_truncated_normal_has_the_variance_asked_for(variance, scale):
    law = truncated_normal(0.5, variance)
    assert law.var() == pytest.approx(variance, rel=1e-9)
    assert law.kwds["scale"] == pytest.approx(scale, abs=6e-4)
    moved = truncated_normal(6.5, 25 * variance, 4, 9)
    assert moved.var() == pytest.approx(25 * variance, rel=1e-9)
    assert moved.support() == pytest.approx((4, 9))


@pytest.mark.parametrize(
    "mistake",
    [
        {"mean": 2.0, "variance": 0.01},
        {"mean": 0.5, "variance": 1 / 12},
        {"mean": 0.5, "variance": 0.0},
        {"mean": 0.5, "variance": -1e-14},
        {"mean": 0.5, "variance": 0.01, "lower": 1.0},
    ],
)
def test_truncated_normals_that_do_not_exist(mistake):
    with pytest.raises(InvalidInput, match="truncated_normal"):
        truncated_normal(**mistake)


def test_tables_say_what_was_left_alone_and_paid():
    study = Study(FARM, control=Control({"ph": 0.25}, budget=9, rule=CostAdaptive()), context=LAWS)
    trial = study.ask()
    assert (trial.left, trial.cost) == (("nh3",), 0.25)
    study.tell(trial, 1.0, context={"nh3": 0.5})
    row = study.trials().iloc[0]
    assert (row["left"], row["cost"], row["nh3"], row["value"]) == ("nh3", 0.25, 0.5, 1.0)
    with pytest.raises(InvalidInput, match="context"):
        study.tell(study.ask(), 1.0, context={"ph": 0.5})
