"""The true optima of the expected objective that the errata give."""

import numpy as np
import pytest
import scipy.optimize
import torch
from botorch.test_functions import synthetic

from allweather.contexts.base import sobol
from allweather.problems import problem


def expected(one, decisions, n=4096):
    points, weights = one.truth(n)
    return one.values(decisions, points) @ weights


def best(one, starts=256, n=4096):
    """The largest expectation found from the two best of `starts` decisions, and where."""
    points = sobol(starts, one.space.decisions.columns, torch.Generator().manual_seed(1))
    chosen = points[expected(one, points, 512).topk(2).indices].numpy()

    def loss(x):
        decision = torch.tensor(x[None], requires_grad=True)
        value = -expected(one, decision, n).sum()
        return value.item(), torch.autograd.grad(value, decision)[0][0].numpy()

    found = [scipy.optimize.minimize(loss, x, jac=True, bounds=[(0, 1)] * len(x), method="L-BFGS-B") for x in chosen]
    best = min(found, key=lambda each: each.fun)
    return -best.fun, best.x


@pytest.mark.parametrize(("sd", "optimum"), [(0.15, -10.9523), (0.2, -12.531)])
def test_ackley(sd, optimum):
    # The peak is too narrow to be found by chance, and known: the centre.
    one = problem("ackley", sd=sd)
    assert expected(one, torch.full((1, 2), 0.5)).item() == pytest.approx(optimum, abs=1e-3)
    elsewhere = sobol(512, 2, torch.Generator().manual_seed(0))
    assert expected(one, elsewhere, 512).max().item() < optimum


@pytest.mark.parametrize(("sd", "optimum"), [(0.1, -9.6039), (0.2, -16.0643)])
def test_modified_branin(sd, optimum):
    assert best(problem("modified-branin", sd=sd))[0] == pytest.approx(optimum, abs=2e-3)
    assert best(problem("modified-branin", sd=sd), n=2**16, starts=32)[0] == pytest.approx(optimum, abs=2e-4)


def test_three_hump_camel():
    value, where = best(problem("three-hump-camel", law="normal"))
    assert value == pytest.approx(-0.1564, abs=1e-4)
    assert where.item() == pytest.approx(0.5, abs=1e-4)
    assert best(problem("three-hump-camel"))[0] == pytest.approx(-1 / 3, abs=1e-4)  # E c^2 on [-1, 1]


def test_newsvendor_orders_the_median_demand():
    one = problem("newsvendor")
    orders = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None]
    value = expected(one, orders)
    assert orders[value.argmax()].item() == pytest.approx((2 ** (1 / 20) - 1) ** 0.5, abs=1e-3)


def test_hartmann6_is_what_the_published_code_found():
    assert best(problem("hartmann6"), starts=1024)[0] == pytest.approx(2.6127565, abs=2e-3)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("name", "optimum"), [("portfolio-normal", 21.6), ("portfolio-uniform", 19.3)])
def test_portfolio(name, optimum):
    # It lies on the edge of no risk and full trade aversion, with several local optima along it.
    edge = torch.tensor([[0.0, 1.0, share] for share in np.linspace(0, 1, 41)], dtype=torch.float64)
    inside = sobol(64, 3, torch.Generator().manual_seed(1))
    values = expected(problem(name), torch.cat([edge, inside]), 1024)
    assert values.max().item() == pytest.approx(optimum, abs=0.1)
    assert values.argmax() < 41


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("branin", synthetic.Branin(negate=True)),
        ("six-hump-camel", synthetic.SixHumpCamel(negate=True)),
        ("goldstein-price", None),
    ],
)
def test_the_last_variable_is_the_context(name, theirs):
    one = problem(name)
    grid = torch.linspace(0, 1, 401, dtype=torch.float64)[:, None]
    values = one.values(grid, grid)
    if theirs is None:
        assert values.max().item() == pytest.approx(-3)
    else:
        assert values.max().item() == pytest.approx(theirs.optimal_value, abs=0.01)
    assert one.observe({"x": 1.0}, {"c": 0.5}, np.random.default_rng()) == pytest.approx(
        KNOWN[name] if theirs is None else theirs(torch.tensor([[1.0, 0.5]], dtype=torch.float64)).item()
    )


KNOWN = {"goldstein-price": -(1 + 2.5**2 * 4.75) * (30 + 0.5**2 * 10.75)}


def test_the_true_law_of_the_shift_is_outside_of_the_ball():
    believed, true = scipy.stats.norm(0.5, 0.1), scipy.stats.norm(0.6, 0.2)
    quantiles = (np.arange(20_000) + 0.5) / 20_000
    apart = believed.ppf(quantiles) - true.ppf(quantiles)
    clipped = believed.ppf(quantiles).clip(0, 1) - true.ppf(quantiles).clip(0, 1)
    assert np.abs(apart).mean() == pytest.approx(0.117, abs=1e-3)
    assert np.abs(clipped).mean() == pytest.approx(0.115, abs=1e-3)
    variances = scipy.stats.norm(0.5, 0.1**0.5).ppf(quantiles) - scipy.stats.norm(0.6, 0.2**0.5).ppf(quantiles)
    assert np.abs(variances).mean() == pytest.approx(0.134, abs=1e-3)


def test_robust_beats_non_robust_on_the_shift():
    one = problem("shift-example")
    x = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None]
    told = one.belief.on(one.space).reference(torch.empty(0, 1), 0, torch.Generator().manual_seed(0))
    believed = one.values(x, told.points) @ told.weights
    robust = believed - 0.1 / ((2 * x[:, 0] - 1).abs() + 0.2)  # a Wasserstein ball of 0.1 costs radius times slope
    truth = expected(one, x)
    trusting, careful = truth[believed.argmax()].item(), truth[robust.argmax()].item()
    assert truth.max().item() - careful < 1e-3
    assert truth.max().item() - trusting > 0.05
