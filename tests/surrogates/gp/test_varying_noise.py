"""Noise that depends on decision and context: its fit, when it is found, and what it changes."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from allweather import GP
from allweather.surrogates.approximations.inducing import InducingPosterior
from allweather.surrogates.gp.hyperparameter_fit import Evidence
from allweather.surrogates.gp.varying_noise import chance_of_constant_noise, log_ratios
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.leave_one_out import leave_one_out
from allweather.surrogates.posteriors.product import ProductPosterior

FITTED = Hyperparameters((0.4, 0.6), 1.0, 0.05, 0.0, noise_slopes=(3.0, -1.0))
VARYING, CONSTANT = (GP("matern", outputscale="fit", varying_noise=varies) for varies in (True, False))


def outcomes(seed, count=60, ratio=1.0, sd=0.2):
    """A smooth function with noise whose standard deviation is `ratio` times as large at the end of the decision."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2))
    sds = sd * ratio ** (points[:, 0] - 0.5)
    values = np.sin(5 * points[:, 0]) + np.cos(2 * points[:, 1]) * points[:, 0] + sds * rng.standard_normal(count)
    return Observations.of(points[:, :1], points[:, 1:], values)


def posterior(table, fitted=FITTED, sds=None, kind=ProductPosterior):
    return kind.of("matern52-columns", 1, fitted, table.joint, table.values, sds)


def test_gradients_in_the_slopes_are_differences():
    table, slopes = outcomes(0, 15), np.array([2.0, -1.5])
    known = torch.where(torch.arange(15) % 3 == 0, 0.3, torch.nan).double()
    evidence = Evidence(table.joint, table.values, "matern52", 1, np.array([True] * 4), True, known)
    logarithms = FITTED.logarithms
    _, gradient, _ = evidence.minus_log_posterior(logarithms, 0.0, slopes)
    places = np.concatenate([logarithms, slopes])
    for place, step in enumerate(1e-6 * np.eye(6)):
        ahead, behind = (evidence.minus_log_posterior(at[:4], 0.0, at[4:])[0] for at in (places + step, places - step))
        assert (ahead - behind) / 2e-6 == pytest.approx(gradient[place], rel=1e-5, abs=1e-6)


def test_the_posterior_is_that_of_outcomes_with_these_known_errors():
    table = outcomes(1, 20)
    ours = posterior(table)
    variances = 0.05 * log_ratios(torch.tensor([3.0, -1.0]).double(), table.joint).exp()
    assert torch.allclose(ours.data.variances, variances)
    kernel = ours.data.kernel
    covariance = kernel(table.joint, table.joint) + variances.diag()
    assert torch.allclose(ours.data.weights, torch.linalg.solve(covariance, ours.targets))


def test_many_outcomes_with_inducing_points_are_as_exact_ones():
    table = outcomes(2, 80)
    exact, sparse = posterior(table), posterior(table, kind=InducingPosterior)
    contexts, decisions = table.contexts[:5], table.decisions[:4]
    for one, other in zip(exact.field(contexts)(decisions), sparse.field(contexts)(decisions), strict=True):
        assert torch.allclose(one, other, atol=0.02)
    assert torch.allclose(exact.data.noise_at(table.joint), sparse.data.noise_at(table.joint))


@pytest.mark.parametrize("count", [20, 300])
def test_further_outcomes_have_the_noise_of_their_points_in_any_order_of_columns(count):
    table, further = outcomes(3, count), outcomes(4, 2)
    turned = posterior(table).arranged([1, 0], 1).given(further.joint[:, [1, 0]], further.values)
    both = Observations.of(*(torch.cat(pair) for pair in zip(parts(table), parts(further), strict=True)))
    known = posterior(table)
    targets = (both.values - known.data.shift) / known.data.scale
    kernel = known.data.kernel
    noise = FITTED.noise * log_ratios(torch.tensor(FITTED.noise_slopes).double(), both.joint).exp()
    weights = torch.linalg.solve(kernel(both.joint, both.joint) + noise.diag(), targets - FITTED.mean)
    assert torch.allclose(turned.data.weights, weights, atol=1e-6)
    assert torch.allclose(turned.data.variances, noise)


def parts(table):
    return table.decisions, table.contexts, table.values


