import math

import pytest
import torch
from botorch.acquisition import risk_measures
from botorch.acquisition.objective import LinearMCObjective

import allweather as aw
from allweather.integrations.botorch import RobustMCObjective

N = 10
SAMPLES = torch.randn(5, 3, 2 * N, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
EQUAL = aw.Reference.checked(torch.linspace(0, 1, N)[:, None], [1 / N] * N)
WEIGHTED = aw.Reference.checked(EQUAL.points, torch.arange(N).double() / sum(range(N)))
OBJECTIVES = [
    aw.Expectation(),
    aw.WorstCase(),
    aw.CVaR(0.25),
    aw.VaR(0.25),
    aw.MeanVariance(0.5),
    aw.EntropicRisk(2.0),
    aw.DRO(aw.TotalVariation(0.4)),
    aw.DRO(aw.ChiSquared(0.4)),
    aw.DRO(aw.KL(0.2)),
    aw.DRO(aw.MMD(0.1, lengthscale=0.2)),
    aw.DRO(aw.Wasserstein(0.1)),
    aw.General(1.0, 0.5, aw.TotalVariation(0.4)),
    aw.WorstCaseSensitivity(aw.TotalVariation(0.0)),
]
OTHERS = [aw.MeanRisk(0.5, aw.KL(0.0)), aw.RobustSatisficing(-1.0, aw.TotalVariation(0.0))]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_it_is_our_objective_of_each_decisions_samples(objective):
    ours = RobustMCObjective(objective, WEIGHTED)(SAMPLES)
    assert ours.shape == (5, 3, 2)
    for place in range(2):
        values = SAMPLES[..., place * N : (place + 1) * N, 0]
        torch.testing.assert_close(ours[..., place], objective(values, WEIGHTED))


def test_with_equal_weights_it_agrees_with_botorch():
    pairs = [
        (aw.Expectation(), risk_measures.Expectation(n_w=N)),
        (aw.WorstCase(), risk_measures.WorstCase(n_w=N)),
        (aw.VaR(0.2), risk_measures.VaR(alpha=0.8, n_w=N)),
        (aw.VaR(0.25), risk_measures.VaR(alpha=0.75, n_w=N)),
    ]
    for objective, theirs in pairs:
        torch.testing.assert_close(RobustMCObjective(objective, EQUAL)(SAMPLES), theirs(SAMPLES))


def test_botorchs_cvar_averages_one_sample_too_many():
    theirs = risk_measures.CVaR(alpha=0.8, n_w=N)(SAMPLES)
    worst = SAMPLES.reshape(5, 3, 2, N).sort(-1).values
    torch.testing.assert_close(RobustMCObjective(aw.CVaR(0.2), EQUAL)(SAMPLES), worst[..., :2].mean(-1))
    torch.testing.assert_close(theirs, worst[..., :3].mean(-1))
    torch.testing.assert_close(RobustMCObjective(aw.CVaR(0.3), EQUAL)(SAMPLES), theirs)


@pytest.mark.parametrize("objective", [aw.CVaR(0.25), aw.DRO(aw.KL(0.2)), aw.DRO(aw.Wasserstein(0.1))], ids=repr)
def test_gradients_are_those_of_finite_differences(objective):
    risk = RobustMCObjective(objective, WEIGHTED)
    assert torch.autograd.gradcheck(risk, (SAMPLES[0].clone().requires_grad_(),))


def test_several_outcomes_are_joined_first_and_signs_turned():
    risk = RobustMCObjective(aw.CVaR(0.25), WEIGHTED, LinearMCObjective(torch.tensor([-1.0], dtype=torch.float64)))
    torch.testing.assert_close(risk(SAMPLES), RobustMCObjective(aw.CVaR(0.25), WEIGHTED)(-SAMPLES))
    with pytest.raises(RuntimeError, match="preprocessing_function"):
        RobustMCObjective(aw.CVaR(0.25), WEIGHTED)(SAMPLES.expand(5, 3, 2 * N, 2))


@pytest.mark.parametrize("objective", [*OBJECTIVES, *OTHERS], ids=repr)
def test_single_precision_stays_single_precision(objective):
    risk = RobustMCObjective(objective, WEIGHTED)
    single = risk(SAMPLES.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), risk(SAMPLES), rtol=1e-4, atol=1e-4)
    assert risk.float()(SAMPLES.float()).dtype == torch.float32  # also where the module itself was cast


def test_an_objective_that_can_be_infinite_gives_finite_scores():
    risk = RobustMCObjective(aw.RobustSatisficing(0.0, aw.TotalVariation(0.0)), WEIGHTED)
    scores = risk(SAMPLES)
    assert torch.isfinite(scores).all()
    assert torch.isinf(risk.objective(SAMPLES.reshape(5, 3, 2, N), WEIGHTED)).any()


@pytest.mark.parametrize(
    ("objective", "reference", "said"),
    [
        ("cvar", EQUAL, r"RobustMCObjective\(objective=...\)` must be an objective"),
        (aw.CVaR(0.2), EQUAL.points, r"RobustMCObjective\(reference=...\)` must be a Reference"),
        (aw.CVaR(0.2), aw.Reference(EQUAL.points, EQUAL.weights * 2), "sum to 1"),
        (aw.CVaR(0.2), aw.Reference(EQUAL.points * math.nan, EQUAL.weights), "finite"),
        (aw.DRO(aw.KL(aw.PowerLaw(1, 0.5))), EQUAL, "changes with the step"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(objective, reference, said):
    with pytest.raises(aw.InvalidInput, match=said):
        RobustMCObjective(objective, reference)


def test_samples_of_other_contexts_are_refused():
    with pytest.raises(aw.InvalidInput, match="10 contexts for each decision"):
        RobustMCObjective(aw.CVaR(0.2), EQUAL)(SAMPLES[..., :15, :])
