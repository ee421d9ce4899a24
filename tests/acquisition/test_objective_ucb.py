"""Upper confidence bounds of objectives, from their own posterior."""

from dataclasses import replace

import pytest
import torch
from tests.acquisition.beliefs import GRID, belief

import allweather as aw
from allweather import DRO, GP, UCB, CVaR, Expectation, InvalidInput, ObjectiveUCB, Reference, TotalVariation
from allweather.surrogates.botorch_model import joint
from allweather.surrogates.kernels import ProductKernel
from allweather.surrogates.observations import Observations

CONCAVE = [
    Expectation(),
    aw.WorstCase(),
    DRO(TotalVariation(0.4)),
    DRO(aw.ChiSquared(0.3)),
    DRO(aw.KL(0.2)),
    DRO(aw.MMD(0.1, lengthscale=0.3)),
    DRO(aw.Wasserstein(0.1)),
    CVaR(0.3),
    aw.EntropicRisk(1.0),
    aw.MeanVariance(0.5),
    aw.MeanRisk(0.5, TotalVariation(0.2)),
    aw.VarianceRegularised(0.2),
    aw.RangeRegularised(0.3),
    aw.LipschitzRegularised(0.1),
]
OTHERS = [aw.VaR(0.2), aw.RobustSatisficing(0.5, TotalVariation(0)), aw.General(1.0, 0.3, TotalVariation(0.3))]


@pytest.mark.parametrize("objective", CONCAVE + OTHERS, ids=repr)
def test_scores_are_finite_and_have_gradients(objective):
    score = ObjectiveUCB(1.0).build(belief(objective))
    decisions = GRID[3:8].clone().requires_grad_()
    values = score(decisions)
    (gradient,) = torch.autograd.grad(values.sum(), decisions)
    assert values.shape == (5,)
    assert torch.isfinite(values).all()
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("objective", CONCAVE, ids=repr)
def test_the_bound_is_that_of_the_tangent(objective):
    known = belief(objective)
    mean = known.field.mean(GRID)
    weights = objective.tangent(mean, known.reference).expand(len(GRID), -1)
    sd = known.field.combination(GRID, weights).sd
    torch.testing.assert_close(ObjectiveUCB(1.3).build(known)(GRID), objective(mean, known.reference) + 1.3 * sd)


@pytest.mark.parametrize("objective", [each for each in CONCAVE if each.concave], ids=repr)
def test_a_concave_objective_is_nowhere_above_its_tangent(objective):
    reference = belief().reference
    source = torch.Generator().manual_seed(0)
    at, other = torch.randn(2, 200, 9, generator=source, dtype=torch.float64)
    tangent = objective(at, reference) + (objective.tangent(at, reference) * (other - at)).sum(-1)
    assert (objective(other, reference) <= tangent + 1e-6).all()


@pytest.mark.parametrize("objective", [Expectation(), aw.WorstCase(), DRO(TotalVariation(0.4)), CVaR(0.3)], ids=repr)
def test_it_is_never_above_the_bound_of_the_band_at_the_same_distribution(objective):
    known = belief(objective)
    mean, sd = known.field(GRID)
    weights = objective.tangent(mean, known.reference)
    band = ((mean + 1.5 * sd) * weights).sum(-1)
    assert (ObjectiveUCB(1.5).build(known)(GRID) <= band + 1e-9).all()
    if isinstance(objective, Expectation):
        assert (ObjectiveUCB(1.5).build(known)(GRID) <= UCB(1.5).build(known)(GRID) + 1e-9).all()


def test_the_mean_agrees_with_draws():
    known = belief()
    drawn = known.surrogate.draws(GRID, known.reference.points, 4000, torch.Generator().manual_seed(1))
    sampled = drawn @ known.reference.weights
    expected = sampled.mean(0) + 2 * sampled.std(0)
    torch.testing.assert_close(ObjectiveUCB(2.0).build(known)(GRID), expected, rtol=0, atol=0.03)


