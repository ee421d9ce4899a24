import numpy as np
import pytest
import torch

from allweather import InvalidInput
from allweather.problems import load, problem
from allweather.problems.expansion import KernelExpansion, chebyshev_nodes, matern_sum


def uniform(count, d, seed):
    return torch.rand(count, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def dense(data, joint):
    """The formula of data/README, point by point."""
    z = (joint.numpy()[:, None] - data["centers"]) / data["lengthscales"]
    r = np.sqrt((z**2).sum(-1))
    s = np.sqrt(5) * r
    kernel = np.exp(-0.5 * r**2) if data["kernel"] == "rbf" else (1 + s + s**2 / 3) * np.exp(-s)
    return data["offset"] + data["scale"] * data["outputscale"] * (kernel @ data["weights"])


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("file", ["plant_ph_nh3", "infection", "portfolio", "plant_5d", "airfoil"])
def test_it_is_the_formula(file):
    data = load(file)
    joint = uniform(7, data["centers"].shape[1], 0)
    joint[0] = torch.from_numpy(data["centers"][0])
    ours = KernelExpansion.of(data)(joint[:, :-1], joint[:, -1:]).diagonal()
    np.testing.assert_allclose(ours, dense(data, joint), rtol=1e-9, atol=1e-8)


@pytest.mark.usefixtures("data")
def test_many_contexts_are_interpolated_to_six_digits():
    one = problem("portfolio-normal")
    contexts, decisions = one.truth(512).points, uniform(4, 3, 1)
    decisions[0] = one.function.centres[0, :3]
    contexts[:3] = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    contexts[3] = one.function.centres[0, 3:]
    exact = torch.cat([one.values(decisions, block) for block in contexts.split(256)], dim=1)
    values = one.values(decisions, contexts)
    assert len(contexts) > len(chebyshev_nodes()) >= 256
    assert (values - exact).abs().max().item() < 1e-4  # of a range of 30
    x = decisions[1:2].clone().requires_grad_()
    few, many = (torch.autograd.grad(one.values(x, c).mean(), x)[0] for c in (contexts[:300], contexts))
    assert torch.isfinite(many).all()
    assert (few - many).abs().max() < 10


def test_matern_gradients():
    a, b, w = uniform(3, 4, 0), uniform(5, 4, 1), uniform(1, 4, 2)[0] - 0.5
    a[0, 0] = b[0, 0] = 0.3
    assert torch.autograd.gradcheck(lambda p, q: matern_sum(p, q, w), (a.requires_grad_(), b.requires_grad_()))


def test_matern_gradient_at_a_centre():
    bump = KernelExpansion("matern52", torch.full((1, 3), 0.5), torch.ones(1), torch.ones(3))
    x = torch.full((1, 2), 0.5, requires_grad=True)
    value = bump(x, torch.full((1, 1), 0.5))
    assert value.item() == 1
    assert torch.autograd.grad(value.sum(), x)[0].abs().max().item() == 0


def test_blocks_do_not_change_values(monkeypatch):
    bump = KernelExpansion("rbf", uniform(20, 3, 0), uniform(1, 20, 1)[0], torch.full((3,), 0.2).double())
    x, c = uniform(9, 2, 2), uniform(11, 1, 3)
    whole = bump(x, c)
    monkeypatch.setattr("allweather.problems.expansion.MAX_BLOCK_POINTS", 4)
    torch.testing.assert_close(bump(x, c), whole)


def test_a_thousand_decisions_and_four_thousand_contexts(data):
    one = problem("infection", as_published=True)
    values = one.values(one.candidates, uniform(4096, 3, 0))
    assert values.shape == (1024, 4096)


def test_unknown_kernels_are_refused():
    with pytest.raises(InvalidInput, match="be rbf or matern52"):
        KernelExpansion("cubic", torch.ones(1, 1), torch.ones(1), torch.ones(1))


@pytest.mark.usefixtures("data")
def test_infections_best_worst_case_is_infeasible_as_published():
    published, feasible = problem("infection", as_published=True), problem("infection")
    worst = published.values(published.candidates, published.truth().points).min(1).values
    assert published.candidates[worst.argmax()].tolist() == [1, 1]  # errata E36
    assert published.constraints == ()
    assert len(feasible.candidates) == 528
    assert (feasible.truth().points[:, :2].sum(1) <= 1 + 1e-9).all()
    with pytest.raises(InvalidInput, match="meet LinearConstraint"):
        feasible.observe({"x1": 1, "x2": 1}, {"c1": 0, "c2": 0, "c3": 0}, np.random.default_rng(0))


@pytest.mark.usefixtures("data")
def test_wind():
    whole, month = problem("wind"), problem("wind", month=3)
    record = load("wind")["power"]
    seen = np.histogram(record, 50, (0, 1))[0] / len(record)
    np.testing.assert_allclose(whole.truth().weights, seen)
    assert month.margins["tv"] != whole.margins["tv"]
    value = whole.values(torch.tensor([[0.4]]), torch.tensor([[0.7], [0.1]]))
    torch.testing.assert_close(value, torch.tensor([[0.43, -1.4]], dtype=torch.float64), atol=1e-7, rtol=0)
    with pytest.raises(InvalidInput, match="be below 24"):
        problem("wind", month=24)
