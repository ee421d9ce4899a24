import pandas as pd
import pytest
import torch

from allweather import Choice, Context, Finite, InvalidInput, Real, Space
from allweather.testing import ContextModelSuite

NOTHING = torch.empty(0, 1, dtype=torch.float64)
SPACE = Space(x=Real(0, 1), wind=Context(-10, 10), lot=Context(Choice("A", "B")))


class TestFinite(ContextModelSuite):
    def make(self, dimension):
        return Finite([[0.1] * dimension, [0.8] * dimension], [0.3, 0.7])


def test_named_contexts_speak_the_users_units():
    model = Finite([{"wind": -10, "lot": "A"}, {"wind": 5, "lot": "B"}]).on(SPACE.contexts)
    reference = model.reference(NOTHING, 1, torch.Generator())
    assert reference.points.tolist() == [[0, 1, 0], [0.75, 0, 1]]
    assert reference.weights.tolist() == [0.5, 0.5]


def test_a_data_frame_has_names_and_a_tensor_is_copied():
    frame = pd.DataFrame({"lot": ["B", "A"], "wind": [0.0, 10.0]})
    assert Finite(frame).on(SPACE.contexts).reference(NOTHING, 1, torch.Generator()).points[0].tolist() == [0.5, 0, 1]
    points = torch.tensor([[0.2]], dtype=torch.float64)
    model = Finite(points)
    points[0] = 0.9
    assert model.reference(NOTHING, 1, torch.Generator()).points.item() == 0.2


def test_arrays_are_rows_in_the_users_units():
    space = Space(x=Real(0, 1), wind=Context(-10, 10))
    model = Finite([[-10.0], [0.0]], [1.0, 0.0]).on(space.contexts)
    assert model.reference(NOTHING, 1, torch.Generator()).points.tolist() == [[0.0], [0.5]]


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (lambda: Finite([]), "at least one point"),
        (lambda: Finite(5), "at least one point"),
        (lambda: Finite([{"wind": 1}, 3]).on(Space(wind=Context(-10, 10)).contexts), "by name"),
        (lambda: Finite([[5.0]]).reference(NOTHING, 1, torch.Generator()), "unit cube"),
        (lambda: Finite([[0.1], [0.2]], [0.5, 0.6]), "sum to 1"),
        (lambda: Finite([[0.1], [0.2]], [1.0]), "one weight per point"),
        (lambda: Finite([[float("nan")]]), "finite"),
        (lambda: Finite([0.1, 0.2]), r"\(n, d_c\)"),
        (lambda: Finite([[11.0]]).on(Space(w=Context(-10, 10)).contexts), "context w"),
        (lambda: Finite([[1.0, 2.0]]).on(Space(w=Context(-10, 10)).contexts), "one column for each"),
        (lambda: Finite([{"wnid": 1}]).on(Space(wind=Context(-10, 10)).contexts), "wnid"),
    ],
)
def test_bad_input_is_refused_by_name(declaration, message):
    with pytest.raises(InvalidInput, match=message):
        declaration()


def test_named_contexts_need_their_space():
    with pytest.raises(InvalidInput, match="give it the space"):
        Finite([{"wind": 0.0}]).reference(NOTHING, 1, torch.Generator())
