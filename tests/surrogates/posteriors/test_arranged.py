"""Posteriors whose columns are arranged for several splits are the posterior of all columns."""

import pytest
import torch
from botorch.models import SingleTaskGP
from tests.pretend_device import DEVICE, PretendDevice, there
from tests.surrogates.tables import table, uniform

import allweather as aw
from allweather.errors import InvalidInput
from allweather.surrogates import BoTorch
from allweather.surrogates.approximations.inducing import InducingPosterior
from allweather.surrogates.botorch_model import ModelPosterior
from allweather.surrogates.gp import gp as gp_module
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior

SPLITS = [((0, 1, 2, 3), 2), ((3, 1, 0, 2), 1), ((2, 0, 3, 1), 3), ((1, 3, 2, 0), 4)]
"""Which column each column is, and how many of them are decisions."""
GPS = {
    "rbf": aw.GP(outputscale="fit"),
    "matern32": aw.GP("matern32-columns"),
    "rational quadratic": aw.GP("rational-quadratic-columns"),
    "matern": aw.GP("matern-columns", outputscale="fit"),
    "averaged": aw.GP("matern-columns", outputscale="fit", draws=6),
}


def whole(t=30, skewed=False):
    """Outcomes whose columns are all decisions."""
    known = table(t)
    values = known.values.exp().pow(3) if skewed else known.values
    return Observations.of(known.joint, torch.zeros(t, 0), values)


def parts(posterior):
    return posterior.parts if isinstance(posterior, MixturePosterior) else [posterior]


def dense(posterior, points):
    """Mean and covariance of every part, from the kernel alone: (k, n) and (k, n, n), in the outcome's units."""
    moments = []
    for part in parts(posterior):
        data = part.data
        kernel = data.kernel.gpytorch()
        with torch.no_grad():
            covariance, cross, own = (
                kernel(*pair).to_dense()
                for pair in ((data.points, data.points), (points, data.points), (points, points))
            )
        gain = torch.linalg.solve(covariance + data.noise * torch.eye(len(covariance)), cross.T).T
        mean = data.shift + data.scale * (data.mean + gain @ (part.targets - data.mean))
        moments.append((mean, data.scale**2 * (own - gain @ cross.T)))
    return [torch.stack(each) for each in zip(*moments, strict=True)]


def grid(order, split):
    """Decisions, contexts, and all pairs of them with the columns in their first order."""
    decisions, contexts = uniform(3, split, seed=4), uniform(5, len(order) - split, seed=5)
    if len(order) == split:
        contexts = torch.zeros(1, 0, dtype=torch.float64)
    pairs = torch.cat([decisions.repeat_interleave(len(contexts), 0), contexts.repeat(len(decisions), 1)], 1)
    return decisions, contexts, pairs[:, torch.tensor(order).argsort()]


