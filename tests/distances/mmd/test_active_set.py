import numpy as np
import pytest
import torch

from allweather import MMD, Reference
from allweather._utils.warm_starts import warm_starts
from allweather.distances.mmd import worst_case
from allweather.distances.mmd.active_set import known_supports

N = 120


def problem():
    """Scattered contexts, a kernel whose eigenvalues fall below its regularisation, a smooth function of a decision."""
    source = torch.Generator().manual_seed(3)
    points = torch.rand(N, 2, generator=source, dtype=torch.float64)
    weights = torch.rand(N, generator=source, dtype=torch.float64)
    reference = Reference.checked(points, weights / weights.sum())

    def values(x):
        return torch.sin(4 * points[:, 0] + x) + torch.cos(3 * points[:, 1] - 2 * x) * points[:, 0]

    return reference, values, MMD(0.1, lengthscale=0.4)


def path(values, steps=40):
    return [values(0.02 * step)[None] for step in range(steps)]


def test_a_walk_has_the_worst_cases_of_each_step_alone(monkeypatch):
    reference, values, distance = problem()
    with monkeypatch.context() as patched:
        patched.setattr(worst_case, "MAX_WARM_DECISIONS", -1)
        alone = [distance.worst_case(each, reference) for each in path(values)]
    calls = []
    solver = worst_case.minimise
    monkeypatch.setattr(worst_case, "minimise", lambda *given: calls.append(len(given[1])) or solver(*given))
    with warm_starts():
        walked = [distance.worst_case(each, reference) for each in path(values)]
    assert sum(calls) <= 3  # the first step, and no more than two others
    for one, other in zip(alone, walked, strict=True):
        assert torch.allclose(one.value, other.value, atol=2e-9, rtol=0)
        assert torch.allclose(one.slope, other.slope, rtol=1e-4)
        assert bool((distance.between(other.weights, reference) <= distance.radius * (1 + 1e-8)).all())


def test_an_answer_does_not_depend_on_the_way_to_it():
    reference, values, distance = problem()
    ends = []
    for steps in (
        path(values, 20),
        [*path(values, 20)[::3], values(0.38)[None]],
        [values(0.7)[None], values(0.38)[None]],
    ):
        with warm_starts():
            found = [distance.worst_case(each, reference) for each in steps]
        ends.append(found[-1].weights)
    assert torch.equal(ends[0], ends[1])
    assert torch.allclose(ends[0], ends[2], atol=1e-9)  # from far away: the interior point method


def test_nothing_is_remembered_between_calls_unless_it_is_asked_for():
    reference, values, distance = problem()
    ball = distance._ball(reference)
    distance.worst_case(values(0.1)[None], reference)
    assert len(known_supports(ball, reference.weights)) == 0
    with warm_starts():
        distance.worst_case(values(0.1)[None], reference)
        assert len(known_supports(ball, reference.weights)) == 1
        with warm_starts():
            assert len(known_supports(ball, reference.weights)) == 1
        other = torch.full_like(reference.weights, 1 / N)
        assert len(known_supports(ball, other)) == 0  # another law
    assert len(known_supports(ball, reference.weights)) == 0


def test_a_larger_ball_starts_from_a_smaller_one_and_never_the_other_way():
    reference, values, distance = problem()
    ball = distance._ball(reference)
    known = known_supports(ball, reference.weights)
    height = values(0.0).numpy()
    height = (height - height.min()) / np.ptp(height)
    q = distance.worst_case(values(0.0)[None], reference).weights[0].numpy()
    known.remember(height, 0.1, q)
    assert known.solve(height, 0.09) is None
    larger = known.solve(height, 0.105)
    exact = distance.worst_case(values(0.0)[None], reference, radius=0.105)
    assert larger is not None
    assert larger.q @ height[larger.support] == pytest.approx(float(exact.weights[0].numpy() @ height), abs=2e-9)
