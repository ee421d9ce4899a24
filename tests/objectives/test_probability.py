import cvxpy as cp
import numpy as np
import pytest
import torch

from allweather import (
    KL,
    MMD,
    ChiSquared,
    Context,
    Finite,
    InvalidInput,
    Phi,
    Probability,
    Real,
    Reference,
    Space,
    Study,
    TotalVariation,
    VaR,
    Wasserstein,
)
from allweather.objectives import Band
from allweather.serialization import decode_part, encode_part
from allweather.testing import ObjectiveSuite

DISTANCES = [
    TotalVariation(0.3),
    ChiSquared(0.2),
    KL(0.1),
    Phi(0.05, phi=lambda u: (u.sqrt() - 1) ** 2, conjugate=lambda s: s / (1 - s), recession=1.0),  # Hellinger
    MMD(0.15, lengthscale=0.5),
    Wasserstein(0.07),
]


class TestProbability(ObjectiveSuite):
    def make(self):
        return Probability(0.37)

    def of_constant(self, constant):
        return 1.0


class TestWorstProbability(TestProbability):
    def make(self):
        return Probability(0.37, TotalVariation(0.3))


SOURCE = np.random.default_rng(5)
P = SOURCE.dirichlet(np.ones(9))
REFERENCE = Reference.checked(SOURCE.uniform(size=(9, 2)), P)
VALUES = torch.tensor(SOURCE.normal(size=(4, 9)))


def within(distance, q):
    """The distance as a convex expression, and its further constraints."""
    if isinstance(distance, Wasserstein):
        plan = cp.Variable((9, 9), nonneg=True)
        cost = cp.sum(cp.multiply(plan, distance.costs(REFERENCE).numpy()))
        return cost, [cp.sum(plan, axis=1) == P, cp.sum(plan, axis=0) == q]
    return {
        TotalVariation: lambda: cp.norm1(q - P),
        ChiSquared: lambda: cp.sum_squares(cp.multiply(q - P, 1 / np.sqrt(P))),
        KL: lambda: cp.sum(cp.kl_div(q, P)),
        Phi: lambda: 2 - 2 * cp.sum(cp.multiply(np.sqrt(P), cp.sqrt(q))),
        MMD: lambda: cp.norm(np.linalg.cholesky(distance.gram(REFERENCE).numpy()).T @ (q - P)),
    }[type(distance)](), []


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_worst_cases_agree_with_the_conic_program(distance):
    ours = Probability(0.1, distance)(VALUES, REFERENCE)
    for row in range(4):
        q = cp.Variable(9, nonneg=True)
        d, constraints = within(distance, q)
        reached = (VALUES[row] >= 0.1).double().numpy()
        program = cp.Problem(cp.Minimize(reached @ q), [cp.sum(q) == 1, d <= distance.number, *constraints])
        assert ours[row].item() == pytest.approx(program.solve(solver=cp.CLARABEL), abs=2e-6)


def test_the_mass_of_good_contexts_is_all_that_f_divergences_see():
    mass = (VALUES >= 0.1).double() @ REFERENCE.weights
    torch.testing.assert_close(Probability(0.1)(VALUES, REFERENCE), mass)
    worst = Probability(0.1, TotalVariation(0.3))(VALUES, REFERENCE)
    torch.testing.assert_close(worst, (mass - 0.15).clamp_min(0))
    least = Probability(0.1, KL(0.1))(VALUES, REFERENCE)
    start, least = mass[least > 0], least[least > 0]
    assert len(start) > 0
    divergence = least * (least / start).log() + (1 - least) * ((1 - least) / (1 - start)).log()
    torch.testing.assert_close(divergence, torch.full_like(divergence, 0.1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_it_is_the_chance_constraint_of_the_value_at_risk(share):
    for threshold in torch.linspace(-2, 2, 41, dtype=torch.float64).tolist():
        reached = Probability(threshold)(VALUES, REFERENCE) >= share
        assert reached.tolist() == (VaR(1 - share)(VALUES, REFERENCE) >= threshold).tolist()


@pytest.mark.parametrize("distance", [None, TotalVariation(0.1)], ids=["plain", "shifted"])
def test_the_score_has_a_slope_where_the_probability_is_flat(distance):
    objective = Probability(5.0, distance)
    far = (VALUES - 50).requires_grad_()
    score = objective.upper(Band(far), REFERENCE)
    (slope,) = torch.autograd.grad(score.sum(), far)
    assert bool((slope.sum(-1) > 0).all())
    assert bool((objective.tangent(VALUES, REFERENCE).sum(-1) > 0).all())
    near = Probability(0.1, distance)
    torch.testing.assert_close(near.upper(Band(VALUES), REFERENCE), near(VALUES, REFERENCE), atol=0.1, rtol=0)


def test_laws_of_their_own():
    laws = torch.tensor(SOURCE.dirichlet(np.ones(9), size=3))
    values = torch.tensor(SOURCE.normal(size=(6, 2, 9)))
    for objective in (Probability(0.1), Probability(0.1, KL(0.1))):
        found = objective.under(values, REFERENCE.points, laws)
        for place in range(6):
            alone = objective(values[place], Reference(REFERENCE.points, laws[place % 3]))
            torch.testing.assert_close(found[place], alone, rtol=1e-6, atol=1e-6)


def test_a_spec_has_it():
    for objective in (Probability(0.95), Probability(0.95, TotalVariation(0.1))):
        assert decode_part("objective", encode_part("objective", objective), "spec") == objective


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_study_of_it(direction):
    """The same study in both directions: a probability is never negative."""
    sign = 1 if direction == "maximize" else -1
    space = Space(x=Real(0, 1), c=Context(0, 1))
    law = Finite([[0.1], [0.3], [0.5], [0.7], [0.9]])
    study = Study(space, objective=Probability(sign * 0.5), context=law, direction=direction, initial=4)
    rows = [(x / 6, c) for x in range(7) for c in (0.1, 0.5, 0.9)]
    study.add([{"x": x, "c": c, "value": sign * (1 - abs(x - 0.7) - 0.6 * c)} for x, c in rows])
    assert abs(study.ask().decision["x"] - 0.7) < 0.3
    best = study.recommend(radii=[0.0])
    assert abs(best.decision["x"] - 0.7) < 0.2
    assert best.interval[0] > 0.5
    assert 0 <= best.interval[0] <= best.value <= best.interval[1] <= 1


def test_bad_declarations_are_refused():
    with pytest.raises(InvalidInput, match=r"Probability\(threshold"):
        Probability("high")
    with pytest.raises(InvalidInput, match=r"Probability\(distance"):
        Probability(0.5, 0.1)
