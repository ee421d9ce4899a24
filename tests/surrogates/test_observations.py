import pytest

from allweather import InvalidInput, Observations


def test_every_row_is_a_trial_unless_said_otherwise():
    assert Observations.of([[0.1]], [[0.2]], [1.0]).seen.tolist() == [[0.2]]
    assert Observations.of([[0.1]], [[0.2]], [1.0], seen=[[0.2], [0.3]]).seen.tolist() == [[0.2], [0.3]]


@pytest.mark.parametrize(
    "wrong",
    [
        ([0.1], [[0.2]], [1.0]),
        ([[0.1]], [[0.2]], [1.0, 2.0]),
        ([[0.1]], [[0.2]], [float("nan")]),
        ([["a"]], [[1]], [1]),
    ],
)
def test_refuses_by_name(wrong):
    with pytest.raises(InvalidInput, match="Observations"):
        Observations.of(*wrong)
