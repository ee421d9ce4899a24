import numpy as np
import pytest
import torch
from tests.surrogates.tables import table, uniform

from allweather.surrogates import GP, Field
from allweather.surrogates.approximations.low_rank import EXACT_ACCURACY, pivoted_root, skeletons
from allweather.surrogates.botorch_model import ModelPosterior
from allweather.surrogates.observations import Observations

KERNELS = ["rbf", "matern32", "matern52", "matern32-columns", "matern-columns", "rational-quadratic"]


def moments_and_gradients(field, decisions):
    """Means, deviations, and a derivative of each in the decisions."""
    decisions = decisions.clone().requires_grad_()
    mean, sd = field(decisions)
    weights = uniform(*mean.shape, seed=2) / mean.shape[1]
    slopes = [torch.autograd.grad((part * weights).sum(), decisions, retain_graph=True)[0] for part in (mean, sd)]
    return [mean, sd, *slopes]


def assert_equal(fast, model, decisions):
    pairs = zip(moments_and_gradients(fast, decisions), moments_and_gradients(model, decisions), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("t", [1, 2, 30, 150])
def test_the_fast_field_is_the_models_posterior(kernel, t):
    posterior = GP(kernel).fit(table(t))
    contexts, decisions = uniform(700, 2), uniform(3, 2, seed=3)
    fast, model = posterior.field(contexts), ModelPosterior(posterior.model(), 2).field(contexts)
    assert_equal(fast, model, decisions)
    for ours, theirs in zip(fast.slopes(decisions), model.slopes(decisions), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("lengthscale", [0.15, 0.4, 1.0, 3.0])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_it_stays_so_for_any_lengthscale_and_little_noise(lengthscale, columns):
    source = uniform(80, 1 + columns, seed=4)
    values = torch.sin(4 * source.sum(1))
    posterior = GP(lengthscales=lengthscale, noise=0.01).fit(Observations.of(source[:, :1], source[:, 1:], values))
    contexts, decisions = uniform(600, columns), uniform(3, 1, seed=3)
    fast, model = posterior.field(contexts), ModelPosterior(posterior.model(), 1).field(contexts)
    assert_equal(fast, model, decisions)


def test_smooth_posteriors_are_computed_on_few_contexts():
    field = GP(lengthscales=1.0).fit(table(60)).field(uniform(2048, 2))
    assert len(field._support[0]) < 120
    assert len(field.rough(torch.arange(2048))._support[0]) < 50


def test_the_rough_field_tells_decisions_apart():
    field = GP().fit(table(60)).field(uniform(1024, 2))
    decisions = uniform(20, 2, seed=5)
    mean, sd = field(decisions)
    chosen = torch.arange(5, 1024, 7)
    rough_mean, rough_sd = field.rough(chosen)(decisions)
    torch.testing.assert_close(rough_mean, mean[:, chosen])
    assert 0 < (rough_sd - sd[:, chosen]).abs().max() < 5e-2 * sd.max()


@pytest.mark.parametrize("kernel", KERNELS)
def test_some_contexts_of_a_field_are_those_contexts(kernel):
    posterior, contexts, chosen = GP(kernel).fit(table(20)), uniform(40, 2), torch.tensor([3, 17, 18])
    field, decisions = posterior.field(contexts), uniform(5, 2, seed=5)
    _ = field.slopes(decisions)  # what is remembered for all contexts must not be taken for that of some
    rough, alone = field.rough(chosen), posterior.field(contexts[chosen])
    torch.testing.assert_close(rough(decisions), alone(decisions), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(rough.slopes(decisions), alone.slopes(decisions))


@pytest.mark.parametrize("width", [0.0, 1.5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_steepest_slope_and_its_gradient(kernel, width):
    field, decisions = GP(kernel).fit(table(20)).field(uniform(30, 2)), uniform(5, 2, seed=5).requires_grad_()
    fast, by_torch = field.steepness(decisions, width), Field.steepness(field, decisions, width)
    torch.testing.assert_close(fast, by_torch)
    gradients = [torch.autograd.grad(each.sum(), decisions)[0] for each in (fast, by_torch)]
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-10)


def test_blocks_do_not_change_the_answer(monkeypatch):
    field = GP().fit(table(60)).field(uniform(300, 2))
    decisions = uniform(9, 2, seed=5)
    whole = moments_and_gradients(field, decisions)
    monkeypatch.setattr("allweather.surrogates.posteriors.field.MAX_BLOCK_NUMBERS", 2 * field._support[0].numel())
    for one, other in zip(whole, moments_and_gradients(field, decisions), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_gradient_of_context_slopes_in_the_decision():
    posterior = GP().fit(table(20))
    field = posterior.field(uniform(5, 2))
    decisions = uniform(2, 2, seed=6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: tuple(field.slopes(x)), decisions, eps=1e-6, atol=1e-5)


def test_context_slopes_by_finite_differences():
    posterior = GP("matern32").fit(table(20))
    contexts, decisions, step = uniform(5, 2), uniform(2, 2, seed=6), 1e-5
    slopes = posterior.field(contexts).slopes(decisions)
    for column in range(2):
        shift = step * torch.eye(2, dtype=torch.float64)[column]
        above, below = posterior.field(contexts + shift)(decisions), posterior.field(contexts - shift)(decisions)
        for slope, high, low in zip(slopes, above, below, strict=True):
            torch.testing.assert_close(slope[..., column], (high - low) / (2 * step), rtol=1e-5, atol=1e-7)


def test_repeated_contexts_and_a_single_one():
    posterior = GP().fit(table(30))
    contexts = uniform(1, 2).expand(500, 2)
    mean, sd = posterior.field(contexts)(uniform(2, 2))
    assert (mean == mean[:, :1]).all()
    torch.testing.assert_close(sd, sd[:, :1].expand_as(sd), rtol=1e-9, atol=1e-9)


def test_without_contexts():
    points = uniform(20, 2)
    posterior = GP().fit(Observations.of(points, torch.zeros(20, 0), points.sum(1)))
    mean, sd = posterior.field(torch.zeros(1, 0, dtype=torch.float64))(points)
    torch.testing.assert_close(mean[:, 0], points.sum(1), atol=0.05, rtol=0)
    assert sd.shape == (20, 1)


def test_a_root_that_would_be_too_wide_is_not_returned():
    factor = GP("matern").fit(table(5)).data.kernel.factor
    assert pivoted_root(factor, 20 * uniform(100, 2), 10) is None


def test_nothing_is_saved_where_contexts_are_few():
    factor = GP().fit(table(5)).data.kernel.factor
    chosen, spread = skeletons(factor, uniform(20, 2), uniform(5, 2), 10.0).to(EXACT_ACCURACY)
    assert spread is None
    assert len(chosen) == 20


def test_means_move_with_a_further_outcome_as_the_reaction_says():
    posterior, contexts, decisions = (
        GP("matern", outputscale="fit").fit(table(15)),
        uniform(7, 2),
        uniform(3, 2, seed=2),
    )
    point, field = uniform(1, 4, seed=5), posterior.field(contexts)
    before = posterior.field(point[:, 2:]).mean(point[:, :2])[0, 0]
    after = posterior.given(point, before[None] + 0.7).field(contexts).mean(decisions)
    torch.testing.assert_close(field.mean(decisions) + 0.7 * field.reaction(decisions, point[0]), after)


@pytest.mark.parametrize("unit", [1.0, None])
def test_what_was_computed_for_earlier_outcomes_is_added_to(unit, monkeypatch):
    fixed, told = GP(lengthscales=0.4, outputscale=1.0, noise=0.01, mean=None if unit is None else 0.0), table(20)
    contexts, decisions = uniform(9, 2), uniform(6, 2, seed=5)
    posterior = fixed.fit(told.rows(np.arange(10)))
    for t in (11, 12, 13):  # asked about once, and again
        posterior = fixed.fit(told.rows(np.arange(t))).following(posterior)
        posterior.field(contexts)(decisions)
    monkeypatch.delattr("allweather.surrogates.posteriors.field.ProductField._explained")
    later = [fixed.fit(told.rows(np.arange(t))) for t in (15, 20)]
    some = later[0].following(posterior).field(contexts)(decisions[:2])  # others stay behind
    found = later[1].following(later[0].following(posterior)).field(contexts)(decisions)
    monkeypatch.undo()
    torch.testing.assert_close(some, later[0].field(contexts)(decisions[:2]), rtol=1e-10, atol=0)
    torch.testing.assert_close(found, later[1].field(contexts)(decisions), rtol=1e-10, atol=0)


def test_nothing_is_kept_where_hyperparameters_or_earlier_outcomes_changed():
    fixed, told = GP(lengthscales=0.4, outputscale=1.0, noise=0.01, mean=0.0), table(20)
    first = fixed.fit(told.rows(np.arange(10)))
    assert fixed.fit(told).following(first).memory is not None
    assert fixed.fit(told.rows(np.arange(19, -1, -1))).following(first).memory is None
    assert GP(lengthscales=0.5, outputscale=1.0, noise=0.01, mean=0.0).fit(told).following(first).memory is None
    assert GP().fit(told).following(GP().fit(told.rows(np.arange(10)))).memory is None
    assert fixed.fit(told).following(first).given(uniform(1, 4)).memory is None
