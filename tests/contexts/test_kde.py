import numpy as np
import pytest
import scipy.stats
import torch

from allweather import KDE, Choice, Context, Integer, InvalidInput, Real, Space
from allweather.testing import ContextModelSuite

NORMAL = [scipy.stats.norm(0.5, 0.1)]
MODES = [(0.1, 0.02), (0.3, 0.075), (0.4, 0.1), (0.5, 0.1), (0.7, 0.075), (0.8, 0.03)]
COMPLICATED = [scipy.stats.norm(m, s) for m, s in MODES] + [scipy.stats.cauchy(c, 0.02) for c in (0.2, 0.8)]

TABLE_2 = {  # kde, App. E: mean and standard error of 20 runs
    ("normal", 10): (0.3222, 0.0327),
    ("normal", 100): (0.1315, 0.0088),
    ("normal", 200): (0.1156, 0.0079),
    ("normal", 300): (0.0962, 0.0083),
    ("complicated", 10): (0.6216, 0.0190),
    ("complicated", 100): (0.5380, 0.0333),
    ("complicated", 200): (0.4853, 0.0233),
    ("complicated", 300): (0.4724, 0.0258),
}


class TestKDE(ContextModelSuite):
    def make(self, dimension):
        return KDE(samples=64, unseen=8)


class TestClippedKDE(ContextModelSuite):
    def make(self, dimension):
        return KDE(samples=64, bounds="clip", bandwidth="silverman")


class TestBoundKDE(ContextModelSuite):
    """With a box: one real context, and an integer."""

    def make(self, dimension):
        more = {"b": Context(Integer(0, 4))} if dimension == 2 else {}
        return KDE(samples=64).on(Space(a=Context(0, 1), **more))


def test_reflection_leaves_no_mass_on_the_bounds_and_keeps_a_uniform_law_uniform():
    contexts = torch.linspace(0, 1, 41, dtype=torch.float64)[:, None]
    reflected = KDE(4096).reference(contexts, 41, torch.Generator().manual_seed(0)).points[:, 0]
    clipped = KDE(4096, bounds="clip").reference(contexts, 41, torch.Generator().manual_seed(0)).points[:, 0]
    assert 0 < reflected.min() < reflected.max() < 1
    assert ((clipped == 0) | (clipped == 1)).double().mean() > 0.02
    near = (reflected < 0.1).double().mean().item()
    assert near == pytest.approx(0.1, abs=0.015)
    wide = KDE(512, bandwidth=3.0).reference(contexts, 41, torch.Generator().manual_seed(0)).points
    assert 0 <= wide.min() < 0.02 < 0.98 < wide.max() <= 1


def test_the_default_bandwidth_leaves_means_of_quadratics_unbiased():
    """Over samples of a law, the estimate's second moment is the law's; Silverman's adds a third of the variance."""
    source = torch.Generator().manual_seed(0)
    samples = [0.5 + 0.05 * torch.randn(15, 1, generator=source, dtype=torch.float64) for _ in range(200)]

    def spread(model):
        drawn = [model.reference(each, 15, torch.Generator().manual_seed(1)).points for each in samples]
        return float(torch.stack([((points - 0.5) ** 2).mean() for points in drawn]).mean()) / 0.05**2

    assert spread(KDE(512)) == pytest.approx(1 + 1 / 15, abs=0.05)  # the sample's mean varies too
    assert spread(KDE(512, bandwidth="silverman")) > 1.3


def test_mixed_contexts_smooth_real_columns_only():
    space = Space(x=Real(0, 1), wind=Context(0, 1), lot=Context(Choice("A", "B")), size=Context(Integer(0, 4)))
    rows = [{"wind": 0.2 + 0.05 * i, "lot": "AB"[i % 2], "size": i % 3} for i in range(12)]
    model = KDE(256).on(space)
    contexts = space.contexts.encode(rows)
    points = model.reference(contexts, 12, torch.Generator().manual_seed(0)).points
    assert model.bandwidths(contexts)[1:].tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(model.bandwidths(contexts)[:1], KDE().bandwidths(contexts[:, :1]))
    assert len(points[:, 0].unique()) > 200
    assert {tuple(row) for row in points[:, 1:].tolist()} == {tuple(row) for row in contexts[:, 1:].tolist()}


