"""Answers from few contexts, and what makes them cheap."""

from __future__ import annotations

import pytest
import torch

from allweather import MMD, Reference
from allweather._utils.tensors import pairwise
from allweather.distances.mmd.ball import KernelBall, _few_axes
from allweather.distances.mmd.few_contexts import MIN_DECISIONS, FewContexts, worth_few
from allweather.distances.mmd.interior import minimise
from allweather.distances.mmd.worst_case import worst_in_ball


def _problem(count: int, n: int = 128, seed: int = 0) -> tuple[KernelBall, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(n, 2, dtype=torch.float64, generator=generator)
    centres = torch.rand(count, 1, 2, dtype=torch.float64, generator=generator)
    values = (points - centres).square().sum(-1) + 0.2 * torch.sin(9 * (points[:, 0] + centres[..., 1]))
    values = values - values.amin(-1, keepdim=True)
    values = values / values.amax(-1, keepdim=True)
    ball = KernelBall((-pairwise(points, points).square() / 0.4).exp(), 1e-6)
    p = torch.rand(count, n, dtype=torch.float64, generator=generator)
    return ball, values, p / p.sum(-1, keepdim=True), torch.full((count, 1), 0.1, dtype=torch.float64)


def test_few_contexts_give_the_answers_of_all() -> None:
    ball, values, p, radius = _problem(40)
    few = FewContexts(ball, values, p, radius)
    few.solve()
    q, multiplier = minimise(ball, values, p, radius)
    assert few.solved.double().mean() > 0.8
    torch.testing.assert_close(few.q[few.solved], q[few.solved], rtol=0, atol=1e-7)
    torch.testing.assert_close(few.multiplier[few.solved], multiplier[few.solved], rtol=1e-7, atol=0)


def test_large_batches_are_solved_to_the_same_accuracy() -> None:
    ball, values, p, radius = _problem(MIN_DECISIONS)
    assert worth_few(values)
    assert not worth_few(values[1:])
    assert not worth_few(values[:, :40])
    q, steepness = worst_in_ball(ball, values, p, radius[:, 0])
    multiplier = steepness[:, None] / radius
    assert bool((ball.duality_gap(q, multiplier, values, p, radius) < 1e-8).all())
    assert bool((q >= 0).all())


def test_smooth_kernels_have_few_axes_which_are_theirs() -> None:
    matrix = _problem(1, n=600)[0]._matrix
    spectrum, vectors = _few_axes(matrix) or pytest.fail("a smooth kernel has few axes")
    assert len(spectrum) < 150
    torch.testing.assert_close((vectors * spectrum) @ vectors.T, matrix, rtol=0, atol=1e-12)
    torch.testing.assert_close(spectrum[:20], torch.linalg.eigvalsh(matrix).flip(0)[:20], rtol=0, atol=1e-12)
    assert _few_axes(torch.eye(256, dtype=torch.float64)) is None


@pytest.mark.parametrize("n", [2, 5, 6, 40])
def test_equal_weights_have_the_lengthscale_that_they_had(n: int) -> None:
    points = torch.rand(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    distances = pairwise(points, points)
    weights = torch.full((n,), 1 / n, dtype=torch.float64)
    ordered = distances[distances > 0].sort().values
    share = torch.full_like(ordered, float(weights[0] ** 2)).cumsum(0)
    expected = ordered[(share < share[-1] / 2).sum()]
    assert MMD(0.1).bound(Reference(points, weights)).lengthscale == pytest.approx(float(expected), rel=1e-12)
