import numpy as np
import pytest
import torch

from allweather import (
    DRO,
    KL,
    MMD,
    ChiSquared,
    Expectation,
    General,
    InvalidInput,
    MeanRisk,
    MinimaxApproximation,
    PowerLaw,
    Progress,
    Reference,
    TotalVariation,
    Wasserstein,
    WorstCase,
    WorstCaseSensitivity,
)
from allweather.testing import ObjectiveSuite


class TestDRO(ObjectiveSuite):
    def make(self):
        return DRO(KL(0.2))


class TestGeneral(ObjectiveSuite):
    def make(self):
        return General(1.0, 0.5, TotalVariation(0.31))


class TestWorstCaseSensitivity(ObjectiveSuite):
    def make(self):
        return WorstCaseSensitivity(TotalVariation(0))

    def of_constant(self, constant):
        return 0.0


class TestWorstCaseSensitivityMMD(TestWorstCaseSensitivity):
    def make(self):
        return WorstCaseSensitivity(MMD(0, lengthscale=0.5))


class TestMeanRisk(ObjectiveSuite):
    def make(self):
        return MeanRisk(0.4, TotalVariation(0))


class TestMinimaxApproximation(ObjectiveSuite):
    def make(self):
        return MinimaxApproximation(TotalVariation(0.31))


SOURCE = np.random.default_rng(7)
REFERENCE = Reference.checked(SOURCE.uniform(size=(12, 2)), SOURCE.dirichlet(np.ones(12)))
VALUES = torch.tensor(SOURCE.normal(size=(5, 12)))
DISTANCES = [TotalVariation(0.4), ChiSquared(0.4), KL(0.4), MMD(0.2, lengthscale=0.4), Wasserstein(0.1)]


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_general_contains_the_others(distance):
    """bocu, Table 1."""
    worst = distance.worst_case(VALUES, REFERENCE)
    torch.testing.assert_close(General(1, 0, distance)(VALUES, REFERENCE), DRO(distance)(VALUES, REFERENCE))
    torch.testing.assert_close(General(0, 1, distance)(VALUES, REFERENCE), worst.slope)
    torch.testing.assert_close(General(2, 3, distance)(VALUES, REFERENCE), 2 * worst.value + 3 * worst.slope)
    none, huge = type(distance)(0.0), type(distance)(1e6)
    torch.testing.assert_close(DRO(none)(VALUES, REFERENCE), Expectation()(VALUES, REFERENCE))
    torch.testing.assert_close(DRO(huge)(VALUES, REFERENCE), WorstCase()(VALUES, REFERENCE))


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_sensitivity_is_the_derivative_in_the_rate(distance):
    """(v(h) - v(0)) / h^rate for a small h."""
    h = 1e-8 if distance.rate < 1 else 1e-6
    mean = Expectation()(VALUES, REFERENCE)
    near = distance.worst_case(VALUES, REFERENCE, radius=h).value
    expected = (near - mean) / h**distance.rate
    torch.testing.assert_close(WorstCaseSensitivity(distance)(VALUES, REFERENCE), expected, rtol=1e-3, atol=1e-4)
    mean_risk = MeanRisk(0.3, distance)(VALUES, REFERENCE)
    torch.testing.assert_close(mean_risk, mean + 0.3 * WorstCaseSensitivity(distance)(VALUES, REFERENCE))


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_the_minimax_approximation_lies_between_tangent_and_chord(distance):
    """And meets v at both ends."""
    approximate = MinimaxApproximation(distance)(VALUES, REFERENCE)
    reach = distance.to_points(REFERENCE)[VALUES.argmin(-1)]
    mean, lowest = VALUES @ REFERENCE.weights, VALUES.amin(-1)
    tangent = (mean + distance.sensitivity(VALUES, REFERENCE) * distance.radius**distance.rate).maximum(lowest)
    chord = mean + (lowest - mean) * (distance.radius / reach).clamp_max(1)
    torch.testing.assert_close(approximate, (tangent + chord) / 2)
    assert bool((approximate <= mean).all())
    at_zero, at_end = (MinimaxApproximation(type(distance)(r))(VALUES, REFERENCE) for r in (0.0, 1e6))
    torch.testing.assert_close(at_zero, mean)
    torch.testing.assert_close(at_end, lowest)


def test_for_total_variation_the_minimax_error_is_at_most_half_the_gap():
    distance = TotalVariation(0.7)
    exact = DRO(distance)(VALUES, REFERENCE)
    mean, lowest = VALUES @ REFERENCE.weights, VALUES.amin(-1)
    tangent = (mean + distance.sensitivity(VALUES, REFERENCE) * 0.7).maximum(lowest)
    gap = 2 * (MinimaxApproximation(distance)(VALUES, REFERENCE) - tangent)
    assert bool(((MinimaxApproximation(distance)(VALUES, REFERENCE) - exact).abs() <= gap / 2 + 1e-12).all())


def test_schedules_are_resolved_by_at():
    objective = General(1, 1, TotalVariation(PowerLaw(0.8, 0.5)))
    now = objective.at(Progress(step=4))
    assert now == General(1, 1, TotalVariation(0.4))
    with pytest.raises(InvalidInput, match="changes with the step"):
        objective(VALUES, REFERENCE)
    with pytest.raises(InvalidInput, match="changes with the step"):
        MinimaxApproximation(TotalVariation(PowerLaw(0.8, 0.5)))(VALUES, REFERENCE)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (lambda: General(-1, 0, KL(0.1)), "alpha"),
        (lambda: General(1, float("nan"), KL(0.1)), "beta"),
        (lambda: General(0, 0, KL(0.1)), "not both be 0"),
        (lambda: General(1, 1, KL(0.0)), "must be > 0 when General has beta > 0"),
        (lambda: DRO(0.2), r"DRO\(distance"),
        (lambda: MeanRisk(-1, KL(0)), "tradeoff"),
    ],
)
def test_bad_declarations_are_refused(declaration, message):
    with pytest.raises(InvalidInput, match=message):
        declaration()


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_constant_functions_have_a_gradient(distance):
    values = torch.full((12,), 2.0, dtype=torch.float64, requires_grad=True)
    for objective in (MeanRisk(0.5, distance), MinimaxApproximation(distance), WorstCaseSensitivity(distance)):
        (gradient,) = torch.autograd.grad(objective(values, REFERENCE), values)
        assert bool(torch.isfinite(gradient).all())
