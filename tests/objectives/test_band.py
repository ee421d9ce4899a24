"""Upper bounds of objectives over all functions in a band: never beaten by any function in it."""

import pytest
import torch

import allweather as aw

POINTS = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]


def bands(count=60):
    source = torch.Generator().manual_seed(0)
    for _ in range(count):
        weights = torch.rand(6, generator=source, dtype=torch.float64)
        mean = torch.randn(6, generator=source, dtype=torch.float64)
        spread = torch.rand(6, generator=source, dtype=torch.float64)
        yield aw.Band(mean, spread), aw.Reference(POINTS, weights / weights.sum())


def inside(band, count=4000):
    """Functions in the band: random ones, and corners of the box."""
    source = torch.Generator().manual_seed(1)
    share = 2 * torch.rand(count, 6, generator=source, dtype=torch.float64) - 1
    share[::2] = share[::2].sign()
    return band.mean + share * band.spread


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.2])
def test_the_flattest_function_in_total_variation(radius):
    """MATH: brute force over the box never beats max(lower, min upper), which lies in it."""
    distance = aw.TotalVariation(radius)
    objective = aw.General(0.0, 1.0, distance)
    for band, reference in bands():
        bound = objective.upper(band, reference)
        assert (objective(inside(band), reference) <= bound + 1e-9).all()
        flattest = torch.maximum(band.lower, band.upper.min())
        assert (flattest <= band.upper + 1e-12).all()
        assert objective(flattest, reference) == pytest.approx(bound.item())


@pytest.mark.parametrize(
    "objective",
    [
        aw.Expectation(),
        aw.WorstCase(),
        aw.DRO(aw.TotalVariation(0.3)),
        aw.DRO(aw.ChiSquared(0.3)),
        aw.DRO(aw.KL(0.3)),
        aw.DRO(aw.Wasserstein(0.1)),
        aw.DRO(aw.MMD(0.1, lengthscale=0.3)),
        aw.General(1.0, 0.7, aw.TotalVariation(0.3)),
        aw.WorstCaseSensitivity(aw.TotalVariation(0)),
        aw.MeanRisk(0.4, aw.TotalVariation(0)),
        aw.CVaR(0.3),
        aw.VaR(0.3),
        aw.EntropicRisk(1.0),
    ],
    ids=repr,
)
def test_no_function_in_the_band_does_better(objective):
    for band, reference in bands(8):
        bound = objective.upper(band, reference)
        assert (objective(inside(band, 400), reference) <= bound + 1e-7).all()


@pytest.mark.parametrize(
    "objective",
    [aw.MeanVariance(0.5), aw.VarianceRegularised(0.3), aw.RangeRegularised(0.3), aw.LipschitzRegularised(0.1)],
    ids=repr,
)
def test_one_function_is_a_band_without_spread(objective):
    for band, reference in bands(5):
        alone = aw.Band(band.mean)
        assert objective.upper(alone, reference).item() == pytest.approx(objective(band.mean, reference).item())
        assert objective.upper(band, reference) > objective.upper(alone, reference) - 1e-9 or isinstance(
            objective, aw.LipschitzRegularised
        )


def test_phis_acquisition_takes_the_spread_of_the_middle():
    band, reference = next(bands(1))
    weights = reference.weights
    variance = band.mean.square() @ weights - (band.mean @ weights).square()
    by_hand = band.upper @ weights - (0.3 * variance).sqrt()
    assert aw.VarianceRegularised(0.3).upper(band, reference).item() == pytest.approx(by_hand.item())


def test_satisficing_ranks_what_it_cannot_reach():
    reference = aw.Reference.checked(POINTS, [1 / 6] * 6)
    rows = torch.tensor([[0.0] * 6, [0.5] * 6, [1.0] * 5 + [0.9], [2.0] * 5 + [-1.0], [2.0] * 6], dtype=torch.float64)
    objective = aw.RobustSatisficing(1.2, aw.TotalVariation(0))
    score = objective.upper(aw.Band(rows), reference)
    assert torch.isfinite(score).all()
    assert (score.diff() > 0).all()
    values = objective(rows, reference)
    assert torch.isneginf(values[:3]).all()
    assert (score[3:] > -1).all()
    assert (score[:3] < -1).all()


def test_lipschitz_of_values_is_the_steepest_line():
    reference = aw.Reference.checked([[0.0], [0.1], [1.0]], [0.2, 0.3, 0.5])
    values = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    found = aw.LipschitzRegularised(0.5)(values, reference)
    assert found.tolist() == pytest.approx([0.2 + 0.6 + 1.5 - 0.5 * 10, 0.0])
    assert aw.LipschitzRegularised(0.5)(values[:, :1], aw.Reference.checked([[0.0]], [1.0])).tolist() == [1.0, 0.0]
    exact = aw.DRO(aw.Wasserstein(0.5))(values, reference)
    assert (found <= exact + 1e-12).all()


def test_targets_turn_with_the_direction():
    objective = aw.RobustSatisficing(3.0, aw.KL(0.1))
    assert objective.facing(-1).target == -3.0
    assert aw.Expectation().facing(-1) == aw.Expectation()
