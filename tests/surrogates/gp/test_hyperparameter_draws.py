"""Hyperparameters averaged over, and outcomes that are transformed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.surrogates.tables import table, uniform

import allweather as aw
from allweather import GP
from allweather.surrogates.gp.gp import _some
from allweather.surrogates.gp.hyperparameter_draws import hyperparameter_draws
from allweather.surrogates.gp.hyperparameter_fit import log_bounds
from allweather.surrogates.gp.outcome_transform import PLACES, OutcomeTransform, places_for
from allweather.surrogates.gp.priors import DimensionScaledPriors, LogNormalPriors
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.leave_one_out import leave_one_out
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior

AVERAGED = GP("matern", outputscale="fit", draws=8)
TRANSFORMED = GP("matern", outputscale="fit", transform="auto")


def skewed(t=30):
    """Outcomes over six orders of magnitude."""
    plain = table(t)
    return replace(plain, values=-torch.exp(3 * plain.values))


@pytest.mark.parametrize("priors", [DimensionScaledPriors(), LogNormalPriors()], ids=["dimension-scaled", "log-normal"])
@pytest.mark.parametrize("mean", [None, 0.3], ids=["fitted mean", "given mean"])
def test_densities_of_many_agree_with_that_of_one(priors, mean):
    evidence = replace(AVERAGED, priors=priors, mean=mean)._evidence(table(15))
    rows = np.log([[0.3, 0.4, 0.5, 0.6, 1.2, 0.01], [1.0, 0.2, 0.3, 2.0, 0.7, 0.1]])
    density, means, deviations = evidence.log_posteriors(rows, 0.2)
    for row, found, centre, deviation in zip(rows, density, means, deviations, strict=True):
        value, _, expected = evidence.minus_log_posterior(row, 0.2)
        integral = 0.0 if mean is not None else 0.5 * np.log(2 * np.pi) + np.log(deviation)
        assert found == pytest.approx(integral - value, rel=1e-6)
        assert centre == pytest.approx(expected)
        assert deviation == 0 if mean is not None else deviation > 0


def test_a_mean_that_is_fitted_is_integrated_out():
    evidence = AVERAGED._evidence(table(15))
    row = np.log([[0.3, 0.4, 0.5, 0.6, 1.2, 0.01]])
    found = evidence.log_posteriors(row, 0.0)
    grid = found.means[0] + found.deviations[0] * np.linspace(-8, 8, 801)
    given = replace(AVERAGED, mean=0.0)._evidence(table(15))
    densities = np.exp([-given.minus_log_posterior(row[0], mean)[0] for mean in grid])
    assert found.values[0] == pytest.approx(np.log(densities.sum() * (grid[1] - grid[0])), abs=1e-6)


def on_grid(evidence, fitted, column, count=1500):
    """Mean and standard deviation of one logarithm, the others as they were fitted, by its density on a grid."""
    grid = np.linspace(*log_bounds(len(fitted.lengthscales))[column], count)
    rows = np.tile(fitted.logarithms, (count, 1))
    rows[:, column] = grid
    density = evidence.log_posteriors(rows, fitted.mean).values
    weights = np.exp(density - density.max())
    mean = np.average(grid, weights=weights)
    return mean, np.sqrt(np.average((grid - mean) ** 2, weights=weights))


@pytest.mark.parametrize("t", [4, 8, 20])
def test_draws_agree_with_the_posterior_on_a_grid(t):
    points = uniform(t, 1)
    values = (4 * points[:, 0]).sin() + 0.1 * torch.randn(t, generator=torch.Generator().manual_seed(0)).double()
    observations = Observations.of(points, points[:, :0], values)
    gp = GP("rbf", noise=0.1, draws=400)
    evidence = gp._evidence(observations)
    fitted = gp.fit(observations).hyperparameters
    mean, sd = on_grid(evidence, fitted, 0)
    drawn, effective = hyperparameter_draws(evidence, fitted, 128)
    logarithms = np.array([each.logarithms[0] for each in drawn])
    assert effective > 50
    assert logarithms.mean() == pytest.approx(mean, abs=0.4 * sd)  # worth some 50 independent draws
    assert logarithms.std() == pytest.approx(sd, rel=0.3)


@pytest.mark.parametrize("priors", [DimensionScaledPriors(), LogNormalPriors()], ids=["dimension-scaled", "log-normal"])
def test_draws_agree_with_a_long_random_walk(priors):
    """Six hyperparameters and few outcomes: the posterior is far from normal."""
    gp = GP("matern", outputscale="fit", priors=priors)
    evidence, source = gp._evidence(table(9)), np.random.default_rng(0)
    mode = gp.fit(table(9)).hyperparameters
    low, high = log_bounds(4).T
    walkers, steps = np.tile(mode.logarithms, (200, 1)), []
    density = evidence.log_posteriors(walkers, 0.0).values
    for number in range(600):
        tried = walkers + 0.7 * source.standard_normal(walkers.shape)
        inside = ((tried > low) & (tried < high)).all(1)
        found = np.where(inside, evidence.log_posteriors(tried.clip(low, high), 0.0).values, -np.inf)
        taken = np.log(source.random(200)) < found - density
        walkers, density = np.where(taken[:, None], tried, walkers), np.where(taken, found, density)
        if number >= 200 and number % 10 == 0:
            steps.append(walkers.copy())
    walked = np.concatenate(steps)
    drawn, effective = hyperparameter_draws(evidence, mode, 128)
    logarithms = np.array([each.logarithms for each in drawn])
    assert effective >= 50
    sd = walked.std(0)
    assert (np.abs(logarithms.mean(0) - walked.mean(0)) < 0.45 * sd).all()
    assert (np.abs(logarithms.std(0) / sd - 1) < 0.35).all()


def test_draws_do_not_depend_on_the_order_of_columns_or_rows():
    data, gp = table(10), GP("matern-columns", outputscale="fit")
    rows = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    turned = Observations.of(
        data.decisions[rows].flip(1), data.contexts[rows].flip(1), data.values[rows], data.contexts
    )
    fits = [hyperparameter_draws(gp._evidence(each), gp.fit(each).hyperparameters, 32)[0] for each in (data, turned)]
    for one, other in zip(*fits, strict=True):
        first, second = (np.array(each.lengthscales) for each in (one, other))
        np.testing.assert_allclose(first, second[[1, 0, 3, 2]], rtol=1e-3)


def test_few_data_are_averaged_over_and_many_are_not():
    few, many = AVERAGED.fit(table(12)), AVERAGED.fit(table(40))
    assert isinstance(few, MixturePosterior)
    assert len(few.parts) == 8
    assert isinstance(many, ProductPosterior)
    assert isinstance(GP("matern").fit(table(12)), ProductPosterior)


def test_a_resumed_posterior_is_the_same():
    for surrogate, observations in ((AVERAGED, table(12)), (TRANSFORMED, skewed())):
        fitted = surrogate.fit(observations)
        again = surrogate.resume(observations, fitted.hyperparameters)
        contexts, decisions = uniform(5, 2), uniform(3, 2, seed=2)
        for one, other in zip(fitted.field(contexts)(decisions), again.field(contexts)(decisions), strict=True):
            assert torch.equal(one, other)


def test_moments_of_a_mixture_agree_with_its_draws():
    posterior, contexts, decisions = AVERAGED.fit(table(10)), uniform(4, 2), uniform(2, 2, seed=2)
    mean, sd = posterior.field(contexts)(decisions)
    drawn = posterior.draws(decisions, contexts, 8000, torch.Generator().manual_seed(0))
    assert ((drawn.mean(0) - mean).abs() < 0.06 * sd).all()
    torch.testing.assert_close(drawn.std(0), sd, rtol=0.08, atol=0)


@pytest.mark.parametrize("surrogate", [AVERAGED, TRANSFORMED], ids=["averaged", "transformed"])
def test_derivatives_in_the_context(surrogate):
    posterior = surrogate.fit(skewed() if surrogate is TRANSFORMED else table(12))
    contexts, decisions, step = uniform(3, 2), uniform(2, 2, seed=2), 1e-5
    slopes = posterior.field(contexts).slopes(decisions)
    for column in range(2):
        move = torch.zeros(2, dtype=torch.float64).index_fill(0, torch.tensor(column), step)
        high, low = (posterior.field(contexts + side * move)(decisions) for side in (1, -1))
        for slope, above, below in zip(slopes, high, low, strict=True):
            torch.testing.assert_close(slope[..., column], (above - below) / (2 * step), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("surrogate", [AVERAGED, TRANSFORMED], ids=["averaged", "transformed"])
def test_further_outcomes_are_learned_from(surrogate):
    observations = skewed() if surrogate is TRANSFORMED else table(12)
    posterior = surrogate.fit(observations)
    point = torch.cat([uniform(1, 2, seed=8), uniform(1, 2, seed=9)], -1)
    value = observations.values.median()[None]
    mean, sd = posterior.given(point, value).field(point[:, 2:])(point[:, :2])
    _, before = posterior.field(point[:, 2:])(point[:, :2])
    assert (mean - value).abs() < (posterior.field(point[:, 2:]).mean(point[:, :2]) - value).abs() + 1e-9
    assert sd < before
    assert posterior.given(point).field(point[:, 2:])(point[:, :2]).sd.isfinite().all()


def test_heavy_tails_are_transformed_and_light_ones_are_not():
    assert isinstance(TRANSFORMED.fit(skewed()), TransformedPosterior)
    light = replace(table(30), values=uniform(30, seed=4))
    assert not isinstance(TRANSFORMED.fit(light), TransformedPosterior)
    assert not isinstance(GP("matern").fit(skewed()), TransformedPosterior)
    assert not isinstance(replace(TRANSFORMED, noise=1.0).fit(skewed()), TransformedPosterior)


def test_a_transform_predicts_heavy_tails_better():
    plain, transformed = GP("matern", outputscale="fit").fit(skewed()), TRANSFORMED.fit(skewed())
    test = skewed(200)
    errors = [
        (posterior.field(test.contexts[-100:]).mean(test.decisions[-100:]).diagonal() - test.values[-100:])
        for posterior in (plain, transformed)
    ]
    middle = [error.abs().median() for error in errors]
    assert middle[1] < middle[0]


def test_transformed_numbers_are_in_the_outcomes_units():
    posterior, contexts, decisions = TRANSFORMED.fit(skewed()), uniform(4, 2), uniform(2, 2, seed=2)
    mean, sd = posterior.field(contexts)(decisions)
    drawn = posterior.draws(decisions, contexts, 20000, torch.Generator().manual_seed(0))
    assert ((drawn.mean(0) - mean).abs() < 0.1 * sd).all()
    paths = posterior.paths(contexts, 3, torch.Generator().manual_seed(0))(decisions)
    assert paths.shape == (3, 2, 4)
    assert paths.isfinite().all()


def test_the_bound_of_transformed_outcomes_is_that_of_plain_ones_where_the_transform_is_flat():
    observations = table(20)
    inner = GP("matern", outputscale="fit").fit(observations)
    transform = OutcomeTransform(0.0, 1e4)
    flat = TransformedPosterior(
        GP("matern", outputscale="fit").resume(
            replace(observations, values=transform(observations.values)), inner.hyperparameters
        ),
        transform,
    )
    contexts, decisions, weights = uniform(12, 2), uniform(3, 2, seed=2), torch.full((12,), 1 / 12).double()
    found = flat.field(contexts).upper(decisions, weights, 1.5)
    torch.testing.assert_close(found, inner.field(contexts).upper(decisions, weights, 1.5), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("place", PLACES)
def test_transforms_are_undone(place):
    values = skewed().values
    transform = OutcomeTransform.around(place, values)
    torch.testing.assert_close(transform.inverse(transform(values)), values, rtol=1e-9, atol=1e-6)
    moved = values.clone().requires_grad_()
    (slope,) = torch.autograd.grad(transform(moved).sum(), moved)
    torch.testing.assert_close(transform.log_jacobian(values), slope.log())
    torch.testing.assert_close(1 / transform.slope(transform(values)), slope)


@pytest.mark.parametrize("place", PLACES)
def test_transforms_go_on_as_straight_lines_beyond_the_outcomes(place):
    values = skewed().values
    transform, (low, high) = OutcomeTransform.around(place, values), (values.min(), values.max())
    beyond = torch.stack([low - (high - low), high + (high - low)])
    torch.testing.assert_close(transform.inverse(transform(beyond)), beyond)
    torch.testing.assert_close(transform.slope(transform(beyond)), transform.slope(transform(torch.stack([low, high]))))
    further = transform(beyond) + torch.tensor([-1.0, 1.0])
    torch.testing.assert_close(transform.inverse(further), beyond + transform.slope(further) * torch.tensor([-1, 1]))


AWKWARD = {
    "constant": [2.0] * 12,
    "two": [1.0, 5.0],
    "one": [3.0],
    "one outlier": [0.0] * 11 + [1.0],
    "twelve orders of magnitude": [10.0**power for power in range(-6, 7)],
    "tiny": [1e-300 * each for each in range(12)],
    "huge": [1e148 * (-1) ** each * each for each in range(12)],
}


@pytest.mark.parametrize("values", AWKWARD.values(), ids=AWKWARD)
def test_awkward_outcomes(values):
    t = len(values)
    observations = Observations.of(uniform(t, 1), uniform(t, 1, seed=2), values)
    surrogate = GP("matern", outputscale="fit", transform="auto", draws=8)
    posterior = surrogate.fit(observations)
    field = posterior.field(uniform(6, 1, seed=3))
    for found in (*field(uniform(4, 1)), *field.combination(uniform(4, 1), torch.full((6,), 1 / 6).double())):
        assert found.isfinite().all()
    assert posterior.draws(uniform(2, 1), uniform(6, 1), 5, torch.Generator().manual_seed(0)).isfinite().all()
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    study = aw.Study(space, initial=1, surrogate=surrogate, acquisition=aw.ObjectiveUCB(1.0))
    rows = torch.cat([observations.joint, observations.values[:, None]], 1).tolist()
    study.add([dict(zip(("x", "c", "value"), row, strict=True)) for row in rows])
    assert 0 <= study.ask().decision["x"] <= 1


def test_leave_one_out_agrees_with_leaving_one_out():
    observations, gp = table(9), GP("matern", outputscale="fit")
    posterior = gp.fit(observations)
    found = leave_one_out(posterior)
    data = posterior.data
    for left in range(9):
        others = [each for each in range(9) if each != left]
        covariance = data.kernel(data.points, data.points) + data.noise * torch.eye(9, dtype=torch.float64)
        solved = torch.linalg.solve(covariance[others][:, others], covariance[others, left])
        mean = data.mean + solved @ (posterior.targets[others] - data.mean)
        variance = covariance[left, left] - solved @ covariance[others, left]
        torch.testing.assert_close(found.mean[left], data.shift + data.scale * mean)
        torch.testing.assert_close(found.sd[left], data.scale * variance.sqrt())


def test_heavy_tails_need_a_few_outcomes():
    assert not places_for(torch.tensor([0.0, 0.0, 0.0, 100.0]))
    assert DimensionScaledPriors().typical(2, 1).transform == ""


def test_intervals_allow_for_what_was_fitted():
    """Variances grow with the number of unknowns, and not at all where everything is given."""
    data = table(15)
    given = aw.GP("matern", 0.3, outputscale=1.0, noise=0.1, mean=0.0)
    free = aw.GP("matern", 0.3, outputscale=1.0, noise=0.1)
    x, c = data.decisions[:4] / 2, data.contexts[:3] / 2

    def sd(surrogate):
        fitted = surrogate.fit(data)
        return fitted.field(c)(x).sd, surrogate.averaged(data, fitted).field(c)(x).sd

    torch.testing.assert_close(*sd(given))
    best, averaged = sd(free)
    assert bool((averaged >= best * (15 / 14) ** 0.5 - 1e-9).all())
    off = aw.GP("matern", outputscale="fit", interval_draws=0)
    torch.testing.assert_close(*sd(off))


def test_with_many_outcomes_the_last_transform_holds_between_reviews():
    few, many = skewed(30), skewed(61)
    chosen = TRANSFORMED.fit(few).hyperparameters
    assert chosen.transform
    assert TRANSFORMED.fit(many, chosen).hyperparameters.transform == chosen.transform
    plain = replace(chosen, transform="")
    assert TRANSFORMED.fit(many, plain).hyperparameters.transform == ""
    assert TRANSFORMED.fit(skewed(60), plain).hyperparameters.transform  # reviewed
    light = replace(many, values=uniform(61, seed=4))
    assert TRANSFORMED.fit(light, chosen).hyperparameters.transform == ""  # nothing left to transform


def test_transforms_are_compared_on_some_of_many_outcomes():
    assert len(_some(20, 50)) == 20
    places = _some(200, 50)
    assert len(set(places.tolist())) == 50
    assert isinstance(TRANSFORMED.fit(skewed(200)), TransformedPosterior)


@pytest.mark.parametrize("draws", [0, 12])
def test_draws_of_means_are_means_of_draws(draws):
    posterior = replace(AVERAGED, draws=draws).fit(table(15))
    decisions, contexts, laws = uniform(3, 2), uniform(200, 2, seed=2), uniform(31, 200, seed=3).softmax(-1)
    first, second = (torch.Generator().manual_seed(5) for _ in range(2))
    expected = torch.einsum("kbn,kn->kb", posterior.draws(decisions, contexts, 31, first), laws)
    torch.testing.assert_close(posterior.mean_draws(decisions, contexts, laws, 31, second), expected)


def test_wary_draws_do_not_hope_for_what_the_data_do_not_say():
    """Ten outcomes of one decision say nothing about other decisions: these may differ soon, and are not as good."""
    contexts = uniform(10, 1)
    data = Observations.of(
        torch.full((10, 2), 0.5, dtype=torch.float64), contexts, 3 + 0.1 * (5 * contexts[:, 0]).sin()
    )
    model = GP("matern", outputscale="fit")
    fitted = model.fit(data)
    usual, wary = model.averaged(data, fitted), model.wary(data, fitted, level=2.0)
    lengths = [np.median([part.fitted.lengthscales[0] for part in each.parts]) for each in (usual, wary)]
    assert max(lengths) < 1  # where nothing is known, functions may change soon
    here, away = torch.full((1, 2), 0.5, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    fields = [each.field(contexts[:3]) for each in (usual, wary)]
    torch.testing.assert_close(fields[0].mean(here), fields[1].mean(here), atol=0.02, rtol=0)
    assert bool((fields[1].mean(away) < 2.5).all())
    assert bool((fields[0].mean(away) > 2.7).all())
    given = GP("matern", 0.3, outputscale=1.0, noise=0.1, mean=0.0)
    torch.testing.assert_close(
        *(
            each.field(contexts).mean(away)
            for each in (given.averaged(data, given.fit(data)), given.wary(data, given.fit(data), 2.0))
        )
    )
