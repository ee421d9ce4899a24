import copy

import pytest
import torch
from botorch.acquisition import qLogNoisyExpectedImprovement, qSimpleRegret
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import AppendFeatures, InputPerturbation
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from tests.integrations.shifted import OBJECTIVE, SEEDS, TRIALS, days, outcome, paired

import allweather as aw
from allweather.integrations.botorch import RobustAcquisition, RobustMCObjective

# Samples at contexts close together have nearly singular covariances: BoTorch adds jitter and says so.
pytestmark = pytest.mark.filterwarnings("ignore:A not p.d.", "ignore:.*optimization.*:RuntimeWarning")

CUBE = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
FAST = {"bounds": CUBE, "num_restarts": 4, "raw_samples": 64}
FASTER = {"bounds": CUBE, "num_restarts": 1, "raw_samples": 32, "options": {"maxiter": 15}}
REFERENCE = aw.Reference.checked(torch.linspace(0.1, 0.9, 12)[:, None], torch.arange(1, 13).double() / 78)


def observed(n=12, seed=0):
    speeds = torch.rand(n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    grip, luck = (torch.from_numpy(part) for part in days(seed, n))
    values = torch.from_numpy(outcome(speeds[:, 0].numpy(), grip.numpy())) + luck
    return aw.Observations.of(speeds, grip[:, None], values)


def fitted(table, **kwargs):
    model = SingleTaskGP(table.joint, table.values[:, None], **kwargs)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model.eval()


SEEN = observed()
GP = aw.GP().fit(SEEN)
MODELS = [pytest.param(GP, id="ours"), pytest.param(GP.model(), id="botorch")]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("acquisition", [aw.UCB(1.5), aw.Thompson(), aw.ExpectedImprovement()], ids=repr)
def test_optimize_acqf_finds_the_maximum(model, acquisition):
    score = RobustAcquisition(model, SEEN, acquisition, aw.DRO(aw.KL(0.3)), REFERENCE, seed=3)
    torch.manual_seed(0)
    found, value = optimize_acqf(score, q=1, **FAST)
    with torch.no_grad():
        best = score(torch.linspace(0, 1, 401, dtype=torch.float64)[:, None, None]).max()
    assert found.shape == (1, 1)
    assert value >= best - 1e-3 * (1 + best.abs())


def test_ours_and_botorchs_models_give_the_same_score():
    points = torch.rand(2, 3, 1, 1, dtype=torch.float64)
    fast, slow = (RobustAcquisition(model, SEEN, aw.UCB(1.5), aw.CVaR(0.3), REFERENCE) for model in (GP, GP.model()))
    assert fast(points).shape == (2, 3)
    torch.testing.assert_close(fast(points), slow(points), rtol=1e-4, atol=1e-6)


def test_the_score_is_the_studys_own():
    belief = aw.Belief(GP, REFERENCE, aw.CVaR(0.3), SEEN, aw.Progress(12), torch.Generator())
    points = torch.rand(5, 1, dtype=torch.float64)
    score = RobustAcquisition(GP, SEEN, aw.UCB(1.5), aw.CVaR(0.3), REFERENCE)
    torch.testing.assert_close(score(points[:, None]), aw.UCB(1.5).build(belief)(points))


def test_schedules_follow_the_data():
    points = torch.rand(5, 1, 1, dtype=torch.float64)
    moving = RobustAcquisition(GP, SEEN, aw.UCB(1.5), aw.DRO(aw.KL(aw.PowerLaw(1.2, 1.0))), REFERENCE)
    fixed = RobustAcquisition(GP, SEEN, aw.UCB(1.5), aw.DRO(aw.KL(0.1)), REFERENCE)
    torch.testing.assert_close(moving(points), fixed(points))


@pytest.mark.parametrize("acquisition", [aw.UCB(1.5), aw.Thompson()], ids=repr)
def test_a_batch_looks_at_different_places_and_comes_again_with_the_same_seed(acquisition):
    batches = []
    for _ in range(2):
        score = RobustAcquisition(GP, SEEN, acquisition, aw.DRO(aw.KL(0.3)), REFERENCE, seed=3)
        torch.manual_seed(0)
        batches.append(optimize_acqf(score, q=3, sequential=True, **FAST)[0])
        assert score.X_pending is None
    torch.testing.assert_close(*batches, rtol=0, atol=0)
    apart = (batches[0] - batches[0].T).abs() + torch.eye(3)
    assert apart.min() > 1e-3


def test_it_goes_on_from_saved_data(tmp_path):
    score = RobustAcquisition(fitted(SEEN), SEEN, aw.Thompson(), aw.CVaR(0.3), REFERENCE, seed=3)
    torch.save((SEEN.decisions, SEEN.contexts, SEEN.values), tmp_path / "data.pt")
    table = aw.Observations.of(*torch.load(tmp_path / "data.pt"))
    again = RobustAcquisition(fitted(table), table, aw.Thompson(), aw.CVaR(0.3), REFERENCE, seed=3)
    points = torch.rand(5, 1, 1, dtype=torch.float64)
    torch.testing.assert_close(score(points), again(points), rtol=0, atol=0)


@pytest.mark.parametrize("objective", [aw.CVaR(0.3), aw.DRO(aw.KL(0.3))], ids=repr)
def test_log_noisy_expected_improvement_takes_our_objectives(objective):
    model = fitted(SEEN, input_transform=AppendFeatures(feature_set=REFERENCE.points))
    acquisition = qLogNoisyExpectedImprovement(
        model,
        SEEN.decisions,
        sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0),
        objective=RobustMCObjective(objective, REFERENCE),
    )
    torch.manual_seed(0)
    found, value = optimize_acqf(acquisition, q=2, sequential=True, **FAST)
    assert found.shape == (2, 1)
    assert torch.isfinite(value).all()