def test_contexts_without_a_real_variable_are_counted():
    space = Space(x=Real(0, 1), lot=Context(Choice("A", "B", "C")))
    contexts = space.contexts.encode([{"lot": lot} for lot in "ABAA"])
    points, weights = KDE(64).on(space).reference(contexts, 4, torch.Generator())
    assert len(points) == 2
    assert sorted(weights.tolist()) == [0.25, 0.75]


def test_a_context_that_is_constant_in_one_dimension_stays_so():
    contexts = torch.stack([torch.linspace(0.2, 0.8, 9, dtype=torch.float64), torch.full((9,), 0.4).double()], 1)
    model = KDE(128)
    reference = model.reference(contexts, 9, torch.Generator().manual_seed(0))
    assert (reference.points[:, 1] - contexts[0, 1]).abs().max() < 1e-15
    drawn = model.resample(contexts, reference, 2000, torch.Generator().manual_seed(1))
    assert (drawn @ reference.points[:, 0]).std().item() == pytest.approx(contexts[:, 0].std().item() / 3, rel=0.1)


def variation(mixture, n, seed):
    """L1 distance of the estimate from the truth on the whole line, from contexts that are not clipped.

    That is what the table shows: clipped contexts, or the unit interval alone, give 0.40 instead of its last 0.47.
    """
    source = np.random.default_rng(seed)
    contexts = [mixture[i].rvs(random_state=source) for i in source.integers(len(mixture), size=n)]
    grid = np.linspace(-3, 4, 1401)
    density = KDE(bandwidth="silverman").density(torch.tensor(grid)[:, None], torch.tensor(contexts)[:, None]).numpy()
    return np.trapezoid(np.abs(density - np.mean([law.pdf(grid) for law in mixture], axis=0)), grid)


@pytest.mark.parametrize("name", ["normal", "complicated"])
@pytest.mark.parametrize("n", [10, 100, 200, 300])
@pytest.mark.slow
def test_table_2_of_the_paper(name, n):
    mean, error = TABLE_2[name, n]
    runs = [variation(NORMAL if name == "normal" else COMPLICATED, n, seed) for seed in range(60)]
    own_error = np.std(runs) / np.sqrt(len(runs))
    assert abs(np.mean(runs) - mean) <= error + own_error


def test_the_samples_follow_the_density():
    source = torch.Generator().manual_seed(3)
    contexts = torch.rand(40, 2, generator=source, dtype=torch.float64) * 0.4 + 0.3
    points = KDE(samples=4096).reference(contexts, 40, source).points
    width = KDE().bandwidths(contexts)
    torch.testing.assert_close(points.mean(0), contexts.mean(0), atol=2e-3, rtol=0)
    torch.testing.assert_close(points.var(0), contexts.var(0, correction=0) + width**2, rtol=0.03, atol=0)


def test_scipy_agrees_on_the_density():
    contexts = torch.rand(25, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    factor = (4 / 3) ** 0.2 * 25**-0.2 * np.sqrt(24 / 25)  # SciPy's covariance divides by n - 1
    grid = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    expected = scipy.stats.gaussian_kde(contexts[:, 0].numpy(), bw_method=factor)(grid[:, 0].numpy())
    torch.testing.assert_close(KDE(bandwidth="silverman").density(grid, contexts), torch.tensor(expected))


def test_equal_contexts_give_a_point_mass():
    points = KDE(samples=16).reference(torch.full((5, 1), 0.3, dtype=torch.float64), 5, torch.Generator()).points
    assert bool((points == 0.3).all())


def test_bad_input_is_refused():
    for declaration in (
        lambda: KDE(samples=0),
        lambda: KDE(bandwidth=0.0),
        lambda: KDE(unseen=-1),
        lambda: KDE(bounds="wrap"),
        lambda: KDE(bandwidth="scott"),
    ):
        with pytest.raises(InvalidInput):
            declaration()
    with pytest.raises(InvalidInput, match="at least one context"):
        KDE().reference(torch.empty(0, 1), 1, torch.Generator())
    with pytest.raises(InvalidInput, match="finite"):
        KDE().reference(torch.tensor([[float("nan")]]), 1, torch.Generator())
    with pytest.raises(InvalidInput, match="vary"):
        KDE().density(torch.zeros(1, 1), torch.full((3, 1), 0.3, dtype=torch.float64))
