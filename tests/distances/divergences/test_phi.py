"""A divergence of the user's own: phi, its conjugate, and the conformance suite."""

import math
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
import torch

from allweather import DRO, KL, ChiSquared, CVaR, InvalidInput, Phi, Progress, Reference, TotalVariation
from allweather.distances.divergences.phi import Function
from allweather.testing import DistanceSuite


@dataclass(frozen=True)
class HalfHellinger(Phi):
    """`sum (sqrt(q) - sqrt(p))^2`; a unit of mass where the reference has none costs 1."""

    phi: Function = lambda u: (u.sqrt() - 1) ** 2
    conjugate: Function = lambda s: s / (1 - s)
    recession: float = 1.0


@pytest.mark.slow
class TestHellinger(DistanceSuite):
    def make(self, radius):
        return HalfHellinger(radius)

    def convex(self, q, reference):
        return 2 - 2 * np.sqrt(reference.weights.numpy()) @ cp.sqrt(q), []


SAME = {
    "kl": (KL, lambda u: torch.special.xlogy(u, u) - u + 1, torch.expm1, np.inf),
    "kl, as phi prints it": (KL, lambda u: torch.special.xlogy(u, u), lambda s: (s - 1).exp(), np.inf),
    "chi-squared": (
        ChiSquared,
        lambda u: (u - 1) ** 2,
        lambda s: torch.where(s > -2, s + s**2 / 4, -1.0),
        np.inf,
    ),
    "total variation": (TotalVariation, lambda u: (u - 1).abs(), lambda s: torch.where(s > -1, s, -1.0), 1.0),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("radius", [0.0, 1e-3, 0.3, 1.1, 5.0])
@pytest.mark.parametrize("zeros", [0, 10])
def test_reproduces_the_closed_forms(name, radius, zeros):
    closed, phi, conjugate, recession = SAME[name]
    source = np.random.default_rng(4)
    weights = source.dirichlet(np.ones(30))
    weights[:zeros] = 0
    reference = Reference.checked(source.uniform(size=(30, 1)), weights / weights.sum())
    values = torch.tensor(source.normal(size=(6, 30)))
    ours = Phi(radius, phi, conjugate, recession).worst_case(values, reference)
    theirs = closed(radius).worst_case(values, reference)
    torch.testing.assert_close(ours.value, theirs.value, rtol=0, atol=1e-9)
    torch.testing.assert_close(ours.slope, theirs.slope, rtol=1e-6, atol=1e-7)


AWKWARD = {
    "infinite beyond the recession": (
        TotalVariation,
        lambda u: (u - 1).abs(),
        lambda s: torch.where(s < 1, torch.where(s > -1, s, -1.0), torch.inf),
        1.0,
    ),
    "nan in a branch that is not taken": (
        ChiSquared,
        lambda u: (u - 1) ** 2,
        lambda s: torch.where(s > -2, (s + 2).sqrt() ** 4 / 4 - 1, -1.0),
        np.inf,
    ),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("radius", [1e-3, 0.3, 1.1, 1.9])
def test_a_conjugate_whose_automatic_gradient_is_wrong_at_its_end(name, radius):
    closed, phi, conjugate, recession = AWKWARD[name]
    reference = Reference.checked(torch.arange(5.0)[:, None], [0.3, 0.3, 0.3, 0.0999, 0.0001])
    values = torch.tensor([[3.0, 2, 2.5, 1, 0], [0, 1, 2, 3, 4]], dtype=torch.float64)
    ours, theirs = Phi(radius, phi, conjugate, recession), closed(radius)
    found, expected = ours.worst_case(values, reference), theirs.worst_case(values, reference)
    torch.testing.assert_close(found.value, expected.value, rtol=0, atol=1e-7)
    assert bool((ours.between(found.weights, reference) <= radius * (1 + 1e-6)).all())
    torch.testing.assert_close(
        ours.fragility(values, reference, 1.7), theirs.fragility(values, reference, 1.7), rtol=1e-6, atol=0
    )


class _Wrong(torch.autograd.Function):
    """The conjugate of chi-squared, with a derivative that is wrong."""

    factor = 1.0

    @staticmethod
    def forward(ctx, s):
        ctx.save_for_backward(s)
        return torch.where(s > -2, s + s**2 / 4, -1.0)

    @staticmethod
    def backward(ctx, above):
        (s,) = ctx.saved_tensors
        return above * torch.where(s > -0.5, (1 + s / 2).clamp_min(0.0), 0.0 * s + _Wrong.factor)


@pytest.mark.parametrize("factor", [-1.0, 0.01, 0.5, torch.inf])
def test_a_worst_case_that_is_not_at_the_radius_is_refused(factor, monkeypatch):
    monkeypatch.setattr(_Wrong, "factor", factor)
    reference = Reference.checked(torch.arange(4.0)[:, None], [0.25] * 4)
    with pytest.raises(InvalidInput, match=r"Phi\(conjugate=\.\.\.\).*worst case.*clamp the argument of a branch"):
        Phi(0.9, lambda u: (u - 1) ** 2, _Wrong.apply).worst_case(torch.arange(4.0), reference)


def test_the_wrong_conjugate_is_refused():
    with pytest.raises(InvalidInput, match="convex conjugates"):
        Phi(0.1, phi=lambda u: (u - 1) ** 2, conjugate=torch.expm1)
    with pytest.raises(InvalidInput, match="recession"):
        Phi(0.1, phi=lambda u: (u.sqrt() - 1) ** 2, conjugate=lambda s: s / (1 - s))
    with pytest.raises(InvalidInput, match="zero at 1"):
        Phi(0.1, phi=lambda u: u, conjugate=lambda s: 0 * s)


@pytest.mark.parametrize(
    "arguments", [("a", "b"), (torch.exp, 3), (torch.exp, torch.exp, "x"), (torch.exp, torch.exp, -5)]
)
def test_what_is_no_function_or_price_is_refused(arguments):
    with pytest.raises(InvalidInput, match=r"Phi\("):
        Phi(0.1, *arguments)


def test_a_recession_that_is_not_phis_own_is_refused():
    _, phi, conjugate, _ = SAME["chi-squared"]
    with pytest.raises(InvalidInput, match="limit of phi"):
        Phi(0.1, phi, conjugate, recession=3.0)


def test_slopes_at_kinks_are_right_derivatives():
    _, phi, conjugate, recession = SAME["total variation"]
    reference = Reference.checked(torch.rand(4, 1), [0.25] * 4)
    values = torch.arange(4, dtype=torch.float64)
    for radius, slope in ((0.0, -1.5), (0.5, -1.0), (1.0, -0.5)):
        found = Phi(radius, phi, conjugate, recession).worst_case(values, reference).slope.item()
        assert found == pytest.approx(slope, rel=1e-6)


def test_is_found_by_name_and_takes_a_schedule():
    assert Phi.named("half-hellinger") is HalfHellinger
    assert HalfHellinger(lambda t: 1 / t).at(Progress(step=4)).radius == 0.25


def test_sensitivity_of_smooth_and_kinked_divergences():
    values, reference = torch.tensor([0.0, 2.0]), Reference.checked([[0.0], [1.0]], [0.5, 0.5])
    closed, phi, conjugate, _ = SAME["chi-squared"]
    expected = closed(0).sensitivity(values, reference)
    torch.testing.assert_close(Phi(0, phi, conjugate).sensitivity(values, reference), expected, check_dtype=False)
    _, phi, conjugate, recession = SAME["total variation"]
    assert Phi(0, phi, conjugate, recession).rate == 1
    assert Phi(0, phi, conjugate, recession).sensitivity(values, reference).item() == pytest.approx(-1.0)


def test_a_bounded_divergence_leads_from_the_mean_to_conditional_value_at_risk():
    level = 0.3

    def phi(u):  # finite up to 1 / level, as the ratios q/p of CVaR are
        left = 1 - level * u
        room = left.clamp_min(0)
        inside = torch.special.xlogy(level * u, u) + torch.special.xlogy(room, room / (1 - level))
        return torch.where(left >= -1e-9, inside / level, torch.inf)  # ratios are rounded

    def conjugate(s):
        return torch.logaddexp(s + np.log(level), torch.full_like(s, np.log(1 - level))) / level

    generator = torch.Generator().manual_seed(0)
    values = torch.randn(5, 40, dtype=torch.float64, generator=generator)
    reference = Reference.checked(torch.rand(40, 1, generator=generator), [1 / 40] * 40)
    largest = -np.log(level) - (1 - level) * np.log(1 - level) / level  # divergence of the worst 30% from all
    risk, mean = CVaR(level)(values, reference), values.mean(-1)
    near, middle, far = (DRO(Phi(share * largest, phi, conjugate))(values, reference) for share in (1e-9, 0.5, 0.95))
    torch.testing.assert_close(near, mean, atol=1e-3, rtol=0)
    assert ((risk < middle) & (middle < mean)).all()
    torch.testing.assert_close(far, risk, atol=5e-3, rtol=0)
    expected = -math.sqrt(2 * (1 - level)) * values.std(-1, correction=0)
    torch.testing.assert_close(Phi(0.0, phi, conjugate).sensitivity(values, reference), expected)