def test_input_perturbations_may_have_weights():
    table = SEEN.without_contexts()
    slips = torch.tensor([[-0.1], [0.0], [0.1]], dtype=torch.float64)
    reference = aw.Reference.checked(slips, [0.25, 0.5, 0.25])
    model = fitted(table, input_transform=InputPerturbation(slips))
    risk = RobustMCObjective(aw.Expectation(), reference)
    acquisition = qSimpleRegret(model, SobolQMCNormalSampler(torch.Size([256]), seed=0), objective=risk)
    at = torch.tensor([[0.4]], dtype=torch.float64)
    plain = fitted(table).posterior(at + slips).mean[:, 0].detach()
    assert acquisition(at).item() == pytest.approx(float(plain @ reference.weights), abs=0.02)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "gp"}, r"model=...\)` must be a BoTorch model"),
        (
            {"model": fitted(SEEN, input_transform=AppendFeatures(REFERENCE.points))},
            "not append contexts",
        ),
        ({"model": SingleTaskGP(SEEN.joint, SEEN.values[:, None].expand(-1, 2))}, "have one outcome, got 2"),
        ({"observations": SEEN.joint}, r"observations=...\)` must be Observations"),
        ({"acquisition": "ucb"}, r"acquisition=...\)` must be an acquisition"),
        ({"objective": None}, r"objective=...\)` must be an objective"),
        ({"reference": REFERENCE.points}, r"reference=...\)` must be a Reference"),
        ({"reference": aw.Reference.checked([[0.1, 0.2]], [1.0])}, "as many context columns"),
        ({"seed": -1}, r"seed=...\)` must be a whole number"),
        ({"X_pending": torch.rand(3, 2)}, r"X_pending=...\)` must have shape \(m, 1\)"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(change, said):
    right = {"model": GP, "observations": SEEN, "acquisition": aw.UCB(), "objective": aw.CVaR(0.3)}
    with pytest.raises(aw.InvalidInput, match=said):
        RobustAcquisition(**{**right, "reference": REFERENCE, **change})


def test_decisions_of_another_length_are_refused():
    score = RobustAcquisition(GP, SEEN, aw.UCB(), aw.CVaR(0.3), REFERENCE)
    with pytest.raises(aw.InvalidInput, match="1 columns of decisions"):
        score(torch.rand(5, 1, 2))


def loop(seed, propose, recommend):
    """Fifteen days: five spread out, then as the acquisition says."""
    grips, luck = days(seed)
    first = torch.quasirandom.SobolEngine(1, scramble=True, seed=seed).draw(5, dtype=torch.float64)
    speeds, values = [], []
    for day in range(TRIALS):
        if day < len(first):
            speed = float(first[day])
        else:
            table = aw.Observations.of(torch.tensor(speeds)[:, None], torch.tensor(grips[:day])[:, None], values)
            torch.manual_seed(seed)  # optimize_acqf draws its starting points globally
            speed = float(optimize_acqf(propose(table, seed), q=1, **FASTER)[0])
        speeds.append(speed)
        values.append(float(outcome(speed, grips[day])) + luck[day])
    table = aw.Observations.of(torch.tensor(speeds)[:, None], torch.tensor(grips)[:, None], values)
    return float(optimize_acqf(recommend(table, seed), q=1, **FAST)[0])


def ours(acquisition, objective=OBJECTIVE):
    def build(table, seed):
        reference = aw.KDE(128, bandwidth="silverman", bounds="clip").reference(
            table.seen, len(table), torch.Generator().manual_seed(seed)
        )
        return RobustAcquisition(aw.GP().fit(table), table, acquisition, objective, reference, seed=seed)

    return build


def plain_step(table, seed):
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=seed)
    return qLogNoisyExpectedImprovement(fitted(table.without_contexts()), table.decisions, sampler=sampler)


def plain_choice(table, seed):
    return qSimpleRegret(fitted(table.without_contexts()), SobolQMCNormalSampler(torch.Size([16]), seed=seed))


def test_fifteen_trials_hold_under_a_shift(record_property):
    def chosen(objective):
        return lambda seed: loop(seed, ours(aw.UCB(), objective), ours(aw.UCB(0.0), objective))

    default = lambda seed: loop(seed, plain_step, plain_choice)  # noqa: E731
    arms = chosen(OBJECTIVE), chosen(aw.Expectation()), default
    paired("BoTorch and qLogNEI", *arms, record_property, seeds=SEEDS)


def test_building_does_not_touch_the_global_generator():
    before = torch.random.get_rng_state()
    score = RobustAcquisition(GP.model(), SEEN, aw.Thompson(), aw.CVaR(0.3), REFERENCE)
    score(torch.full((1, 1, 1), 0.5, dtype=torch.float64))
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("acquisition", [aw.UCB(1.5), aw.Thompson(), aw.ExpectedImprovement()], ids=repr)
def test_a_copy_gives_the_same_score(acquisition):
    pending = torch.tensor([[0.5]], dtype=torch.float64)
    score = RobustAcquisition(GP, SEEN, acquisition, aw.CVaR(0.3), REFERENCE, X_pending=pending)
    points = torch.linspace(0, 1, 7, dtype=torch.float64)[:, None, None]
    torch.testing.assert_close(copy.deepcopy(score)(points), score(points), rtol=0, atol=0)
