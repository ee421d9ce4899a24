from dataclasses import replace

import pytest
import torch
from tests.acquisition.beliefs import GRID, belief

from allweather import (
    DRO,
    MMD,
    UCB,
    Acquisition,
    BayesianWidth,
    Expectation,
    ExpectedImprovement,
    FourierThompson,
    General,
    InvalidInput,
    LipschitzRegularised,
    PowerLaw,
    Random,
    Reference,
    RobustSatisficing,
    Thompson,
    TotalVariation,
    WorstCase,
)

EVERY = [UCB(1.5), Thompson(), ExpectedImprovement(samples=16), Random()]


@pytest.mark.parametrize("acquisition", EVERY, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize(
    "objective", [DRO(TotalVariation(0.3)), WorstCase(), RobustSatisficing(0.5, TotalVariation(0))]
)
def test_scores_are_finite_and_have_gradients(acquisition, objective):
    score = acquisition.build(belief(objective))
    decisions = GRID[3:8].clone().requires_grad_()
    values = score(decisions)
    assert values.shape == (5,)
    assert torch.isfinite(values).all()
    (gradient,) = torch.autograd.grad(values.sum(), decisions)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("acquisition", EVERY, ids=lambda a: type(a).__name__)
def test_the_same_generator_gives_the_same_scores(acquisition):
    first, second = (acquisition.build(belief(seed=4))(GRID) for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("acquisition", [UCB(1.5), Thompson(), ExpectedImprovement(samples=8)], ids=repr)
def test_gradients_by_finite_differences(acquisition):
    score = acquisition.build(belief(DRO(TotalVariation(0.3))))
    decisions = GRID[10:14].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(decisions).sum(), decisions)
    with torch.no_grad():
        found = (score(decisions + 1e-6) - score(decisions - 1e-6)) / 2e-6
    torch.testing.assert_close(gradient[:, 0], found, rtol=1e-3, atol=1e-4)


def test_ucb_is_the_objective_of_the_upper_bound():
    known = belief(WorstCase())
    mean, sd = known.field(GRID)
    torch.testing.assert_close(UCB(2.0).build(known)(GRID), (mean + 2 * sd).amin(-1))


def test_its_rough_version_is_close_where_contexts_are_many():
    points = torch.rand(2000, 1, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    many = Reference(points, torch.full((2000,), 1 / 2000, dtype=torch.float64))
    score = UCB(2.0).build(replace(belief(), reference=many))
    exact, rough = score(GRID), score.rough(GRID)
    assert (rough - exact).abs().max() < 0.2 * (exact.max() - exact.min())
    assert UCB(2.0).build(belief()).rough is None


@pytest.mark.parametrize("acquisition", [UCB(2.0), Thompson()])
@pytest.mark.parametrize("objective", [DRO(MMD(0.1)), General(1, 1, MMD(0.1))])
def test_bounds_are_never_below_the_score(acquisition, objective):
    score = acquisition.build(belief(objective))
    assert bool((score.bound(GRID) >= score(GRID) - 1e-9).all())
    assert acquisition.build(belief(WorstCase())).bound is None


def test_the_width_follows_a_schedule():
    known = belief()
    for width, number in (
        (PowerLaw(2.0, 0.0), 2.0),
        (lambda t: 2.0, 2.0),
        (BayesianWidth(), BayesianWidth()(known.progress)),
    ):
        torch.testing.assert_close(UCB(width).build(known)(GRID), UCB(number).build(known)(GRID))


def test_a_negative_width_is_refused_when_it_comes():
    with pytest.raises(InvalidInput, match=r"UCB\(width=...\) at step 12"):
        UCB(lambda t: -1.0).build(belief())
    with pytest.raises(InvalidInput, match="UCB"):
        UCB(-1.0)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_bounds_of_listed_decisions_are_never_below_their_scores(beta):
    for objective in (Expectation(), DRO(TotalVariation(0.2)), General(0.7, beta, TotalVariation(0.2))):
        score = UCB(1.5).build(belief(objective))
        with torch.no_grad():
            above = score.bound(GRID) - score(GRID)
        assert above.min() > -1e-9
        if isinstance(objective, Expectation):  # nearly as tight as the score itself
            assert above.max() < 0.2 * score(GRID).std()


def test_lipschitz_bound_uses_the_gradient_of_the_upper_bound():
    known = belief(LipschitzRegularised(0.2))
    mean, sd = known.field(GRID)
    slope = known.field.slopes(GRID)
    steepest = (slope.mean + 1.5 * slope.sd).abs().amax((-1, -2))
    by_hand = (mean + 1.5 * sd).mean(-1) - 0.2 * steepest
    torch.testing.assert_close(UCB(1.5).build(known)(GRID), by_hand)


@pytest.mark.parametrize(("acquisition", "name"), [(Thompson(64), "paths"), (FourierThompson(64), "fourier_paths")])
def test_the_expectation_of_a_sample_is_the_mean_of_its_values(acquisition, name):
    known = belief()
    one, other = (replace(known, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    path = getattr(known.surrogate, name)(known.reference.points, 1, one.generator, 64)
    torch.testing.assert_close(acquisition.build(other)(GRID), path(GRID)[0] @ known.reference.weights)


def test_thompson_prefers_good_decisions_in_proportion_to_belief():
    """Over many draws the path's maximum falls where the best decision probably is."""
    known = belief()
    seeded = [replace(known, generator=torch.Generator().manual_seed(seed)) for seed in range(200)]
    places = [GRID[Thompson(256).build(each)(GRID).argmax(), 0].item() for each in seeded]
    mean = known.field(GRID).mean.mean(-1)
    best = GRID[mean.argmax(), 0].item()
    near = sum(abs(place - best) < 0.3 for place in places)
    assert near > 100


def test_improvement_matches_a_plain_average_over_draws():
    known = belief()
    grid = torch.cat([known.observations.decisions.unique(dim=0), GRID])
    points = known.reference.points
    source = torch.Generator().manual_seed(1)
    drawn = torch.cat([known.surrogate.paths(points, 1, source)(grid).mean(-1) for _ in range(800)])
    tried = len(grid) - len(GRID)
    gain = (drawn[:, tried:] - drawn[:, :tried].amax(-1, keepdim=True)).clamp_min(0).mean(0)
    seeded = [replace(known, generator=torch.Generator().manual_seed(seed)) for seed in range(20)]
    scores = torch.stack([ExpectedImprovement(64, 512).build(each)(GRID).exp() for each in seeded]).mean(0)
    torch.testing.assert_close(scores, gain, rtol=0.3, atol=0.2 * gain.max().item())


def test_improvement_over_the_best_value_at_all_data():
    known = replace(belief(t=70), generator=torch.Generator().manual_seed(5))  # more data than fit in one block
    score = ExpectedImprovement(4, 32, best="data").build(known)
    seen = known.observations
    for i in (0, 40, 69):
        one = known.surrogate.paths(seen.contexts[i : i + 1], 4, torch.Generator().manual_seed(5), 32)
        assert (one(seen.decisions[i : i + 1])[:, 0] <= score.best + 1e-9).all()
    whole = known.surrogate.paths(seen.contexts, 4, torch.Generator().manual_seed(5), 32)(seen.decisions)
    torch.testing.assert_close(score.best[:, 0], whole.diagonal(dim1=1, dim2=2).amax(-1))
    with pytest.raises(InvalidInput, match="best"):
        ExpectedImprovement(best="all")


def test_improvement_has_a_slope_where_there_is_hardly_any():
    known = belief(t=60)
    score = ExpectedImprovement(samples=8).build(known)
    decisions = GRID.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(decisions).sum(), decisions)
    assert (gradient.abs() > 1e-9).float().mean() > 0.9


def test_random_scores_are_flat_and_uniform():
    score = Random().build(belief())
    decisions = GRID.clone().requires_grad_()
    values = score(decisions)
    (gradient,) = torch.autograd.grad(values.sum(), decisions)
    assert (gradient == 0).all()
    counts = torch.stack([score(GRID[:4]) for _ in range(2000)]).argmax(-1).bincount(minlength=4)
    assert counts.min() > 400


def test_found_by_name():
    assert Acquisition.named("ucb") is UCB
    assert Acquisition.named("expected-improvement") is ExpectedImprovement


def test_incumbents_are_the_best_so_far():
    known = belief(t=40)
    chosen = known.incumbents(5)
    others = known.observations.decisions
    with torch.no_grad():
        worst = known.expected(chosen).min()
        assert (known.expected(others) > worst + 1e-9).sum() == 4
    assert len(known.incumbents(100)) == 40


def test_a_mean_needs_no_variance():
    known = belief()
    torch.testing.assert_close(known.band(GRID).mean, known.field(GRID).mean)
    assert known.band(GRID).spread is None