@pytest.mark.parametrize("objective", [Expectation(), DRO(TotalVariation(0.5)), CVaR(0.3)], ids=repr)
def test_the_bound_holds_with_its_probability_on_functions_drawn_from_the_model(objective):
    """At width 1 the objective is below the bound in at least 84% of all functions."""
    kernel = ProductKernel("matern", torch.tensor([0.3, 0.4]).double(), torch.tensor(1.0).double(), 1)
    contexts = torch.linspace(0, 1, 12, dtype=torch.float64)[:, None]
    reference = Reference(contexts, torch.full((12,), 1 / 12, dtype=torch.float64))
    decisions = torch.linspace(0.05, 0.95, 10, dtype=torch.float64)[:, None]
    grid = joint(decisions, contexts).reshape(-1, 2)
    held = []
    for seed in range(150):
        source = torch.Generator().manual_seed(seed)
        data = torch.rand(8, 2, generator=source, dtype=torch.float64)
        points = torch.cat([data, grid])
        covariance = kernel(points, points) + 1e-8 * torch.eye(len(points), dtype=torch.float64)
        values = torch.linalg.cholesky(covariance) @ torch.randn(len(points), generator=source, dtype=torch.float64)
        told = values[:8] + 0.1 * torch.randn(8, generator=source, dtype=torch.float64)
        table = Observations.of(data[:, :1], data[:, 1:], told)
        surrogate = GP("matern", lengthscales=[0.3, 0.4], outputscale=1.0, noise=0.1, mean=0.0).fit(table)
        known = replace(belief(objective), surrogate=surrogate, reference=reference, observations=table)
        truth = objective(values[8:].reshape(10, 12), reference)
        held.append(truth <= ObjectiveUCB(1.0).build(known)(decisions))
    share = torch.stack(held).double().mean().item()
    assert share > 0.81  # 1,500 decisions, 150 independent functions
    if isinstance(objective, Expectation):
        assert share < 0.88  # no wider than it says


def test_rough_scores_are_like_the_score():
    points = torch.linspace(0, 1, 600, dtype=torch.float64)[:, None]
    weights = torch.full((600,), 1 / 600, dtype=torch.float64)
    known = replace(belief(DRO(TotalVariation(0.3))), reference=Reference(points, weights))
    score = ObjectiveUCB(1.0).build(known)
    assert (score.rough(GRID) - score(GRID)).abs().max() < 0.1 * (score(GRID).max() - score(GRID).min())
    known = replace(belief(), reference=Reference(points, weights))
    assert ObjectiveUCB(1.0).build(known).rough is None  # means cost the same however many contexts there are


def test_widths_are_checked():
    for wrong in (-1, float("nan"), "wide"):
        with pytest.raises(InvalidInput, match=r"ObjectiveUCB\(width=\.\.\.\)"):
            ObjectiveUCB(wrong)
    with pytest.raises(InvalidInput, match="samples"):
        ObjectiveUCB(1.0, samples=1)


def test_batches_and_control_sets():
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    study = aw.Study(space, objective=CVaR(0.3), acquisition=ObjectiveUCB(1.0))
    study.add([{"x": i / 6, "c": (i * 0.37) % 1, "value": -((i / 6 - 0.4) ** 2)} for i in range(7)])
    batch = [trial.decision["x"] for trial in study.ask(3)]
    assert len({round(each, 3) for each in batch}) == 3

    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1))
    control = aw.Control([aw.ControlSet(("x",), 1.0), aw.ControlSet(("x", "y"), 3.0)])
    laws = aw.Known({"x": aw.truncated_normal(0.5, 0.04), "y": aw.truncated_normal(0.5, 0.04)}, samples=32)
    study = aw.Study(space, context=laws, objective=Expectation(), acquisition=ObjectiveUCB(1.0), control=control)
    study.add([{"x": i / 6, "y": (i * 0.37) % 1, "value": -((i / 6 - 0.4) ** 2)} for i in range(7)])
    assert set(study.ask().decision) in ({"x"}, {"x", "y"})


def test_a_mean_has_the_same_gradient_as_a_part_of_another_score():
    known = belief(Expectation())
    score = ObjectiveUCB(1.0).build(known)
    decisions = GRID[3:8].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(decisions).sum(), decisions)
    (expected,) = torch.autograd.grad(known.field.upper(decisions, known.reference.weights, 1.0).sum(), decisions)
    assert score.closed
    torch.testing.assert_close(gradient, expected)
