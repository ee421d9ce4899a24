"""Newton's method in both unknowns finds the tilts of the nested search."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from allweather import Phi, Reference
from allweather.distances.divergences import phi as module

DIVERGENCES: dict[str, Callable[[float], Phi]] = {
    "kl": lambda radius: Phi(radius, phi=lambda u: torch.special.xlogy(u, u) - u + 1, conjugate=torch.expm1),
    "chi2": lambda radius: Phi(
        radius,
        phi=lambda u: (u - 1) ** 2,
        conjugate=lambda s: torch.where(s > -2, s + s**2 / 4, -torch.ones_like(s)),
    ),
}


def _problem() -> tuple[torch.Tensor, Reference]:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(24, 64, dtype=torch.float64, generator=generator).cumsum(-1)
    weights = torch.rand(64, dtype=torch.float64, generator=generator)
    weights[::7] = 0
    return values, Reference.checked(torch.linspace(0, 1, 64)[:, None], weights / weights.sum())


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("radius", [1e-6, 0.1, 2.0])
def test_worst_cases_are_those_of_the_search(name: str, radius: float, monkeypatch: pytest.MonkeyPatch) -> None:
    values, reference = _problem()
    quick = DIVERGENCES[name](radius).worst_case(values, reference)
    monkeypatch.setattr(module, "tilted", _none_settled(module.tilted))
    searched = DIVERGENCES[name](radius).worst_case(values, reference)
    torch.testing.assert_close(quick.value, searched.value, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(quick.slope, searched.slope, rtol=1e-9, atol=0)
    torch.testing.assert_close(quick.weights, searched.weights, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("target", [-10.0, -1.0, 1.0])
def test_fragility_is_that_of_the_search(name: str, target: float, monkeypatch: pytest.MonkeyPatch) -> None:
    values, reference = _problem()
    moved = values.clone().requires_grad_()
    quick = DIVERGENCES[name](0.1).fragility(moved, reference, target)
    finite = torch.isfinite(quick)
    (slope,) = torch.autograd.grad(quick[finite].sum(), moved)
    monkeypatch.setattr(module, "tilted", _none_settled(module.tilted))
    moved = values.clone().requires_grad_()
    searched = DIVERGENCES[name](0.1).fragility(moved, reference, target)
    (expected,) = torch.autograd.grad(searched[finite].sum(), moved)
    assert 0 < int((finite & (quick > 0)).sum()) < len(values)
    torch.testing.assert_close(quick, searched, rtol=1e-9, atol=0)
    torch.testing.assert_close(slope, expected, rtol=1e-6, atol=1e-9)


def _none_settled(tilted: Callable[..., module.Tilted]) -> Callable[..., module.Tilted]:
    def without(*arguments: object) -> module.Tilted:
        found = tilted(*arguments)
        assert bool(found.settled.all())
        return found._replace(settled=torch.zeros_like(found.settled))

    return without
