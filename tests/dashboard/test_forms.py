import pytest

import allweather as aw
from allweather.dashboard.forms import Form, VariableField
from allweather.errors import InvalidInput


def test_fields_have_the_kind_of_their_variable():
    assert VariableField.of("decision", "n", aw.Integer(1, 9), {}).kind == "integer"
    assert VariableField.of("decision", "x", aw.Real(0, 1), {}).kind == "number"
    wood = VariableField.of("context", "wood", aw.Context(aw.Choice("oak", "pine")), {"context:wood": "oak"})
    assert (wood.kind, wood.options, wood.text) == ("choice", ("oak", "pine"), "oak")


def test_rows_hold_only_what_was_entered():
    form = Form({"context:demand": " 3 ", "context:rain": ""})
    variables = {"demand": aw.Real(0, 9), "rain": aw.Real(0, 9)}
    assert form.row("context", variables) == {"demand": 3.0}
    assert form.row("decision", variables) is None


@pytest.mark.parametrize(("text", "values"), [("1.5", [1.5]), ("1 2", [1.0, 2.0]), ("1; 2", [1.0, 2.0]), ("", None)])
def test_outcomes(text, values):
    assert Form({"values": text}).outcomes() == values


def test_a_decimal_comma_is_named():
    with pytest.raises(InvalidInput) as caught:
        Form({"values": "42,5"}).outcomes()
    assert (caught.value.where, caught.value.received) == ("outcome", "42,5")
