import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP

import allweather as aw
from allweather.surrogates.gp.known_noise import centre_and_scale
from allweather.surrogates.observations import Observations

GENERATOR = torch.Generator().manual_seed(3)
X, C = (torch.rand(24, 1, generator=GENERATOR, dtype=torch.float64) for _ in range(2))
TRUE = (5 * X[:, 0]).sin() + C[:, 0]
SDS = torch.where(torch.arange(24) % 2 == 0, 0.02, 0.8).double()
Y = TRUE + SDS * torch.randn(24, generator=GENERATOR, dtype=torch.float64)


def missed(sds, surrogate=None):
    posterior = (surrogate or aw.GP()).fit(Observations.of(X, C, Y, sds=sds))
    with torch.no_grad():
        return float((posterior.field(C).mean(X).diagonal() - TRUE).square().mean().sqrt())


def test_outcomes_weigh_as_much_as_they_are_precise():
    assert missed(SDS) < missed(None) / 4


def test_equal_known_errors_are_the_same_as_noise_of_that_size():
    known = aw.GP(lengthscales=0.3, outputscale=1.0, mean=0.0)
    both = [
        known.fit(Observations.of(X, C, Y, sds=[0.3] * 24)),
        replace(known, noise=0.3).fit(Observations.of(X, C, Y)),
    ]
    moments = [posterior.field(C)(X[:3]) for posterior in both]
    assert torch.allclose(moments[0].mean, moments[1].mean)
    assert torch.allclose(moments[0].sd, moments[1].sd)
    assert both[0].information_gain == pytest.approx(both[1].information_gain)


def test_some_known_and_some_fitted():
    mixed = torch.where(torch.arange(24) % 4 == 1, math.nan, SDS)
    evidence = aw.GP()._evidence(Observations.of(X, C, Y, sds=mixed))
    at = np.log([0.3, 0.7, 1.0, 0.4])
    value, gradient, mean = evidence.minus_log_posterior(at, 0.0)
    for place in (0, 1, 3):
        ahead = at.copy()
        ahead[place] += 1e-6
        change = (evidence.minus_log_posterior(ahead, 0.0)[0] - value) / 1e-6
        assert change == pytest.approx(gradient[place], rel=1e-3, abs=1e-4)
    found = evidence.log_posteriors(at[None], 0.0)
    assert found.means[0] == pytest.approx(mean, rel=1e-4)
    integral = 0.5 * math.log(2 * math.pi) + math.log(found.deviations[0])
    assert found.values[0] == pytest.approx(integral - value, rel=1e-4)
    noise = aw.GP().fit(Observations.of(X, C, Y, sds=mixed)).data.variances
    assert len(noise.unique()) == 3


def test_everything_that_is_made_of_the_posterior_knows_them():
    posterior = aw.GP().fit(Observations.of(X, C, Y, sds=SDS))
    points = torch.cat([X, C], 1)
    with torch.no_grad():
        same = posterior.model().posterior(points)
        mean, sd = posterior.field(C)(X)
        assert torch.allclose(same.mean[:, 0], mean.diagonal())
        assert torch.allclose(same.variance[:, 0], sd.diagonal().square(), atol=1e-8)
        paths = posterior.paths(C[:2], 400, torch.Generator().manual_seed(0))(X[:2])
    assert torch.allclose(paths.mean(0), mean[:2, :2], atol=0.1)
    averaged = aw.GP().averaged(Observations.of(X, C, Y, sds=SDS), posterior)
    assert torch.allclose(averaged.field(C).mean(X), mean, atol=0.3)
    assert len(posterior.given(points[:2]).data.variances) == 26


def test_the_spread_of_outcomes_is_without_their_noise():
    assert centre_and_scale(Y, SDS)[1] < centre_and_scale(Y)[1]
    assert centre_and_scale(torch.ones(3), torch.ones(3)) == (1.0, 1.0)
    exact = centre_and_scale(Y, torch.zeros(24, dtype=torch.float64))
    assert exact == pytest.approx(centre_and_scale(Y), rel=1e-6)


def test_botorch_models_take_all_or_none():
    assert missed(SDS, aw.BoTorch(SingleTaskGP)) < 0.2
    with pytest.raises(aw.InvalidInput, match="standard error of every outcome, or of none"):
        missed(torch.where(SDS > 0.1, math.nan, SDS), aw.BoTorch(SingleTaskGP))
    with pytest.raises(aw.InvalidInput, match="takes no standard errors"):
        missed(SDS, aw.BoTorch(lambda X, Y: SingleTaskGP(X, Y)))


@pytest.mark.parametrize("sds", [[0.1], [-1.0] * 24, [math.inf] * 24])
def test_what_is_no_standard_error(sds):
    with pytest.raises(aw.InvalidInput, match="sds"):
        Observations.of(X, C, Y, sds=sds)
