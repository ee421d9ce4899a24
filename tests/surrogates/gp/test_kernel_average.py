"""An average over kernels: its moments, samples and weights, and studies with it."""

import dataclasses
import json

import numpy as np
import pytest
import torch

import allweather as aw
from allweather._utils.matern import Matern
from allweather.surrogates import Hyperparameters
from allweather.surrogates.kernels import ProductKernel
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.kernel_average import allotted
from allweather.surrogates.posteriors.leave_one_out import leave_one_out

KERNELS = ("rbf", "matern32")
DECISIONS = torch.tensor([[0.1], [0.45], [0.8]], dtype=torch.float64)
CONTEXTS = torch.tensor([[0.2], [0.5], [0.9]], dtype=torch.float64)
WEIGHTS = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)


def outcomes(t: int = 12, rough: bool = False) -> Observations:
    points = torch.rand(t, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    x, c = points.T
    values = (7 * x).sin() * (1 + c) if not rough else ((5 * x).floor() % 2) + c
    return Observations.of(points[:, :1], points[:, 1:], values)


@pytest.fixture(scope="module")
def table() -> Observations:
    return outcomes()


@pytest.fixture(scope="module", params=["mixture", "average"])
def fitted(request, table):
    average = aw.KernelAverage(KERNELS, bounds=request.param)
    return average, average.fit(table)


def test_means_are_averages_and_deviations_those_of_the_mixture(fitted, table):
    average, posterior = fitted
    parts = [gp.fit(table).field(CONTEXTS) for gp in average.members]
    means, sds = (torch.stack(each) for each in zip(*(part(DECISIONS) for part in parts), strict=True))
    spread = (
        sds.mean(0) if average.bounds == "average" else (sds.square().mean(0) + means.var(0, unbiased=False)).sqrt()
    )
    field = posterior.field(CONTEXTS)
    found = field(DECISIONS)
    assert torch.allclose(found.mean, means.mean(0), atol=1e-4)
    assert torch.allclose(found.sd, spread, atol=1e-3)
    assert torch.allclose(field.mean(DECISIONS), found.mean)
    if average.bounds == "average":
        bounds = torch.stack([part.upper(DECISIONS, WEIGHTS, 1.5) for part in parts])
        assert torch.allclose(field.upper(DECISIONS, WEIGHTS, 1.5), bounds.mean(0), atol=1e-3)


def test_sums_are_those_of_samples(fitted, table):
    average, posterior = fitted
    generator = torch.Generator().manual_seed(0)
    drawn = posterior.draws(DECISIONS, CONTEXTS, 4000, generator)
    moments = posterior.field(CONTEXTS).combination(DECISIONS, WEIGHTS)
    sums = drawn @ WEIGHTS
    assert torch.allclose(sums.mean(0), moments.mean, atol=0.06)
    laws = WEIGHTS.expand(4000, -1)
    means = posterior.mean_draws(DECISIONS, CONTEXTS, laws, 4000, generator)
    assert torch.allclose(means.std(0), sums.std(0), rtol=0.1)
    if average.bounds == "mixture":
        assert torch.allclose(sums.std(0), moments.sd, rtol=0.1)
    paths = posterior.paths(CONTEXTS, 400, generator)(DECISIONS) @ WEIGHTS
    assert torch.allclose(paths.std(0), sums.std(0), rtol=0.25)
    normal = posterior.mean_moments(DECISIONS, CONTEXTS, laws[:64])
    assert torch.allclose(normal.mean.mean(0), moments.mean, atol=1e-6)


def test_slopes_are_differences(fitted):
    _, posterior = fitted
    step, slopes = 1e-5, posterior.field(CONTEXTS).slopes(DECISIONS)
    ahead, behind = (posterior.field(CONTEXTS + sign * step)(DECISIONS) for sign in (1, -1))
    for slope, high, low in zip(slopes, ahead, behind, strict=True):
        assert torch.allclose(slope[..., 0], (high - low) / (2 * step), atol=1e-5)


def test_closed_forms_are_the_bounds(fitted):
    average, posterior = fitted
    field = posterior.field(CONTEXTS)
    assert (field.quadrature(WEIGHTS, 1.0) is None) == (average.bounds == "mixture")
    width = 1.0 if average.bounds == "average" else 0.0
    closed = field.quadrature(WEIGHTS, width)
    wanted = DECISIONS.clone().requires_grad_()
    expected = field.upper(wanted, WEIGHTS, width)
    (gradient,) = torch.autograd.grad(expected.sum(), wanted)
    values, slopes = closed.slopes(DECISIONS.numpy())
    assert np.allclose(values, expected.detach().numpy(), atol=1e-9)
    assert np.allclose(closed.values(DECISIONS.numpy()), values)
    assert np.allclose(slopes, gradient.numpy(), atol=1e-7)


def test_further_outcomes_reach_every_member(fitted):
    _, posterior = fitted
    point = torch.tensor([[0.45, 0.5]], dtype=torch.float64)
    told = posterior.given(point, torch.tensor([3.0], dtype=torch.float64))
    before, after = (each.field(CONTEXTS)(DECISIONS) for each in (posterior, told))
    assert after.mean[1, 1] > before.mean[1, 1]
    members = [member.given(point, torch.tensor([3.0], dtype=torch.float64)) for member in posterior.members]
    each = [member.field(CONTEXTS).mean(DECISIONS) for member in members]
    assert torch.allclose(after.mean, torch.stack(each).mean(0))
    assert posterior.information_gain > 0
    kernel = posterior.context_kernel(CONTEXTS, CONTEXTS)
    assert torch.allclose(kernel, sum(member.context_kernel(CONTEXTS, CONTEXTS) for member in posterior.members) / 2)
    assert leave_one_out(posterior).mean.shape == (12,)


def test_hyperparameters_of_all_models_are_kept(fitted, table):
    average, posterior = fitted
    kept = posterior.hyperparameters
    assert len(kept.others) == 1
    read = Hyperparameters.from_dict(json.loads(json.dumps(dataclasses.asdict(kept))))
    assert read == kept
    again = average.resume(table, read)
    assert torch.equal(again.field(CONTEXTS).mean(DECISIONS), posterior.field(CONTEXTS).mean(DECISIONS))
    assert Hyperparameters.from_dict(dataclasses.asdict(kept.first)) == kept.first


def test_evidence_prefers_the_kernel_that_fits():
    rough = aw.KernelAverage(KERNELS, weights="evidence").fit(outcomes(30, rough=True))
    smooth = aw.KernelAverage(KERNELS, weights="evidence").fit(outcomes(30))
    assert smooth.weights[0] > 0.9
    assert rough.weights[1] > 0.5
    assert sum(rough.weights) == pytest.approx(1)
    assert smooth.best is smooth.members[0]


def test_intervals_average_every_model(table):
    average = aw.KernelAverage(KERNELS, surrogate=aw.GP(interval_draws=4))
    posterior = average.fit(table)
    mixed = average.averaged(table, posterior)
    assert [len(member.parts) for member in mixed.members] == [2, 2]
    moments = mixed.mean_moments(DECISIONS, CONTEXTS, WEIGHTS.expand(8, -1))
    assert moments.mean.shape == (8, 3)
    wary = average.wary(table, posterior, -5.0)
    far = torch.tensor([[5.0]], dtype=torch.float64)
    assert wary.field(CONTEXTS).mean(far).max() < mixed.field(CONTEXTS).mean(far).max()


def test_shares_are_whole_numbers(fitted):
    _, posterior = fitted
    assert allotted(9, [0.5, 0.5]) in ([4, 5], [5, 4])
    for count in (1, 2, 7):
        assert sum(posterior._shares(count, torch.Generator().manual_seed(count))) == count


def test_outcomes_are_transformed_alike():
    values = -torch.logspace(0, 5, 14, dtype=torch.float64)
    table = Observations.of(torch.linspace(0, 1, 14)[:, None], [[0.5]] * 14, values)
    posterior = aw.KernelAverage(KERNELS, surrogate=aw.GP(outputscale="fit", transform="auto")).fit(table)
    places = {posterior.hyperparameters.transform, *(other.transform for other in posterior.hyperparameters.others)}
    assert len(places) == 1
    assert places != {""}
    assert posterior.field(CONTEXTS).mean(DECISIONS).shape == (3, 3)


SPACE = aw.Space(order=aw.Real(0, 1), price=aw.Real(0, 1), demand=aw.Context(0, 1))
ROWS = [
    {"order": o / 5, "price": (3 * o % 5) / 5, "demand": (2 * o % 5) / 5, "value": min(o, 2 * o % 5) - 0.5 * o}
    for o in range(6)
]
SMALL = aw.KernelAverage(KERNELS, surrogate=aw.GP(interval_draws=2))


@pytest.mark.parametrize(
    "parts",
    [
        {"acquisition": aw.ObjectiveUCB(1.0)},
        {"acquisition": aw.Thompson()},
        {"acquisition": aw.FourierThompson()},
        {"acquisition": aw.ExpectedImprovement()},
        {"objective": aw.DRO(aw.MMD(0.2, kernel="surrogate")), "acquisition": aw.Random()},
        {"objective": aw.CVaR(0.3), "direction": "minimize"},
    ],
    ids=["bound", "Thompson", "Fourier", "improvement", "DRO", "CVaR"],
)
def test_a_study_asks_and_recommends(parts):
    study = aw.Study(SPACE, surrogate=SMALL, context=aw.KDE(16), seed=1, **parts)
    study.add(ROWS)
    assert 0 <= study.ask().decision["order"] <= 1
    low, high = study.outlook().chosen_objective[::2]
    assert low < high


def test_control_sets_share_the_average():
    control = aw.Control({"order": 0.1, ("order", "price"): 1.0}, budget=20)
    space = aw.Space(order=aw.Real(0, 1), price=aw.Real(0, 1))
    study = aw.Study(space, control=control, surrogate=SMALL, context=aw.KDE(16), initial=2, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, float(rng.random()), context={name: float(rng.random()) for name in trial.left})
    assert set(study.ask().decision) <= {"order", "price"}


def test_a_stored_study_resumes_with_the_same_decision(tmp_path):
    where = {"storage": f"sqlite:///{tmp_path}/kiosk.db", "name": "kiosk"}
    parts = {"surrogate": SMALL, "context": aw.KDE(16), "initial": 2, "seed": 1}
    alone, stored = aw.Study(SPACE, **parts), aw.Study(SPACE, **parts, **where)
    for study in (alone, stored):
        for row in ROWS[:3]:
            study.tell(study.ask(), row["value"], context={"demand": row["demand"]})
    again = aw.Study.load(**where)
    found = again.spec.to_dict()["surrogate"]
    assert (found["name"], list(found["kernels"])) == ("kernel-average", list(KERNELS))
    assert again.ask().decision == alone.ask().decision


def test_wrong_settings_are_refused():
    for wrong in (
        {"kernels": ["rbf"]},
        {"kernels": "rbf"},
        {"kernels": ["rbf", "rbf"]},
        {"kernels": ["rbf", "cosine"]},
    ):
        with pytest.raises(aw.InvalidInput, match="kernels"):
            aw.KernelAverage(**wrong)
    with pytest.raises(aw.InvalidInput, match="weights"):
        aw.KernelAverage(weights="loud")
    with pytest.raises(aw.InvalidInput, match="surrogate"):
        aw.KernelAverage(surrogate=aw.KernelAverage())


def test_the_rational_quadratic_is_that_of_gpytorch():
    points = torch.rand(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    lengthscales = torch.tensor([0.3, 0.5, 0.8], dtype=torch.float64)
    kernel = ProductKernel("rational-quadratic", lengthscales, torch.tensor(1.7, dtype=torch.float64), 2)
    assert torch.allclose(kernel.gpytorch()(points, points).to_dense(), kernel(points, points))


@pytest.mark.parametrize("family", ["rational-quadratic", "rational-quadratic-columns"])
def test_random_cosines_have_the_rational_quadratic_as_covariance(family):
    factor, apart = Matern.named(family), torch.tensor([[0.7, 1.2]], dtype=torch.float64)
    drawn = factor.frequencies((40_000, 2), torch.Generator().manual_seed(0))
    expected = factor(apart, torch.zeros(1, 2, dtype=torch.float64)).item()
    assert (drawn @ apart[0]).cos().mean().item() == pytest.approx(expected, abs=0.015)


def test_ledrbo_averages_the_bounds_of_four_kernels():
    parts = aw.method("ledrbo").on(SPACE, 1)
    assert len(parts.surrogate.members) == 4
    assert (parts.surrogate.bounds, parts.acquisition) == ("average", aw.UCB(1.5))
