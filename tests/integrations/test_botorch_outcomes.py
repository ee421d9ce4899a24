import pytest
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms.input import AppendFeatures
from botorch.optim import optimize_acqf

import allweather as aw
from allweather.integrations.botorch import RobustOutcomesAcquisition, robust_outcomes

REFERENCE = aw.Reference.checked([[0.1], [0.5], [0.9]], [0.25, 0.5, 0.25])
CUBE = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
X = torch.linspace(0, 1, 7, dtype=torch.float64).repeat(2)[:, None]
C = torch.tensor([0.1, 0.9], dtype=torch.float64).repeat_interleave(7)[:, None]
GAIN, OVER = X[:, 0] + 0.1 * C[:, 0], X[:, 0] + 0.4 * C[:, 0]
LIMITED = [aw.Maximize(), aw.AtMost(0.8, probability=0.9)]  # x at most 0.44


def observed(**values):
    return {name: aw.Observations.of(X, C, each) for name, each in values.items()}


def model(*columns):
    joint = torch.cat([X, C], 1)
    parts = [
        SingleTaskGP(joint, each[:, None], 1e-3 + 0 * each[:, None], input_transform=AppendFeatures(REFERENCE.points))
        for each in columns
    ]
    return ModelListGP(*parts).eval()


def test_samples_become_objectives_and_constraints():
    outcomes = [aw.Minimize(aw.CVaR(0.25)), aw.AtMost(0.8, probability=0.9), aw.Maximize()]
    objective = robust_outcomes(outcomes, REFERENCE, infeasible_cost=10.0)
    samples = torch.rand(5, 4, 6, 3, dtype=torch.float64)  # two decisions in three contexts
    values = samples.reshape(5, 4, 2, 3, 3)
    assert objective(samples).shape == (5, 4, 2, 2)
    kept = values[..., 1].amax(-1) <= 0.8  # in all contexts, since each counts .25
    assert torch.equal(objective.margins(samples)[..., 0] >= 0, kept)
    worst = -values[..., 0].amax(-1)  # a quarter is the worst context
    weight = torch.sigmoid(1000 * (0.8 - values[..., 1].amax(-1)))
    assert torch.allclose(objective(samples)[..., 0], (worst + 10) * weight - 10)
    assert torch.allclose(
        robust_outcomes(outcomes[2:] * 3, REFERENCE)(samples)[..., 2], values[..., 2] @ REFERENCE.weights
    )


@pytest.mark.filterwarnings("ignore:A not p.d.")
def test_botorchs_acquisitions_take_them():
    torch.manual_seed(0)  # of the starts of BoTorch's search, some of which are far from a maximum
    objective, fitted = robust_outcomes(LIMITED, REFERENCE, infeasible_cost=1.0), model(GAIN, OVER)
    one = qLogNoisyExpectedImprovement(fitted, X[:7], objective=objective, prune_baseline=False)
    candidate, _ = optimize_acqf(one, CUBE, q=1, num_restarts=1, raw_samples=16, options={"maxiter": 20})
    assert candidate.item() < 0.6
    several = robust_outcomes([aw.Maximize(), aw.Minimize()], REFERENCE)
    corner = torch.tensor([-1.0, -2.0], dtype=torch.float64)
    two = qLogNoisyExpectedHypervolumeImprovement(fitted, corner, X[:7], objective=several, prune_baseline=False)
    assert two(CUBE[:, None]).shape == (2,)


def test_our_acquisition_keeps_limits_and_batches_apart():
    wanted = dict(zip(("gain", "over"), LIMITED, strict=True))
    score = RobustOutcomesAcquisition(wanted, observed(gain=GAIN, over=OVER), aw.ObjectiveUCB(), REFERENCE, seed=1)
    batch, _ = optimize_acqf(score, CUBE, q=2, sequential=True, num_restarts=2, raw_samples=32)
    assert batch.max() < 0.55
    assert abs(batch[0] - batch[1]) > 1e-3


def test_directions_and_models_of_botorch():
    wanted = {"over": aw.Minimize(), "gain": aw.AtLeast(0.5)}
    told = observed(gain=GAIN, over=OVER)
    found = []
    for surrogate in (aw.GP(), SingleTaskGP):
        score = RobustOutcomesAcquisition(wanted, told, aw.UCB(0.5), REFERENCE, surrogate)
        place, _ = optimize_acqf(score, CUBE, q=1, num_restarts=2, raw_samples=32)
        found.append(place.item())
    assert found == pytest.approx([0.45, 0.45], abs=0.1)  # as little as reaches 0.5 on average


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"outcomes": {"gain": aw.AtLeast(1)}}, "maximize or minimize"),
        ({"observations": {"gain": None}}, "hold Observations of each of gain"),
        ({"acquisition": aw.MARS()}, "several outcomes to maximize"),
        ({"reference": None}, "be a Reference"),
    ],
)
def test_what_does_not_fit_is_refused(words, said):
    usual = {"outcomes": {"gain": aw.Maximize()}, "observations": observed(gain=GAIN), "acquisition": aw.UCB()}
    with pytest.raises(aw.InvalidInput, match=said):
        RobustOutcomesAcquisition(**{**usual, "reference": REFERENCE, **words})
    with pytest.raises(aw.InvalidInput, match="something to maximize"):
        robust_outcomes([aw.AtLeast(1)], REFERENCE)
    with pytest.raises(aw.InvalidInput, match="one for each outcome"):
        robust_outcomes([aw.Expectation()], REFERENCE)
