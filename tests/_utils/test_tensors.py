import math

import numpy as np
import pytest
import torch

from allweather import InvalidInput
from allweather._utils.tensors import (
    argsort,
    as_tensor,
    as_weights,
    ascending,
    crossing,
    increasing_root,
    with_gradient,
)


def test_roots_of_steep_flat_and_jumping_functions():
    one = torch.ones(3, dtype=torch.float64)
    power = torch.tensor([1.0, 9.0, 1 / 9], dtype=torch.float64)
    root = increasing_root(lambda x: (x**power - 2, power * x ** (power - 1)), 0 * one, 1e3 * one, 5 * one)[1]
    torch.testing.assert_close(root, 2 ** (1 / power))

    step = increasing_root(lambda x: (torch.where(x < math.pi, -1.0, 1.0), 0 * x), 0 * one, 10 * one, 5 * one)
    assert step[0].max() < math.pi <= step[1].min()
    torch.testing.assert_close(*step)


def test_a_row_that_settles_early_stays():
    low, high = torch.zeros(2, dtype=torch.float64), torch.full((2,), 50.0, dtype=torch.float64)
    target = torch.tensor([1.0, 1e12], dtype=torch.float64)
    root = increasing_root(lambda x: (x.exp() - target, x.exp()), low, high, low + 1)[1]
    torch.testing.assert_close(root, target.log())


def test_gradients_are_only_attached_where_they_are_wanted():
    values = torch.ones(2, 3)
    result = torch.zeros(2)
    assert with_gradient(result, lambda: 1 / 0, values) is result


def test_sorting_agrees_with_torch():
    values = torch.randn(5, 17, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = torch.rand(17, dtype=torch.float64)
    order = values.argsort(-1)
    assert torch.equal(argsort(values), order)
    assert torch.equal(ascending(values, weights)[0], values.sort(-1).values)
    assert torch.equal(ascending(values, weights)[1], weights[order])
    equal = torch.full((17,), 1 / 17, dtype=torch.float64)
    assert torch.equal(ascending(values, equal)[0], values.sort(-1).values)


@pytest.mark.parametrize("n", [1, 2, 64, 4096, 5000])
def test_sorted_pairs_stay_together(n):
    """Negative, tiny, zero and equal values too."""
    source = torch.Generator().manual_seed(n)
    values = torch.randn(3, n, generator=source, dtype=torch.float64) * 10.0 ** torch.randint(
        -300, 3, (3, n), generator=source
    )
    values[:, ::3] = 0.0
    weights = torch.rand(n, generator=source, dtype=torch.float64)
    ordered, carried = ascending(values, weights)
    torch.testing.assert_close(ordered, values.sort(-1).values, rtol=1e-12, atol=1e-305)
    expected = torch.stack([torch.cat([values, weights.expand(3, n)]).reshape(2, 3, n)[:, i].T for i in range(3)])
    for i in range(3):
        pairs = torch.stack([ordered[i], carried[i]], 1)
        assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, expected[i].tolist()))


@pytest.mark.parametrize("data", ["text", [[1.0], [1.0, 2.0]], object(), [None, 1.0], [math.nan], [1.0, -math.inf]])
def test_what_is_no_array_of_numbers_is_refused(data):
    with pytest.raises(InvalidInput, match=r"X\(y"):
        as_tensor(data, "X(y=...)")


def test_large_finite_values_pass():
    assert as_tensor([1e308, 1e308], "X").tolist() == [1e308, 1e308]
    assert as_tensor(np.float32([1.5]), "X").dtype == torch.float64


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.5, -0.5], [1.0], [math.nan, 1.0], [0.2, 0.2, 0.6]])
def test_weights_are_probabilities(weights):
    with pytest.raises(InvalidInput, match="weights"):
        as_weights(weights, 2, "Finite(weights=...)")


def test_crossings_of_smooth_steep_and_jumping_functions():
    roots = torch.tensor([0.1, 0.5, 0.9, 0.3], dtype=torch.float64)

    def function(x):
        smooth, steep = (x - roots)[:2], 1e6 * (x - roots)[2:3] ** 3
        jump = torch.where(x[3:] < roots[3], -1.0, 1.0)
        return torch.cat([torch.expm1(smooth), steep, jump])

    found = crossing(function, torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64), 1e-10)
    torch.testing.assert_close(found, roots, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [100, 128, 1000, 4096, 5000])
@pytest.mark.parametrize("shift", [0.0, -3.0, 1e9])
def test_argsort_of_every_size_and_height(n, shift):
    values = torch.randn(5, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64) + shift
    values[:, : n // 4] = values[:, n // 2 : n // 2 + n // 4]
    order = argsort(values)
    assert (order.sort(-1).values == torch.arange(n)).all()
    ordered = values.gather(-1, order)
    span = values.amax(-1, keepdim=True) - values.amin(-1, keepdim=True)
    assert (ordered.diff() >= -1e-11 * span).all()
