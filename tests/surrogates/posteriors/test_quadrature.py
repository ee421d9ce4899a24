"""The bound of a weighted mean in closed form agrees with the field's, and its gradient with automatic ones."""

import pytest
import torch
from tests.surrogates.tables import table, uniform

from allweather import GP


@pytest.mark.parametrize(
    "kernel",
    [
        "rbf",
        "matern32",
        "matern52",
        "matern32-columns",
        "matern-columns",
        "rational-quadratic",
        "rational-quadratic-columns",
    ],
)
@pytest.mark.parametrize("width", [0.0, 1.5])
def test_values_and_gradients_are_those_of_the_field(kernel, width):
    field = GP(kernel, outputscale="fit").fit(table(20)).field(uniform(40, 2))
    weights, decisions = uniform(40, seed=3).softmax(-1), uniform(5, 2, seed=2).requires_grad_()
    expected = field.upper(decisions, weights, width)
    (gradient,) = torch.autograd.grad(expected.sum(), decisions)
    closed = field.quadrature(weights, width)
    values, slopes = closed.slopes(decisions.detach().numpy())
    torch.testing.assert_close(torch.from_numpy(values), expected.detach(), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(torch.from_numpy(slopes), gradient, rtol=1e-8, atol=1e-9)
    assert closed.values(decisions.detach().numpy()) == pytest.approx(values, rel=1e-12)


def test_a_decision_about_which_everything_is_known_has_a_finite_gradient():
    known = table(6, noise=0.0)
    field = GP("rbf", noise=0.0).fit(known).field(known.contexts[:1])
    values, slopes = field.quadrature(torch.ones(1, dtype=torch.float64), 1.0).slopes(known.decisions[:1].numpy())
    assert torch.from_numpy(slopes).isfinite().all()
    assert values[0] == pytest.approx(float(known.values[0]), abs=0.02)
