import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP, SingleTaskVariationalGP
from gpytorch.kernels import MaternKernel
from tests.surrogates.tables import table, uniform

from allweather import InvalidInput
from allweather.surrogates import GP, BoTorch
from allweather.surrogates.botorch_model import ModelPosterior


def joint_matern(points, values):
    """A Matern of the joint distance: no product."""
    return SingleTaskGP(points, values, covar_module=MaternKernel(2.5, ard_num_dims=points.shape[1]))


def test_a_model_that_is_no_product_gives_its_own_posterior():
    data = table(40)
    posterior = BoTorch(joint_matern).fit(data)
    decisions, contexts = uniform(3, 2), uniform(50, 2, seed=2)
    field = posterior.field(contexts)
    mean, sd = field(decisions)
    for row in range(3):
        points = torch.cat([decisions[row].expand(50, 2), contexts], 1)
        with torch.no_grad():
            theirs = posterior.botorch.posterior(points)
        torch.testing.assert_close(mean[row], theirs.mean[:, 0], rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(sd[row], theirs.variance.sqrt()[:, 0], rtol=1e-8, atol=1e-8)


def test_slopes_by_finite_differences():
    posterior = BoTorch(joint_matern).fit(table(20))
    decisions, contexts, step = uniform(2, 2), uniform(4, 2, seed=2), 1e-5
    slopes = posterior.field(contexts).slopes(decisions)
    for column in range(2):
        shift = step * torch.eye(2, dtype=torch.float64)[column]
        above, below = posterior.field(contexts + shift)(decisions), posterior.field(contexts - shift)(decisions)
        for slope, high, low in zip(slopes, above, below, strict=True):
            torch.testing.assert_close(slope[..., column], (high - low) / (2 * step), rtol=1e-4, atol=1e-6)


def test_fast_path_and_fallback_agree_on_what_is_given_later():
    fast = GP().fit(table(25))
    slow = ModelPosterior(fast.model(), 2)
    points, values = uniform(3, 4, seed=5), torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    decisions, contexts = uniform(3, 2), uniform(20, 2, seed=2)
    for given in ((points, values), (points, None)):
        one, other = (posterior.given(*given).field(contexts)(decisions) for posterior in (fast, slow))
        torch.testing.assert_close(one.mean, other.mean, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(one.sd, other.sd, rtol=1e-6, atol=1e-6)


def test_paths_match_the_posterior_and_their_seed():
    posterior = ModelPosterior(GP(lengthscales=0.5, noise=0.1).fit(table(20)).model(), 2)
    decisions, contexts = uniform(2, 2), uniform(3, 2, seed=2)
    draws = posterior.paths(contexts, 400, torch.Generator().manual_seed(0))(decisions)
    again = posterior.paths(contexts, 400, torch.Generator().manual_seed(0))(decisions)
    assert torch.equal(draws, again)
    mean, sd = posterior.field(contexts)(decisions)
    assert ((draws.mean(0) - mean).abs() < 5 * sd / 400**0.5 + 0.02).all()


def fixed_noise(points, values):
    return SingleTaskGP(points, values, torch.full_like(values, 1e-4))


def single_precision(points, values):
    return SingleTaskGP(points.float(), values.float())


def listed(points, values):
    return ModelListGP(SingleTaskGP(points, values))


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize("build", [fixed_noise, single_precision, listed], ids=lambda build: build.__name__)
def test_models_of_other_kinds_are_asked_conditioned_and_drawn(build):
    decisions, contexts = uniform(3, 2), uniform(5, 2, seed=2)
    posterior = BoTorch(build).fit(table(20))
    points, values = uniform(2, 4, seed=5), torch.tensor([9.0, -9.0], dtype=torch.float64)
    told, pending = posterior.given(points, values), posterior.given(points)
    assert told.field(points[:, 2:])(points[:, :2]).mean.diagonal().sign().tolist() == [1, -1]
    before, after = posterior.field(contexts)(decisions), pending.field(contexts)(decisions)
    torch.testing.assert_close(after.mean, before.mean, rtol=0, atol=1e-2)
    assert (after.sd <= before.sd + 1e-3).all()
    drawn = posterior.paths(contexts, 2, torch.Generator())(decisions)
    assert drawn.shape == (2, 3, 5)
    for part in (*before, *posterior.field(contexts).slopes(decisions), drawn):
        assert part.dtype == torch.float64


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_a_model_that_cannot_be_conditioned_says_so():
    posterior = BoTorch(lambda points, values: SingleTaskVariationalGP(points, values, inducing_points=6)).fit(table(9))
    assert posterior.field(uniform(5, 2))(uniform(3, 2)).mean.shape == (3, 5)
    with pytest.raises(InvalidInput, match="`SingleTaskVariationalGP` cannot be told of pending or failed trials"):
        posterior.given(uniform(2, 4))


def test_a_class_is_fitted():
    posterior = BoTorch(SingleTaskGP).fit(table(30))
    ours = GP().fit(table(30))
    decisions, contexts = uniform(3, 2), uniform(20, 2, seed=2)
    torch.testing.assert_close(
        posterior.field(contexts)(decisions).mean, ours.field(contexts)(decisions).mean, rtol=0, atol=5e-3
    )


def test_refuses_what_is_no_recipe():
    data = table(5)
    with pytest.raises(InvalidInput, match="function"):
        BoTorch(SingleTaskGP(data.joint, data.values[:, None]))
    with pytest.raises(InvalidInput, match="return a BoTorch model"):
        BoTorch(lambda points, values: points).fit(data)
    with pytest.raises(InvalidInput, match="at least one outcome"):
        BoTorch(SingleTaskGP).fit(table(0))
