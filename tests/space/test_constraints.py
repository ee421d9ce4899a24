import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allweather import Choice, Integer, InvalidInput, Real, Space
from allweather.space.constraints import LinearConstraint, halfspaces

BOX = Space(
    a=Real(-1, 3), b=Real(0, 10), n=Integer(2, 6), wood=Choice("oak", "ash"), gain=Real(1, 9, log=True)
).decisions


@given(
    a=st.floats(-1, 3),
    b=st.floats(0, 10),
    n=st.integers(2, 6),
    upper=st.floats(-20, 20),
    weights=st.tuples(*3 * [st.floats(0.1, 5)]),
)
def test_rows_hold_where_the_constraint_holds(a, b, n, upper, weights):
    constraint = LinearConstraint(dict(zip(["a", "b", "n"], weights, strict=True)), upper=upper, lower=upper - 3)
    decision = {"a": a, "b": b, "n": n, "wood": "oak", "gain": 2}
    point = BOX.encode(decision).numpy()[0]
    rows = halfspaces([constraint], BOX)
    slack = (rows.limits - rows.normals @ point).min()
    assert np.linalg.norm(rows.normals, axis=1) == pytest.approx([1, 1])
    if abs(slack) > 1e-9:
        assert constraint.holds(decision) == (slack > 0)


def test_one_bound_is_one_row_and_no_constraint_is_none():
    assert halfspaces([LinearConstraint({"a": 1}, lower=0)], BOX).normals.tolist() == [[-1, 0, 0, 0, 0, 0]]
    assert halfspaces([], BOX).normals.shape == (0, 6)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (lambda: LinearConstraint({}, upper=1), "other than 0"),
        (lambda: LinearConstraint({"a": 0}, upper=1), "other than 0"),
        (lambda: LinearConstraint({"a": math.nan}, upper=1), "finite"),
        (lambda: LinearConstraint({"a": "b"}, upper=1), "finite numbers"),
        (lambda: LinearConstraint(["a"], upper=1), "map names"),
        (lambda: LinearConstraint({"a": 1}), "at least one bound"),
        (lambda: LinearConstraint({"a": 1}, upper=math.inf), "LinearConstraint(upper=...)"),
        (lambda: LinearConstraint({"a": 1}, upper=0, lower=1), "lower at most upper"),
    ],
)
def test_bad_declarations_are_refused(declaration, message):
    with pytest.raises(InvalidInput) as error:
        declaration()
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["wood", "gain", "elm"])
def test_constraints_on_other_variables_are_refused(name):
    with pytest.raises(InvalidInput, match=f"LinearConstraint.*{name}|among.*{name}"):
        halfspaces([LinearConstraint({name: 1}, upper=1)], BOX)


def test_other_things_are_no_constraints():
    with pytest.raises(InvalidInput, match="LinearConstraint"):
        halfspaces([3], BOX)


def test_a_constraint_is_a_value():
    one, two = LinearConstraint({"a": 1, "b": 2}, upper=3), LinearConstraint({"b": 2, "a": 1}, upper=3)
    assert one == two
    assert len({one, two}) == 1
