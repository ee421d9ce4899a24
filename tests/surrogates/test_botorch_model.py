from dataclasses import replace

import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.ensemble import EnsembleModel
from botorch.models.transforms import Log, Normalize, Standardize
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import LinearKernel, MaternKernel
from linear_operator import to_dense, to_linear_operator
from tests.acquisition.beliefs import GRID, belief
from tests.surrogates.tables import table, uniform

import allweather as aw
from allweather import InvalidInput
from allweather.acquisition.optimize import Search
from allweather.engine.gain import gain_left, possible_outcomes
from allweather.surrogates import GP, BoTorch, botorch_model
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


def standardised(points, values):
    return SingleTaskGP(points, values, input_transform=Normalize(points.shape[1]), outcome_transform=Standardize(1))


def logarithmic(points, values):
    return SingleTaskGP(points, values - values.min() + 1, outcome_transform=Log())


def variational(points, values):
    return SingleTaskVariationalGP(points, values, inducing_points=6)


def linear(points, values):
    return SingleTaskGP(points, values, covar_module=LinearKernel(active_dims=[0]) * MaternKernel(2.5))


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize("build", [linear, single_precision], ids=lambda build: build.__name__)
def test_many_contexts_with_other_kernels(build, monkeypatch):
    posterior = BoTorch(build).fit(table(20))
    contexts, coming, compared = uniform(300, 2), uniform(3, 2, seed=3), uniform(30, 2, seed=4)
    weights, found = uniform(300, seed=6).softmax(0), []
    for most in (2**11, 2**14):
        monkeypatch.setattr(botorch_model, "MAX_SUMMED_POINTS", most)
        found.append(posterior.field(contexts).step(compared, weights, coming)(compared[:2]).detach())
    torch.testing.assert_close(*found, rtol=0, atol=5e-3 * float(found[1].abs().max()))


class Averaged(SingleTaskGP):
    """A mixture of two processes, as those of fully Bayesian models."""

    def posterior(self, X, observation_noise=False, **given):
        law = super().posterior(X, observation_noise=observation_noise).distribution
        means = torch.stack([law.mean, law.mean + X[..., 0]], -2)
        covariances = torch.stack([law.covariance_matrix, 2 * law.covariance_matrix], -3)
        return GaussianMixturePosterior(MultivariateNormal(means, to_linear_operator(covariances)))


def sums(n, rows, seed):
    """Weights that decisions share, signed ones of their own, and few."""
    signed = uniform(rows, n, seed=seed) - 0.3
    return uniform(n, seed=seed).softmax(0), signed, signed * (uniform(rows, n, seed=seed + 1) < 0.2)


@pytest.mark.parametrize("surrogate", [GP(), GP("matern", outputscale="fit")], ids=lambda gp: gp.kernel)
@pytest.mark.parametrize(("n", "error"), [(12, 1e-8), (400, 2e-3)])  # above 51 contexts values are interpolated
def test_steps_are_those_of_the_same_gp(surrogate, n, error):
    fast = surrogate.fit(table(25))
    slow = ModelPosterior(fast.model(), 2)
    contexts, coming, compared = uniform(n, 2, seed=2), uniform(6, 2, seed=3), uniform(40, 2, seed=4)
    decisions = uniform(5, 2, seed=5).requires_grad_()
    for weights, own in zip(sums(n, 40, 6), sums(n, 5, 8), strict=True):
        one, other = (each.field(contexts).step(compared, weights, coming) for each in (fast, slow))
        for ours, theirs in ((one(decisions), other(decisions)), (one.own(decisions, own), other.own(decisions, own))):
            assert float((theirs - ours).detach().abs().max()) < error * float(ours.detach().abs().max())
            first, second = (torch.autograd.grad(each.square().sum(), decisions)[0] for each in (ours, theirs))
            assert float((second - first).abs().max()) < 5 * error * float(first.abs().max())


def test_few_numbers_at_a_time_give_the_same_slopes(monkeypatch):
    posterior = ModelPosterior(GP().fit(table(25)).model(), 2)
    contexts, coming, compared = uniform(12, 2, seed=2), uniform(6, 2, seed=3), uniform(40, 2, seed=4)
    decisions, weights = uniform(5, 2, seed=5), uniform(12, seed=6)
    step = posterior.field(contexts).step(compared, weights, coming)
    expected = step(decisions), step.own(decisions, weights)
    monkeypatch.setattr(botorch_model, "MAX_BLOCK_COVARIANCES", 100)
    for ours, theirs in zip((step(decisions), step.own(decisions, weights)), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_steps_of_plans_and_reactions_are_those_of_the_same_gp():
    fast = GP().fit(table(25))
    slow = ModelPosterior(fast.model(), 2)
    points, nothing = uniform(30, 4, seed=4), torch.zeros(1, 0, dtype=torch.float64)
    order = (2, 0, 3, 1)
    one, other = (
        each.arranged(order, 4).field(nothing).step(points, points.new_ones(1), nothing)(points[:7])
        for each in (fast, slow)
    )
    torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)
    contexts, decisions = uniform(9, 2, seed=2), uniform(3, 2)
    one, other = (each.field(contexts).reaction(decisions, points[0]) for each in (fast, slow))
    torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


