import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from allweather import Choice, Context, Integer, InvalidInput, Real, Space

SPACE = Space(
    gain=Real(1e-3, 10, log=True),
    layers=Integer(1, 7),
    wood=Choice("oak", "pine", "ash"),
    wind=Context(-20, 20),
    lot=Context(Choice("A", "B")),
)


def test_roles_and_columns():
    assert list(SPACE.decisions) == ["gain", "layers", "wood"]
    assert list(SPACE.contexts) == ["wind", "lot"]
    assert SPACE.decisions.columns == 5
    assert SPACE.contexts.columns == 3


@given(
    gain=st.floats(1e-3, 10),
    layers=st.integers(1, 7),
    wood=st.sampled_from(["oak", "pine", "ash"]),
)
def test_there_and_back(gain, layers, wood):
    row = {"gain": gain, "layers": layers, "wood": wood}
    unit = SPACE.decisions.encode(row)
    assert bool(((unit >= 0) & (unit <= 1)).all())
    (back,) = SPACE.decisions.decode(unit)
    assert back["gain"] == pytest.approx(gain)
    assert (back["layers"], back["wood"]) == (layers, wood)


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_any_point_of_the_cube_is_a_legal_decision(unit):
    point = torch.tensor([unit], dtype=torch.float64)
    (row,) = SPACE.decisions.decode(point)
    torch.testing.assert_close(SPACE.decisions.encode(row), SPACE.decisions.snap(point), atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gain": 11}, r"`decision gain` must be a number in \[0.001, 10\], got 11"),
        ({"gain": math.nan}, "decision gain"),
        ({"gain": "much"}, "decision gain"),
        ({"layers": 2.5}, "whole number"),
        ({"wood": "elm"}, "one of"),
        ({"gian": 1}, "unknown 'gian'"),
    ],
)
def test_bad_decisions_are_refused_by_name(change, message):
    with pytest.raises(InvalidInput, match=message):
        SPACE.decisions.encode({"gain": 1.0, "layers": 2, "wood": "oak"} | change)


def test_a_missing_variable_is_named():
    with pytest.raises(InvalidInput, match="lacks 'lot'"):
        SPACE.contexts.encode({"wind": 3})


def test_a_context_outside_its_box_is_refused():
    with pytest.raises(InvalidInput, match=r"`context wind` must be a number in \[-20, 20\], got 21"):
        SPACE.contexts.encode({"wind": 21, "lot": "A"})


def test_numpy_numbers_are_numbers():
    assert Space(x=Real(0, 2)).decisions.encode({"x": np.float32(1)}).item() == 0.5


@pytest.mark.parametrize(
    "declaration",
    [
        lambda: Real(1, 1),
        lambda: Real(2, 1),
        lambda: Real(0, math.inf),
        lambda: Real(0, 1, log=True),
        lambda: Integer(0.5, 2),
        lambda: Choice("only"),
        lambda: Choice("a", "a"),
        lambda: Context(0),
        lambda: Context(Context(0, 1)),
        lambda: Space(x=3),
    ],
)
def test_bad_declarations_are_refused(declaration):
    with pytest.raises(InvalidInput):
        declaration()


def test_a_control_set_splits_the_variables():
    half = SPACE.controlling(["wind", "gain"])
    assert list(half.decisions) == ["gain", "wind"]
    assert list(half.contexts) == ["layers", "wood", "lot"]
    assert half.controlling(["gain", "layers", "wood"]) == SPACE
    assert hash(half.controlling(["gain", "layers", "wood"])) == hash(SPACE)
    with pytest.raises(InvalidInput, match="wnid"):
        SPACE.controlling(["wnid"])


def test_empty_halves_and_empty_tables_have_a_shape():
    assert Space(x=Real(0, 1)).contexts.encode([{}, {}]).shape == (2, 0)
    assert SPACE.decisions.encode([]).shape == (0, 5)


def test_decoding_refuses_a_wrong_shape():
    with pytest.raises(InvalidInput, match=r"\(b, 5\)"):
        SPACE.decisions.decode(torch.zeros(2, 4))


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: SPACE.decisions.encode([1, 2]),
        lambda: SPACE.decisions.encode("abc"),
        lambda: SPACE.decisions.encode({"gain": 1, "layers": 2, "wood": np.array(["oak", "ash"])}),
        lambda: SPACE.decisions.decode(torch.full((1, 5), torch.nan)),
        lambda: SPACE.controlling("gain"),
        lambda: Choice([1], [2]),
        lambda: Choice(0.0, math.nan),
        lambda: Space(x=Real(0, 2)).decisions.encode({"x": np.True_}),
    ],
)
def test_other_mistakes_are_refused_too(mistake):
    with pytest.raises(InvalidInput):
        mistake()


def test_a_data_frame_is_a_list_of_rows():
    frame = pd.DataFrame({"wind": [-20.0, 20.0], "lot": ["A", "B"]})
    assert SPACE.contexts.encode(frame).tolist() == [[0, 1, 0], [1, 0, 1]]


def test_numpy_bounds():
    assert Space(x=Real(np.float32(0), np.int64(2)), n=Integer(np.int64(0), 4)).decisions.columns == 2


@given(st.lists(st.floats(-0.5, 1.5), min_size=5, max_size=5))
def test_snapping_gives_the_point_of_the_decision_that_decoding_gives(unit):
    points = torch.tensor([unit], dtype=torch.float64)
    snapped = SPACE.decisions.snap(points)
    # Half-way between two whole numbers either is nearest.
    assume(abs(6 * unit[1] % 1 - 0.5) > 1e-9)
    assert torch.allclose(snapped, SPACE.decisions.encode(SPACE.decisions.decode(points)), rtol=0, atol=1e-12)
    assert torch.equal(SPACE.decisions.snap(snapped), snapped)


def test_snapping_batches_contexts_and_empty_boxes():
    points = torch.tensor([[0.5, 0.2, 0.7], [1.5, 0.4, 0.4]], dtype=torch.float64)
    assert SPACE.contexts.snap(points).tolist() == [[0.5, 0, 1], [1, 1, 0]]
    assert SPACE.contexts.snap(points[:0]).shape == (0, 3)
    assert Space(x=Real(0, 1)).contexts.snap(torch.zeros(2, 0)).shape == (2, 0)
    with pytest.raises(InvalidInput, match=r"Box.snap\(points=...\)"):
        SPACE.contexts.snap(torch.zeros(3))


def test_many_rows_are_encoded_as_each_of_them_is():
    box = Space(a=Real(-3, 7), b=Real(1, 100, log=True), c=Real(0, 1)).decisions
    source = np.random.default_rng(0)
    rows = [{"c": float(source.random()), "a": float(source.uniform(-3, 7)), "b": 10.0} for _ in range(20)]
    rows.append({"a": 7, "b": 1, "c": 0})
    for names in (("a", "c"), ("a", "b", "c")):
        some = Space(**{name: box[name] for name in names}).decisions
        chosen = [{name: row[name] for name in names} for row in rows]
        assert some.encode(chosen).tolist() == some.check(chosen)
    with pytest.raises(InvalidInput, match=r"decision c.*got 2"):
        box.encode([*rows, {"a": 0.0, "b": 1.0, "c": 2.0}])
