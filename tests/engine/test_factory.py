import pytest

import allweather as aw
from allweather.engine import Engine
from allweather.engine.controlled import ControlledEngine
from allweather.engine.factory import EngineFactory, check_start, resolve_method
from allweather.methods.composition import Composition

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
FARM = aw.Space(ph=aw.Real(4, 9), nh3=aw.Real(0, 2))
QUICK = Composition(context=aw.KDE(16), objective=aw.Expectation(), acquisition=aw.UCB(1.0))


def test_one_engine_or_one_per_control_set():
    assert isinstance(EngineFactory(SPACE).engine(QUICK, None), Engine)
    control = aw.Control({"ph": 1.0, ("ph", "nh3"): 2.0})
    assert isinstance(EngineFactory(FARM).engine(Composition(context=aw.KDE(16)), control), ControlledEngine)


def test_as_many_initial_decisions_as_columns_and_one_more_or_as_asked():
    wide = aw.Space(**{f"x{i}": aw.Real(0, 1) for i in range(7)})
    assert EngineFactory(SPACE).engine(QUICK, None).initial == 5
    assert EngineFactory(wide).engine(Composition(), None).initial == 8
    assert EngineFactory(wide, initial=2).engine(Composition(), None).initial == 2


def test_the_direction_is_a_sign():
    assert EngineFactory(SPACE, "maximize").sign == 1
    assert EngineFactory(SPACE, "minimize").sign == -1


def test_one_constraint_is_a_list_of_one():
    limit = aw.LinearConstraint({"order": 1.0}, upper=0.5)
    assert EngineFactory(SPACE, constraints=limit).limits == (limit,)
    design = EngineFactory(SPACE, constraints=[limit]).engine(QUICK, None).design(20)
    assert design.max() <= 0.5


def test_candidates_are_all_there_is():
    rows = [{"order": 0.1}, {"order": 0.7}]
    design = EngineFactory(SPACE, candidates=rows).engine(QUICK, None).design(8)
    assert {round(value, 6) for value in design.flatten().tolist()} == {0.1, 0.7}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": {"order": (0, 1)}}, r"Study\(space=\.\.\.\)` must be a Space"),
        ({"space": aw.Space(demand=aw.Context(0, 1))}, "have a variable to decide"),
        ({"space": aw.Space(value=aw.Real(0, 1))}, "like a column"),
        ({"direction": "up"}, r"Study\(direction=\.\.\.\)"),
        ({"seed": -1}, r"Study\(seed=\.\.\.\)"),
        ({"seed": 1.5}, r"Study\(seed=\.\.\.\)"),
        ({"initial": 0}, r"Study\(initial=\.\.\.\)"),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    with pytest.raises(aw.InvalidInput, match=message):
        EngineFactory(**{"space": SPACE, **arguments})


def test_errors_name_what_the_user_called():
    with pytest.raises(aw.InvalidInput) as error:
        check_start(None, -1, "AllweatherSampler")
    assert error.value.where == "AllweatherSampler(seed=...)"
    with pytest.raises(aw.InvalidInput) as error:
        resolve_method(7, "AllweatherNode")
    assert error.value.where == "AllweatherNode(method=...)"


def test_methods_by_name_or_as_they_are():
    assert repr(resolve_method(None)) == repr(Composition())
    assert resolve_method(QUICK) is QUICK
    assert isinstance(resolve_method("wdrbo"), Composition)
    with pytest.raises(aw.InvalidInput, match="did you mean 'wdrbo'"):
        resolve_method("wdrb")


def test_control_goes_with_methods_that_choose_sets():
    with pytest.raises(aw.InvalidInput, match="be given with a method that chooses among control sets"):
        EngineFactory(FARM).engine(aw.method("etc-ada"), None)
    with pytest.raises(aw.InvalidInput, match="be a Control"):
        EngineFactory(FARM).engine(Composition(), {"ph": 1.0})


def test_what_a_study_is_resumed_by():
    identity = EngineFactory(SPACE, seed=3).identity(EngineFactory(SPACE, seed=3).engine(QUICK, None))
    assert identity == {
        "space": repr(SPACE),
        "direction": "maximize",
        "seed": "3",
        "method": "Expectation; UCB",
        "context": "KDE",
        "distance": "",
        "surrogate": "GP",
        "constraints": "",
        "candidates": "",
        "outcomes": "",
    }
