"""The Bayesian bootstrap of laws that are learned."""

import pytest
import torch

from allweather import (
    KDE,
    Choice,
    Context,
    Discretised,
    Drifting,
    Empirical,
    Finite,
    Forecast,
    Integer,
    MeanBox,
    Real,
    Space,
    Uniform,
)
from allweather.contexts.learned import dirichlet

SEEN = torch.rand(20, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64) * 0.6 + 0.2


def drawn(model, contexts, count=4000, seed=1):
    reference = model.reference(contexts, len(contexts), torch.Generator().manual_seed(0))
    return reference, model.resample(contexts, reference, count, torch.Generator().manual_seed(seed))


def test_equal_weights_follow_a_dirichlet_of_equal_parameters():
    t = 6
    draws = dirichlet(torch.full((t,), 1 / t, dtype=torch.float64), 40_000, torch.Generator().manual_seed(0))
    assert draws.mean(0).tolist() == pytest.approx([1 / t] * t, abs=3e-3)
    covariance = torch.cov(draws.T)
    expected = (torch.eye(t) / t - 1 / t**2) / (t - 1)
    assert (covariance - expected).abs().max().item() < 1e-3


def test_unequal_weights_keep_their_means_and_count_the_effective_sample():
    weights = torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
    draws = dirichlet(weights, 40_000, torch.Generator().manual_seed(0))
    effective = 1 / float(weights.square().sum())
    assert draws.mean(0).tolist() == pytest.approx(weights.tolist(), abs=5e-3)
    assert draws.var(0).tolist() == pytest.approx((weights * (1 - weights) / (effective / 2 + 1)).tolist(), rel=0.05)


@pytest.mark.parametrize("model", [Empirical(), Empirical(unseen=32), KDE(4096), KDE(4096, unseen=64)])
def test_the_mean_context_varies_as_dirichlet_theory_says(model):
    """The variance of a mean is its unbiased estimate."""
    reference, draws = drawn(model, SEEN)
    means = draws @ reference.points[:, 0]
    assert means.var().item() == pytest.approx(SEEN.var().item() / len(SEEN), rel=0.1)
    assert means.mean().item() == pytest.approx((reference.weights @ reference.points[:, 0]).item(), abs=3e-3)


def test_repeated_contexts_share_a_point_whose_probability_is_a_beta():
    contexts = torch.tensor([[0.2], [0.2], [0.2], [0.7]], dtype=torch.float64)
    reference, draws = drawn(Empirical(), contexts, 20_000)
    assert reference.points[:, 0].tolist() == [0.2, 0.7]
    assert draws.mean(0).tolist() == pytest.approx([0.75, 0.25], abs=0.01)
    assert draws[:, 0].var().item() == pytest.approx(3 / (16 * 3), rel=0.05)  # Beta(1.5, 0.5)


@pytest.mark.parametrize("bounds", ["reflect", "clip"])
def test_samples_near_a_context_carry_its_weight(bounds):
    """Two groups far apart: the mass of each is that of its contexts, also on a bound."""
    contexts = torch.tensor([[0.0], [0.01], [0.02], [0.97], [1.0]], dtype=torch.float64)
    reference, draws = drawn(KDE(2048, bandwidth=0.02, bounds=bounds), contexts, 20_000)
    low = draws[:, reference.points[:, 0] < 0.5].sum(-1)
    assert low.mean().item() == pytest.approx(0.6, abs=0.01)
    assert low.var().item() == pytest.approx(6 / (25 * 4), rel=0.05)  # Beta(1.8, 1.2)


def test_old_contexts_count_for_less():
    reference, draws = drawn(Drifting(half_life=2.0), SEEN)
    assert (draws.mean(0) - reference.weights).abs().max().item() < 0.02
    _, stable = drawn(Empirical(), SEEN)
    points = reference.points[:, 0]
    assert (draws @ points).var() > 2 * (stable @ points).var()


def test_a_grid_point_has_the_weight_of_the_contexts_nearest_to_it():
    contexts = torch.tensor([[0.1], [0.9], [0.95]], dtype=torch.float64)
    _, draws = drawn(Discretised(3), contexts, 20_000)
    assert draws.mean(0).tolist() == pytest.approx([1 / 3, 0, 2 / 3], abs=0.01)
    assert bool((draws[:, 1] == 0).all())


def test_the_box_around_the_mean_moves():
    reference, draws = drawn(MeanBox(256), SEEN, 500)
    assert 1e-3 < (draws @ reference.points[:, 0]).std().item() < SEEN.std().item()


def test_a_forecast_is_as_certain_as_what_is_given():
    reference, draws = drawn(Forecast().given(Finite([[0.3], [0.6]], [0.3, 0.7])), SEEN, 5)
    assert bool((draws == reference.weights).all())
    _, draws = drawn(Forecast().given(Empirical()), SEEN, 5)
    assert bool((draws[0] != draws[1]).all())


@pytest.mark.parametrize("model", [Uniform(16), Finite([[0.1], [0.5]])])
def test_known_laws_do_not_vary(model):
    reference, draws = drawn(model, SEEN, 3)
    assert bool((draws == reference.weights).all())


@pytest.mark.parametrize(
    "model",
    [
        KDE(64, bootstrap=False),
        Empirical(bootstrap=False),
        Drifting(3.0, bootstrap=False),
        MeanBox(64, bootstrap=False),
        Discretised(16, bootstrap=False),
    ],
)
def test_the_bootstrap_can_be_switched_off(model):
    reference, draws = drawn(model, SEEN, 3)
    assert bool((draws == reference.weights).all())


def test_fewer_points_of_a_reference_can_be_reweighted():
    model = KDE(1024)
    reference = model.reference(SEEN, 20, torch.Generator().manual_seed(0))
    _, few = reference.sampled(64)
    draws = model.resample(SEEN, few, 4000, torch.Generator().manual_seed(1))
    assert draws.shape == (4000, len(few.points))
    means = draws @ few.points[:, 0]
    assert means.var().item() == pytest.approx(SEEN.var().item() / 20, rel=0.2)


def test_one_context_and_equal_contexts_are_certain_of_nothing_else():
    for model in (KDE(32), Empirical(), Drifting(1.0), MeanBox(8), Discretised(5)):
        for contexts in (SEEN[:1], SEEN[:1].expand(4, -1)):
            reference, draws = drawn(model, contexts, 3)
            assert torch.allclose(draws, reference.weights.expand(3, -1))


def test_mixed_contexts_keep_the_choice_with_its_number():
    space = Space(x=Real(0, 1), wind=Context(0, 1), lot=Context(Choice("A", "B")), size=Context(Integer(0, 4)))
    rows = [{"wind": 0.1 + 0.01 * i, "lot": "A", "size": 1} for i in range(6)]
    rows += [{"wind": 0.9 - 0.01 * i, "lot": "B", "size": 3} for i in range(3)]
    contexts = space.contexts.encode(rows)
    reference, draws = drawn(KDE(512).on(space), contexts, 20_000)
    is_a = reference.points[:, 1] == 1
    torch.testing.assert_close(space.contexts.snap(reference.points), reference.points)
    assert reference.weights[is_a].sum().item() == pytest.approx(6 / 9, abs=0.01)
    mass = draws[:, is_a].sum(-1)
    assert mass.var().item() == pytest.approx(18 / (81 * 8), rel=0.07)  # Beta(14/3, 7/3)
