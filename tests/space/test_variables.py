import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allweather import Choice, Context, Integer, InvalidInput, Real

VARIABLES = [Real(-2, 5), Real(0.01, 100, log=True), Integer(-3, 4), Choice("oak", 7, True), Context(Choice(0.5, "b"))]


@pytest.mark.parametrize("variable", VARIABLES, ids=repr)
@given(units=st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_legal_values_come_back(variable, units):
    value = variable.decode(units[: variable.columns])
    columns = variable.encode(value, "x")
    assert len(columns) == variable.columns
    assert all(0 <= column <= 1 for column in columns)
    again = variable.decode(columns)
    assert again == pytest.approx(value) if isinstance(value, float) else again == value


@pytest.mark.parametrize("variable", VARIABLES, ids=repr)
def test_snapping_is_encoding_what_decoding_gives(variable):
    units = torch.rand(50, variable.columns, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for row, snapped in zip(units.tolist(), variable.snap(units).tolist(), strict=True):
        assert snapped == pytest.approx(variable.encode(variable.decode(row), "x"))


def test_bounds_are_reached_and_not_passed():
    for variable in (Real(0.1, 0.3), Real(1e-3, 1e3, log=True), Integer(2, 9)):
        assert variable.decode([0.0]) == variable.lower
        assert variable.decode([1.0]) == variable.upper
        assert variable.decode([1.5]) == variable.upper
        assert (variable.encode(variable.lower, "x"), variable.encode(variable.upper, "x")) == ([0.0], [1.0])


def test_a_logarithmic_scale_halves_orders_of_magnitude():
    variable = Real(1, 100, log=True)
    assert variable.encode(10, "x") == pytest.approx([0.5])
    assert variable.decode([0.25]) == pytest.approx(math.sqrt(10))
    np.testing.assert_allclose(variable.to_unit(np.array([0.1, 10.0, 1000.0])), [0, 0.5, 1])


def test_options_keep_their_type():
    choice = Choice("1", 1, 2.5)
    assert choice.encode(1, "x") == [0, 1, 0]
    assert choice.decode([0.2, 0.9, 0.9]) == 1
    assert type(choice.decode([1, 0, 0])) is str


@pytest.mark.parametrize(
    "declaration",
    [
        lambda: Real(1, 1),
        lambda: Real(2, 1),
        lambda: Real(0, math.inf),
        lambda: Real("0", 1),
        lambda: Real(0, 1, log=True),
        lambda: Integer(0, 1.5),
        lambda: Integer(True, 3),
        lambda: Choice("oak"),
        lambda: Choice("oak", "oak"),
        lambda: Choice("oak", math.nan),
        lambda: Choice("oak", None),
        lambda: Context(1),
        lambda: Context(Context(0, 1)),
        lambda: Context(Real(0, 1), 2),
    ],
)
def test_declarations_that_are_refused(declaration):
    with pytest.raises(InvalidInput, match=r"^`(Real|Integer|Choice|Context)\("):
        declaration()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (Real(0, 1), 1.1),
        (Real(0, 1), math.nan),
        (Real(0, 1), "0.5"),
        (Real(0, 1), True),
        (Integer(0, 5), 2.5),
        (Integer(0, 5), 6),
        (Choice("oak", "pine"), "ash"),
        (Choice("oak", "pine"), ["oak"]),
        (Context(0, 1), -0.1),
    ],
)
def test_values_that_are_refused_are_named(variable, value):
    with pytest.raises(InvalidInput) as error:
        variable.encode(value, "decision x")
    assert error.value.where == "decision x"
    assert error.value.received is value


@pytest.mark.parametrize(
    "make",
    [
        lambda: Real(-1e308, 1e308),
        lambda: Real(1e-200, 1e200, log=True),
        lambda: Real(1e16, 1e16 + 4),
        lambda: Integer(2**60, 2**60 + 3),
        lambda: Integer(0, 10**400),
        lambda: Choice("x" * 2000, "y"),
    ],
)
def test_ranges_that_floats_cannot_resolve_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_numbers_of_any_size_are_compared_exactly():
    with pytest.raises(InvalidInput, match="be a number in"):
        Real(0, 1).encode(10**400, "x")
    assert Real(0, 1e305).decode(Real(0, 1e305).encode(5e304, "x")) == pytest.approx(5e304)
