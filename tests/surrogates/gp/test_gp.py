import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from tests.surrogates.tables import table, uniform

from allweather import Choice, Context, InvalidInput, Real, Space
from allweather.surrogates import GP
from allweather.surrogates.gp.known_noise import centre_and_scale
from allweather.surrogates.observations import Observations


@pytest.mark.parametrize("t", [5, 25, 100])
def test_the_fit_is_botorchs(t):
    data = table(t)
    model = SingleTaskGP(data.joint, data.values[:, None])
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    fitted = GP().fit(data).fitted
    theirs = model.covar_module.lengthscale.detach()[0]
    torch.testing.assert_close(torch.tensor(fitted.lengthscales, dtype=torch.float64), theirs, rtol=5e-3, atol=0)
    assert fitted.noise == pytest.approx(model.likelihood.noise.item(), rel=2e-2)
    contexts, decisions = uniform(50, 2), uniform(4, 2, seed=3)
    mean, _ = GP().fit(data).field(contexts)(decisions)
    points = torch.cat([decisions[:, None].expand(4, 50, 2), contexts.expand(4, 50, 2)], -1)
    with torch.no_grad():
        torch.testing.assert_close(mean, model.posterior(points).mean[..., 0], rtol=0, atol=2e-3)


def test_the_model_it_hands_out_is_itself():
    posterior = GP("matern").fit(table(30))
    decisions, contexts = uniform(1, 2), uniform(1, 2, seed=2)
    mean, sd = posterior.field(contexts)(decisions)
    with torch.no_grad():
        theirs = posterior.model().posterior(torch.cat([decisions, contexts], 1))
        assert mean.item() == pytest.approx(theirs.mean.item(), abs=1e-10)
        assert sd.item() == pytest.approx(theirs.variance.sqrt().item(), abs=1e-10)


def test_a_warm_start_finds_the_same():
    data = table(60)
    cold = GP().fit(data).fitted
    warm = GP().fit(data, GP().fit(table(50)).fitted).fitted
    assert warm.lengthscales == pytest.approx(cold.lengthscales, rel=1e-2)


def test_given_hyperparameters_stay():
    data = table(20)
    posterior = GP(lengthscales=[0.1, 0.2, 0.3, 0.4], outputscale=2.0, noise=0.01, mean=0.5).fit(data)
    fitted, scale = posterior.fitted, posterior.data.scale
    assert fitted.lengthscales == (0.1, 0.2, 0.3, 0.4)
    assert fitted.outputscale * scale**2 == pytest.approx(2.0)
    assert fitted.noise * scale**2 == pytest.approx(1e-4)
    far = torch.full((1, 2), 50.0, dtype=torch.float64)
    mean, sd = posterior.field(far)(far)
    assert (mean.item(), sd.item()) == pytest.approx((0.5, 2**0.5))


def test_an_outputscale_is_fitted_if_wanted():
    assert GP(outputscale="fit").fit(table(40)).fitted.outputscale != 1.0
    assert GP().fit(table(40)).fitted.outputscale == 1.0


def test_lengthscales_by_name_fill_the_columns_of_a_choice():
    space = Space(wood=Choice("oak", "ash"), demand=Context(0, 1))
    assert GP(lengthscales={"wood": 0.3, "demand": 0.1}).on(space).lengthscales == [0.3, 0.3, 0.1]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GP("cubic"), "GP(kernel=...)"),
        (lambda: GP(lengthscales=-1), "GP(lengthscales=...)"),
        (lambda: GP(lengthscales={"order": 0.0}), "GP(lengthscales=...)"),
        (lambda: GP(outputscale="fitted"), "GP(outputscale=...)"),
        (lambda: GP(noise=-0.1), "GP(noise=...)"),
        (lambda: GP(mean=float("nan")), "GP(mean=...)"),
        (lambda: GP(lengthscales={"x": 1.0}).on(Space(y=Real(0, 1))), "name exactly ['y']"),
        (lambda: GP(lengthscales=[1.0, 2.0]).on(Space(y=Real(0, 1))), "be 1 numbers"),
        (lambda: GP(lengthscales=[1.0]).fit(table(3)), "be 4 numbers"),
        (lambda: GP().fit(table(0)), "at least one outcome"),
    ],
)
def test_refuses_by_name(make, said):
    with pytest.raises(InvalidInput) as caught:
        make()
    assert said in str(caught.value)


