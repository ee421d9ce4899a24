import numpy as np
import pandas as pd
import pytest
import torch

import allweather as aw

VALUES = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]])
WEIGHTS = np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize("distance", [aw.TotalVariation(0.2), aw.ChiSquared(0.2), aw.KL(0.2)])
def test_numpy_in_numpy_out(distance):
    worst = aw.worst_case(VALUES, WEIGHTS, distance)
    assert all(isinstance(part, np.ndarray) for part in worst)
    assert worst.value.shape == worst.slope.shape == (2,)
    assert worst.weights.shape == (2, 3)
    np.testing.assert_allclose(np.sum(worst.weights * VALUES, axis=1), worst.value)
    assert worst.value[1] == pytest.approx(3.0)


def test_one_decision_gives_numbers():
    worst = aw.worst_case(VALUES[0], WEIGHTS, aw.TotalVariation(0.2))
    assert isinstance(worst.value, float)
    assert worst.value == pytest.approx(2.5)


def test_lists_series_and_frames_will_do():
    expected = aw.worst_case(VALUES, WEIGHTS, aw.KL(0.1)).value
    np.testing.assert_array_equal(aw.worst_case(VALUES.tolist(), WEIGHTS.tolist(), aw.KL(0.1)).value, expected)
    np.testing.assert_array_equal(aw.worst_case(pd.DataFrame(VALUES), pd.Series(WEIGHTS), aw.KL(0.1)).value, expected)


def test_points_on_a_line_may_be_a_flat_list():
    line = aw.worst_case(VALUES, WEIGHTS, aw.Wasserstein(0.1), points=[0.0, 0.5, 1.0])
    column = aw.worst_case(VALUES, WEIGHTS, aw.Wasserstein(0.1), points=[[0.0], [0.5], [1.0]])
    np.testing.assert_array_equal(line.value, column.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((VALUES, WEIGHTS, "tv"), r"worst_case\(distance"),
        ((VALUES, [0.5, 0.5], aw.KL(0.1)), r"worst_case\(weights=...\)` must have shape \(3,\)"),
        ((VALUES, [0.5, 0.5, 0.5], aw.KL(0.1)), "sum to 1"),
        ((VALUES, [1.2, -0.4, 0.2], aw.KL(0.1)), "non-negative"),
        ((VALUES * np.nan, WEIGHTS, aw.KL(0.1)), "finite"),
        ((VALUES, WEIGHTS, aw.MMD(0.1)), r"worst_case\(points=...\)` must be given for MMD"),
        ((VALUES, WEIGHTS, aw.MMD(0.1), [0.0, 1.0]), r"worst_case\(points=...\)` must have 3 rows"),
        (([], [], aw.KL(0.1)), "values"),
        ((VALUES + 1j, WEIGHTS, aw.KL(0.1)), "array of numbers"),
        (([["1", "2", "3"]], WEIGHTS, aw.KL(0.1)), "array of numbers"),
        ((VALUES, WEIGHTS, aw.Wasserstein(0.1), [0.0, np.nan, 1.0]), r"worst_case\(points=...\)` must be finite"),
        ((VALUES, WEIGHTS, aw.KL(aw.PowerLaw(1, 1))), "changes with the step"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(aw.InvalidInput, match=message):
        aw.worst_case(*arguments)


def test_an_empty_batch_is_an_empty_answer():
    worst = aw.worst_case(np.empty((0, 3)), WEIGHTS, aw.TotalVariation(0.2))
    assert worst.value.shape == (0,)
    assert worst.weights.shape == (0, 3)


def test_references_of_other_types_are_taken_or_refused_by_name():
    values = torch.tensor(VALUES)
    single = aw.Reference(torch.rand(3, 1), torch.tensor(WEIGHTS, dtype=torch.float32))
    assert aw.Wasserstein(0.1).worst_case(values, single).value.dtype == torch.float64
    grown = torch.tensor(WEIGHTS, requires_grad=True)
    assert not aw.ChiSquared(0.1).worst_case(values, aw.Reference(torch.rand(3, 1), grown)).value.requires_grad
    with pytest.raises(aw.InvalidInput, match=r"be a Reference\(points, weights\)"):
        aw.KL(0.1).worst_case(values, torch.tensor(WEIGHTS))
    with pytest.raises(aw.InvalidInput, match=r"\(n, d_c\)"):
        aw.KL(0.1).worst_case(values, aw.Reference(torch.rand(3), torch.tensor(WEIGHTS)))
    with pytest.raises(aw.InvalidInput, match=r"KL.worst_case\(radius=...\)` must be one number or \(2,\)"):
        aw.KL(0.1).worst_case(values, single, torch.rand(3))
    assert aw.KL(np.float32(0.25)).number == 0.25
