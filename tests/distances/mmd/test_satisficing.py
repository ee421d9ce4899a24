"""Fragility in a kernel's distance under many laws at once."""

from __future__ import annotations

import pytest
import torch

from allweather import MMD
from allweather.distances.base import Distance
from allweather.distances.mmd import mmd, satisficing


@pytest.mark.parametrize("lengthscale", [0.4, None])
@pytest.mark.parametrize("target", [-0.5, 0.3])
def test_laws_together_give_what_each_gives(lengthscale: float | None, target: float) -> None:
    generator = torch.Generator().manual_seed(0)
    points, places = (torch.rand(*size, dtype=torch.float64, generator=generator) for size in ((24, 2), (6, 3, 1, 2)))
    values = torch.sin(3 * places + 4 * points).sum(-1) - places.sum(-1)
    laws = torch.rand(4, 24, dtype=torch.float64, generator=generator)
    laws = laws / laws.sum(-1, keepdim=True)
    distance = MMD(0.1, lengthscale=lengthscale)
    found = distance.fragilities(values, points, laws, target)
    each = Distance.fragilities(distance, values, points, laws, target)
    assert 0 < int((torch.isfinite(each) & (each > 0)).sum()) < each.numel()
    torch.testing.assert_close(found, each, rtol=1e-8, atol=0)


def test_programs_left_open_are_solved_by_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    points = torch.linspace(0, 1, 8, dtype=torch.float64)[:, None]
    values = torch.stack([torch.cos(4 * points[:, 0]), points[:, 0]])[:, None]
    laws = torch.full((1, 8), 1 / 8, dtype=torch.float64)
    distance = MMD(0.1, lengthscale=0.4)
    expected = distance.fragilities(values, points, laws, -0.2)
    solve = satisficing.largest_loss

    def unsolved(*arguments: object) -> tuple[torch.Tensor, ...]:
        loss, push, solved = solve(*arguments)  # type: ignore[arg-type]
        return loss, push, torch.zeros_like(solved)

    monkeypatch.setattr(mmd, "largest_loss", unsolved)
    torch.testing.assert_close(distance.fragilities(values, points, laws, -0.2), expected, rtol=1e-6, atol=0)