@pytest.mark.parametrize(("order", "split"), SPLITS)
@pytest.mark.parametrize("name", GPS)
def test_means_deviations_and_sums_are_those_of_all_columns(name, order, split):
    posterior = GPS[name].fit(whole())
    decisions, contexts, points = grid(order, split)
    means, covariances = dense(posterior, points)
    field = posterior.arranged(order, split).field(contexts)
    mean, sd = (each.flatten() for each in field(decisions))
    torch.testing.assert_close(mean, means.mean(0), rtol=1e-8, atol=1e-8)
    variance = covariances.diagonal(dim1=-2, dim2=-1).mean(0) + means.var(0, correction=0)
    torch.testing.assert_close(sd, variance.sqrt(), rtol=1e-8, atol=1e-8)
    weights = uniform(len(contexts), seed=6).softmax(-1)
    rows = torch.block_diag(*[weights[None]] * len(decisions))
    total, spread = field.combination(decisions, weights)
    torch.testing.assert_close(total, (means @ rows.T).mean(0), rtol=1e-8, atol=1e-8)
    squared = torch.einsum("bn,knm,bm->kb", rows, covariances, rows).mean(0) + (means @ rows.T).var(0, correction=0)
    torch.testing.assert_close(spread, squared.sqrt(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("order", "split"), SPLITS)
def test_gradients_are_those_of_all_columns(order, split):
    posterior = GPS["matern"].fit(whole())
    decisions, contexts, _ = grid(order, split)
    arranged = posterior.arranged(order, split).field(contexts)
    model = ModelPosterior(posterior.model(), 4).arranged(order, split).field(contexts)
    moved = decisions.requires_grad_()
    for ours, theirs in zip(arranged(moved), model(moved), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)
        pair = [torch.autograd.grad(each.sum(), moved, retain_graph=True)[0] for each in (ours, theirs)]
        torch.testing.assert_close(*pair, rtol=1e-7, atol=1e-7)
    if contexts.shape[1]:
        for ours, theirs in zip(arranged.slopes(decisions), model.slopes(decisions), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-7)
    weights = torch.full((len(contexts),), 1 / len(contexts), dtype=torch.float64)
    values, slopes = arranged.quadrature(weights, 1.5).slopes(decisions.detach().numpy())
    expected = arranged.upper(moved, weights, 1.5)
    (gradient,) = torch.autograd.grad(expected.sum(), moved)
    torch.testing.assert_close(torch.from_numpy(values), expected.detach(), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(torch.from_numpy(slopes), gradient, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["paths", "fourier_paths"])
@pytest.mark.parametrize("kernel", ["rbf", "matern-columns"])
def test_samples_are_the_same_function_under_every_split(kernel, name):
    posterior, found = aw.GP(kernel).fit(whole()), []
    points = uniform(4, 4, seed=8)
    for order, split in SPLITS:
        arranged = posterior.arranged(order, split)
        turned = points[:, list(order)]
        rows = []
        for row in turned:
            generator = torch.Generator().manual_seed(3)
            paths = getattr(arranged, name)(row[None, split:], 2, generator, 64)
            rows.append(paths(row[None, :split])[:, 0, 0])
        found.append(torch.stack(rows))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("order", "split"), SPLITS[1:3])
@pytest.mark.parametrize("name", ["matern", "averaged"])
def test_draws_have_the_moments_of_all_columns(name, order, split):
    posterior = GPS[name].fit(whole())
    decisions, contexts, points = grid(order, split)
    means, covariances = dense(posterior, points)
    drawn = posterior.arranged(order, split).draws(decisions, contexts, 6000, torch.Generator().manual_seed(0))
    variance = covariances.diagonal(dim1=-2, dim2=-1).mean(0) + means.var(0, correction=0)
    error = (drawn.flatten(1).mean(0) - means.mean(0)) / (variance / 6000).sqrt()
    assert float(error.abs().max()) < 4.5
    torch.testing.assert_close(drawn.flatten(1).var(0), variance, rtol=0.12, atol=1e-6)


@pytest.mark.parametrize(("order", "split"), SPLITS)
def test_transformed_outcomes(order, split):
    posterior = aw.GP("matern-columns", outputscale="fit", transform="auto").fit(whole(skewed=True))
    assert isinstance(posterior, TransformedPosterior)
    decisions, contexts, points = grid(order, split)
    nothing = torch.zeros(1, 0, dtype=torch.float64)
    for ours, theirs in zip(
        posterior.arranged(order, split).field(contexts)(decisions), posterior.field(nothing)(points), strict=True
    ):
        torch.testing.assert_close(ours.flatten(), theirs.flatten(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("order", "split"), SPLITS)
def test_many_outcomes(order, split, monkeypatch):
    monkeypatch.setattr(gp_module, "MAX_EXACT_OUTCOMES", 50)
    posterior = GPS["matern"].fit(whole(80))
    assert isinstance(posterior, InducingPosterior)
    decisions, contexts, points = grid(order, split)
    nothing = torch.zeros(1, 0, dtype=torch.float64)
    for ours, theirs in zip(
        posterior.arranged(order, split).field(contexts)(decisions), posterior.field(nothing)(points), strict=True
    ):
        torch.testing.assert_close(ours.flatten(), theirs.flatten(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "matern-columns"])
def test_what_is_given_afterwards_is_given_in_the_new_order(kernel):
    posterior, (order, split) = aw.GP(kernel).fit(whole()), SPLITS[1]
    further, contexts, decisions = uniform(2, 4, seed=9), uniform(4, 3, seed=5), uniform(2, 1, seed=4)
    first = posterior.given(further).arranged(order, split)
    then = posterior.arranged(order, split).given(further[:, list(order)])
    torch.testing.assert_close(first.field(contexts)(decisions), then.field(contexts)(decisions))
    drawn = [each.paths(contexts, 2, torch.Generator().manual_seed(1), 64)(decisions) for each in (first, then)]
    torch.testing.assert_close(*drawn)


@pytest.mark.parametrize(("order", "split"), SPLITS)
def test_a_botorch_model_is_called_with_its_own_columns(order, split):
    posterior = BoTorch(lambda x, y: SingleTaskGP(x, y)).fit(whole(12))
    decisions, contexts, points = grid(order, split)
    nothing = torch.zeros(1, 0, dtype=torch.float64)
    arranged = posterior.arranged(range(4), 4).arranged(order, split)
    for ours, theirs in zip(arranged.field(contexts)(decisions), posterior.field(nothing)(points), strict=True):
        torch.testing.assert_close(ours.flatten(), theirs.flatten())
    further = uniform(2, 4, seed=9)
    after = arranged.given(further[:, list(order)]).field(contexts)(decisions)
    torch.testing.assert_close(after.mean.flatten(), posterior.given(further).field(nothing)(points).mean.flatten())
    drawn = [
        each.paths(bound, 2, torch.Generator().manual_seed(1))(at).flatten(1)
        for each, bound, at in ((arranged, contexts, decisions), (posterior, nothing, points))
    ]
    torch.testing.assert_close(*drawn)
    if contexts.shape[1]:
        assert arranged.context_kernel(contexts, contexts).shape == (len(contexts), len(contexts))


def test_a_matern_of_several_columns_cannot_be_arranged():
    with pytest.raises(InvalidInput, match="matern-columns"):
        aw.GP("matern").fit(whole()).arranged(*SPLITS[1])
    assert aw.GP("matern").over_columns().kernel == "matern-columns"


@pytest.mark.parametrize("name", [*GPS, "transformed", "many"])
def test_everything_stays_on_the_device_of_the_outcomes(name, monkeypatch):
    if name == "many":
        monkeypatch.setattr(gp_module, "MAX_EXACT_OUTCOMES", 20)
    surrogate = GPS.get(name, aw.GP("matern-columns", outputscale="fit", transform="auto"))
    data = whole(skewed=name == "transformed")
    fitted, (order, split) = surrogate.fit(data), SPLITS[1]
    decisions, contexts, _ = grid(order, split)
    weights, further = uniform(len(contexts), seed=6).softmax(-1), uniform(2, 4, seed=9)

    def computed(posterior, move):
        posterior = posterior.given(move(further)).arranged(order, split)
        at, bound = move(decisions).requires_grad_(), move(contexts)
        field = posterior.field(bound)
        found = [*field(at), *field.combination(at, move(weights)), field.upper(at, move(weights), 1.5)]
        found.append(torch.autograd.grad(sum(each.sum() for each in found), at)[0])
        found += [*field.slopes(move(decisions)), *field.rough(torch.tensor([0, 2]))(move(decisions))]
        found.append(field.step(move(decisions), move(weights), bound)(move(decisions)))
        found.append(posterior.context_kernel(bound, bound))
        generator = torch.Generator().manual_seed(0)
        found += [
            posterior.draws(move(decisions), bound, 8, generator),
            posterior.paths(bound, 8, generator, 64)(move(decisions)),
            posterior.fourier_paths(bound, 8, generator, 64)(move(decisions)),
            posterior.mean_draws(move(decisions), bound, move(weights.expand(8, -1)), 8, generator),
        ]
        return found

    expected = computed(fitted, lambda each: each.clone())
    with PretendDevice():
        moved = surrogate.resume(data.to(DEVICE), fitted.hyperparameters)
        for ours, theirs in zip(computed(moved, there), expected, strict=True):
            assert ours.device == DEVICE
            torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-6, atol=1e-8)
