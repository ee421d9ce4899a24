import pytest

import allweather as aw
from allweather import Choice, Context, Integer, InvalidInput, Real
from allweather.serialization import decode_space, encode_space
from allweather.space.text import assignments, describe, heading, units_of, value

VARIABLES = {"demand": Context(0, 9), "pots": Integer(1, 5), "wood": Choice("oak", 7, True), "dose": Real(0.1, 9, True)}


def test_pairs_are_read_in_the_type_of_their_variable():
    read = assignments(["demand = 3", "pots=2", "wood=7", "dose=1e-1"], VARIABLES, "--context")
    assert read == {"demand": 3.0, "pots": 2, "wood": 7, "dose": 0.1}
    assert [type(each) for each in read.values()] == [float, int, int, float]
    assert assignments([], VARIABLES, "--context") == {}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["demand"], "be name=value"),
        (["deman=3"], "did you mean 'demand'"),
        (["demand=3", "demand=4"], "say demand once"),
        (["demand=much"], r"demand=\.\.\.` must be a number"),
        (["demand=nan"], "must be a number"),
        (["demand=1_000"], "must be a number"),
        (["wood=ash"], "be one of oak, 7, True"),
        (["x" * 201 + "=1"], "at most 200 characters"),
    ],
)
def test_pairs_that_are_refused(pairs, message):
    with pytest.raises(InvalidInput, match=message):
        assignments(pairs, VARIABLES, "--context")


def test_a_fraction_is_left_for_the_variable_to_refuse():
    assert value("2.5", Integer(1, 5), "pots") == 2.5


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (Real(0, 1), "decision, 0 to 1"),
        (Real(0.01, 100, log=True), "decision, log scale, 0.01 to 100"),
        (Integer(1, 5), "decision, integer, 1 to 5"),
        (Context(Choice("dry", "wet")), "context, dry | wet"),
        (Context(0, 9), "context, 0 to 9"),
    ],
)
def test_variables_in_a_few_words(variable, text):
    assert describe(variable) == text


def test_units_are_shown_and_do_not_make_another_study():
    space = aw.Space(dose=aw.Real(0, 9, unit="mg"), runs=aw.Integer(1, 4, unit="h"), heat=aw.Context(0, 40, unit="°C"))
    assert units_of(space.variables) == {"dose": "mg", "runs": "h", "heat": "°C"}
    assert describe(space.variables["heat"]) == "context, 0 to 40 °C"
    assert heading("dose", space.variables["dose"]) == "dose (mg)"
    plain = aw.Space(dose=aw.Real(0, 9), runs=aw.Integer(1, 4), heat=aw.Context(0, 40))
    assert repr(space) == repr(plain)
    assert space == plain
    assert units_of(decode_space(encode_space(space), "test").variables) == units_of(space.variables)
    with pytest.raises(aw.InvalidInput, match=r"Real\(unit=\.\.\.\)"):
        aw.Real(0, 1, unit=" ")