def test_one_outcome_moves_means_by_the_noise_at_its_point():
    table = outcomes(5, 20)
    known = posterior(table)
    contexts, weights = table.contexts[:3], torch.full((3,), 1 / 3, dtype=torch.float64)
    trial, compared = torch.tensor([[0.95]]).double(), torch.tensor([[0.2], [0.9]]).double()
    field = known.field(contexts)
    slopes = field.step(compared, weights, contexts[:1])(trial)[0, 0]
    point = torch.cat([trial, contexts[:1]], 1)
    mean, sd = known.field(contexts[:1])(trial)
    spread = (sd.square() + known.data.noise_at(point) * known.data.scale**2).sqrt()[0, 0]
    after = known.given(point, mean[0] + spread).field(contexts)
    moved = after.combination_mean(compared, weights) - field.combination_mean(compared, weights)
    assert torch.allclose(slopes, moved, atol=1e-9)


def test_residuals_at_constant_noise_are_significant_as_often_as_they_say():
    fitted, chances = replace(FITTED, noise_slopes=()), []
    for seed in range(200):
        table = outcomes(seed, 25)
        covariance = posterior(table, fitted).data.kernel(table.joint, table.joint) + 0.05 * torch.eye(25)
        drawn = torch.linalg.cholesky(covariance) @ torch.randn(25, generator=torch.manual_seed(seed)).double()
        told = posterior(replace(table, values=drawn), fitted)
        chances.append(chance_of_constant_noise(told))
    assert np.mean(np.array(chances) < 0.1) < 0.15
    assert 0.3 < np.mean(np.array(chances) < 0.5) < 0.7


def test_noise_that_grows_with_the_decision_is_found_and_constant_noise_stays_constant():
    found = VARYING.fit(outcomes(0, 100, ratio=8.0)).hyperparameters
    assert found.noise_slopes[0] > 2  # 2 log 8 = 4.2, less what the prior takes
    assert abs(found.noise_slopes[1]) < 1.5
    varied = [bool(VARYING.fit(outcomes(seed, 40)).hyperparameters.noise_slopes) for seed in range(20)]
    assert sum(varied) <= 1
    assert not CONSTANT.fit(outcomes(0, 100, ratio=8.0)).hyperparameters.noise_slopes


def test_intervals_of_outcomes_hold_as_many_in_quiet_places_as_in_noisy_ones():
    table = outcomes(0, 150, ratio=10.0)
    quiet = table.decisions[:, 0] < 0.3
    held, before = (
        leave_one_out(gp.fit(table)).residuals[quiet].abs().less(1.645).double().mean() for gp in (VARYING, CONSTANT)
    )
    assert 0.8 < held < 0.97
    assert before > 0.97


def test_the_journal_keeps_slopes_and_a_resumed_fit_is_the_same():
    table = outcomes(0, 100, ratio=8.0)
    fitted = VARYING.fit(table)
    kept = Hyperparameters.from_dict(
        {**asdict(fitted.hyperparameters), "noise_slopes": [*fitted.hyperparameters.noise_slopes]}
    )
    assert kept == fitted.hyperparameters
    again = VARYING.resume(table, kept)
    assert torch.equal(again.data.weights, fitted.data.weights)
    averaged = VARYING.averaged(outcomes(0, 50, ratio=8.0), VARYING.resume(outcomes(0, 50, ratio=8.0), kept))
    assert {part.fitted.noise_slopes for part in averaged.parts} == {kept.noise_slopes}


def test_slopes_are_learned_from_outcomes_without_a_standard_error():
    table, exact = outcomes(0, 120, ratio=8.0), outcomes(0, 120, sd=0.05)
    table.values[::4] = exact.values[::4]
    errors = torch.where(torch.arange(120) % 4 == 0, 0.05, torch.nan).double()
    found = VARYING.fit(replace(table, sds=errors))
    assert found.hyperparameters.noise_slopes[0] > 1.5
    assert torch.allclose(found.data.variances[::4] * found.data.scale**2, torch.tensor(0.0025).double())
    known = replace(table, sds=torch.full((120,), 0.05, dtype=torch.float64))
    assert not VARYING.fit(known).hyperparameters.noise_slopes
