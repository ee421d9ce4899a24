import pytest

import allweather as aw
from allweather.engine import Engine
from allweather.engine.controlled import ControlledEngine
from allweather.engine.factory import build_engine
from allweather.study import Spec

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
FARM = aw.Space(ph=aw.Real(4, 9), nh3=aw.Real(0, 2))
QUICK = {"context": aw.KDE(16), "objective": aw.Expectation(), "acquisition": aw.UCB(1.0)}


def test_one_engine_or_one_per_control_set():
    assert isinstance(build_engine(Spec.of(SPACE, **QUICK)), Engine)
    control = aw.Control({"ph": 1.0, ("ph", "nh3"): 2.0})
    assert isinstance(build_engine(Spec.of(FARM, context=aw.KDE(16), control=control)), ControlledEngine)


def test_as_many_initial_decisions_as_columns_and_one_more_or_as_asked():
    wide = aw.Space(**{f"x{i}": aw.Real(0, 1) for i in range(7)})
    assert build_engine(Spec.of(SPACE, **QUICK)).initial == 5
    assert build_engine(Spec.of(wide)).initial == 8
    assert build_engine(Spec.of(wide, initial=2)).initial == 2


def test_one_constraint_is_a_list_of_one():
    limit = aw.LinearConstraint({"order": 1.0}, upper=0.5)
    assert Spec.of(SPACE, constraints=limit).constraints == (limit,)
    assert build_engine(Spec.of(SPACE, constraints=[limit], **QUICK)).design(20).max() <= 0.5


def test_candidates_are_all_there_is():
    rows = [{"order": 0.1}, {"order": 0.7}]
    design = build_engine(Spec.of(SPACE, candidates=rows, **QUICK)).design(8)
    assert {round(value, 6) for value in design.flatten().tolist()} == {0.1, 0.7}


def test_control_goes_with_methods_that_choose_sets():
    with pytest.raises(aw.InvalidInput, match="be given with a method that chooses among control sets"):
        build_engine(Spec.of(FARM, method="etc-ada"))