def dense(posterior, points):
    """The covariance of values at joint points (n, d), in one piece."""
    with torch.no_grad():
        found = posterior.botorch.posterior(points)
    return to_dense(getattr(found, "mixture_covariance_matrix", found.distribution.covariance_matrix))


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize("build", [standardised, listed, fixed_noise, variational, Averaged], ids=lambda b: b.__name__)
def test_steps_of_other_models_by_brute_force(build):
    posterior = BoTorch(build if build is not Averaged else lambda *data: Averaged(*data)).fit(table(20))
    contexts, coming, compared, decision = uniform(5, 2), uniform(3, 2, seed=3), uniform(4, 2, seed=4), uniform(1, 2)
    trials = torch.cat([decision.expand(3, 2), coming], 1)
    pairs = torch.cat([compared.repeat_interleave(5, 0), contexts.repeat(4, 1)], 1)
    covariance = dense(posterior, torch.cat([pairs, trials]))
    weights = uniform(4, 5, seed=6)
    with torch.no_grad():
        noisy = posterior.botorch.posterior(trials[:, None], observation_noise=True)
        variance = getattr(noisy, "mixture_variance", noisy.variance).flatten()
        found = posterior.field(contexts).step(compared, weights, coming)(decision)[0]
    cross = (covariance[:20, 20:].reshape(4, 5, 3) * weights[..., None]).sum(1)
    assert (variance > covariance.diagonal()[20:]).all() or build is Averaged
    torch.testing.assert_close(found, (cross / variance.sqrt()).mT, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_covariances_that_a_model_does_not_know_are_estimated():
    posterior = BoTorch(logarithmic).fit(table(20))
    points = uniform(6, 4)
    inner = posterior.botorch.posterior(points)._posterior.distribution
    first = torch.exp(inner.mean + inner.variance / 2)  # of a log-normal law
    exact = first[:, None] * first * (inner.covariance_matrix.exp() - 1)
    found = posterior.covariances(points[None, :4], points[None, 4:])[0]
    sizes = exact.diagonal().sqrt()
    assert float(((found - exact[:4, 4:]) / (sizes[:4, None] * sizes[4:])).detach().abs().max()) < 0.15
    assert torch.equal(found, posterior.covariances(points[None, :4], points[None, 4:])[0])


class Members(EnsembleModel):
    """An ensemble without a law of its own."""

    num_outputs = 1

    def forward(self, X):
        return torch.stack([(rate * X).sum(-1, keepdim=True).sin() for rate in range(1, 9)], -3)


def test_an_ensemble_has_steps_and_its_members_as_paths():
    posterior = BoTorch(lambda points, values: Members()).fit(table(5))
    decisions, contexts = uniform(3, 2), uniform(6, 2, seed=2)
    field = posterior.field(contexts)
    slopes = field.step(decisions, uniform(6).softmax(0), contexts[:2])(decisions)
    assert slopes.shape == (3, 2, 3)
    assert slopes.isfinite().all()
    paths = posterior.paths(contexts, 200, torch.Generator().manual_seed(0))
    torch.testing.assert_close(paths(decisions)[:, 1:], paths(decisions[1:]))
    torch.testing.assert_close(paths(decisions).mean(0), field(decisions).mean, rtol=0, atol=0.25)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_paths_of_a_variational_model_do_not_depend_on_what_was_asked_before():
    posterior = BoTorch(variational).fit(table(9))
    contexts, decisions = uniform(5, 2), uniform(3, 2)
    posterior.field(contexts)(decisions)
    assert posterior.draws(decisions, contexts, 4, torch.Generator()).shape == (4, 3, 5)


RULES = [aw.LargestGain(), aw.MostInfluential(), aw.LacingValue(), aw.LacingTail()]


@pytest.mark.parametrize("objective", [aw.Expectation(), aw.CVaR(0.3)], ids=repr)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_of_simulators_choose_as_with_the_same_gp(rule, objective):
    known = belief(objective)
    same = replace(known, surrogate=ModelPosterior(known.surrogate.model(), 1))
    for decision in GRID[::10]:
        assert int(rule.choose(known, decision)) == int(rule.choose(same, decision))


def test_what_one_more_trial_is_expected_to_gain():
    known = belief()
    same = replace(known, surrogate=ModelPosterior(known.surrogate.model(), 1))
    point = known.observations.joint[:1]
    one, other = (possible_outcomes(each.surrogate, point, 1) for each in (known, same))
    torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)
    assert gain_left(same, GRID[10], Search(aw.Space(x=aw.Real(0, 1)).decisions)).expected >= 0


@pytest.mark.parametrize(
    "more",
    [
        {"simulator": aw.MostInfluential(samples=64, drawn=8), "objective": aw.CVaR(0.3), "context": aw.Uniform(16)},
        {"control": aw.Control({"x": 1, ("x", "y"): 2}, rule=aw.InformationPerCost())},
    ],
    ids=["simulator", "control"],
)
def test_a_study_with_a_botorch_model(more):
    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))
    study = aw.Study(space, surrogate=standardised, initial=2, seed=0, **more)
    for _ in range(4):
        trial = study.ask()
        met = {} if trial.context else {name: 0.4 for name in ("y", "c") if name not in trial.decision}
        study.tell(trial, sum(trial.decision.values()), context=met or None)
    assert study.recommend().expected_gain is not None


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