@pytest.mark.parametrize("values", [[2.0] * 6, [1e9 + k for k in range(6)], [1e-9 * k for k in range(6)], [-3e9] * 6])
def test_outcomes_of_any_scale(values):
    points = uniform(6, 1)
    posterior = GP().fit(Observations.of(points, points, values))
    mean, sd = posterior.field(points)(points)
    assert torch.isfinite(mean).all()
    assert torch.isfinite(sd).all()
    spread = max(values) - min(values) or 1.0
    assert (mean.diagonal() - torch.tensor(values, dtype=torch.float64)).abs().max() < 0.5 * spread


def test_duplicates_with_and_without_noise():
    points = uniform(1, 1).expand(8, 1)
    values = torch.tensor([1.0, 2.0] * 4)
    for surrogate in (GP(), GP(noise=0.0), GP(noise=0.0, lengthscales=0.5)):
        mean, sd = surrogate.fit(Observations.of(points, points, values)).field(points[:1])(points[:1])
        assert mean.item() == pytest.approx(1.5, abs=0.05)
        assert 0 <= sd.item() < 1


def test_what_is_given_later_is_as_if_it_had_been_there():
    data = table(30)
    surrogate = GP(lengthscales=0.5, noise=0.1, outputscale=1.0, mean=0.0)
    points, values = uniform(4, 4, seed=8), torch.tensor([1.0, 2.0, 0.0, -1.0], dtype=torch.float64)
    more = Observations.of(
        torch.cat([data.decisions, points[:, :2]]),
        torch.cat([data.contexts, points[:, 2:]]),
        torch.cat([data.values, values]),
    )
    contexts, decisions = uniform(9, 2, seed=9), uniform(3, 2, seed=10)
    later, at_once = surrogate.fit(data).given(points, values), surrogate.fit(more)
    for one, other in zip(later.field(contexts)(decisions), at_once.field(contexts)(decisions), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_what_is_believed_shrinks_uncertainty_and_leaves_the_mean():
    posterior = GP().fit(table(30))
    points = uniform(3, 4, seed=8)
    contexts, decisions = uniform(9, 2, seed=9), uniform(3, 2, seed=10)
    before, after = posterior.field(contexts)(decisions), posterior.given(points).field(contexts)(decisions)
    torch.testing.assert_close(before.mean, after.mean, rtol=1e-9, atol=1e-9)
    assert (after.sd <= before.sd + 1e-12).all()
    assert (after.sd < before.sd - 1e-4).any()


def test_information_gain_is_the_log_determinant():
    posterior = GP().fit(table(25))
    data = posterior.data
    covariance = data.kernel(data.points, data.points)
    exact = 0.5 * torch.logdet(torch.eye(25) + covariance / data.noise)
    assert posterior.information_gain == pytest.approx(exact.item())


def test_centre_and_scale_of_one_outcome():
    assert centre_and_scale(torch.tensor([5.0])) == (5.0, 5.0)
    assert centre_and_scale(torch.tensor([0.0])) == (0.0, 1.0)


def test_a_prior_mean_faces_the_direction():
    assert GP(mean=2.0).facing(-1).mean == -2.0
    assert GP().facing(-1).mean is None


def test_given_noise_is_kept_however_small():
    data = table(20)
    big = Observations.of(data.decisions, data.contexts, 1e3 * data.values)
    posterior = GP(noise=0.1, lengthscales=0.3).fit(big)
    assert posterior.fitted.noise**0.5 * posterior.data.scale == pytest.approx(0.1)


@pytest.mark.slow
def test_long_studies_are_fitted_to_outcomes_without_a_rhythm():
    n = 2047
    x = torch.rand(n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    contexts = (torch.arange(n, dtype=torch.float64) % 2)[:, None]
    values = torch.where(contexts[:, 0] == 0, 0.0, (12 * x[:, 0]).sin())
    posterior = GP(noise=0.05).fit(Observations.of(x, contexts, values))
    mean, _ = posterior.field(torch.ones(1, 1, dtype=torch.float64))(x[1::2][:50])
    assert (mean[:, 0] - values[1::2][:50]).abs().max() < 0.1
