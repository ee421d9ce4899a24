"""Many contexts without a table of all pairs: the same worst cases."""

import pytest
import torch

from allweather import MMD, InvalidInput
from allweather.contexts import Reference
from allweather.distances.mmd import mmd


def example(n, empty=0, b=6):
    source = torch.Generator().manual_seed(n)
    points = torch.rand(n, 2, generator=source, dtype=torch.float64)
    weights = torch.rand(n, generator=source, dtype=torch.float64)
    weights[n - empty :] = 0
    turns = 6 * torch.rand(b, 2, generator=source, dtype=torch.float64)
    return torch.sin(turns @ points.T) + points[:, 0], Reference(points, weights / weights.sum())


@pytest.mark.parametrize("kernel", ["rbf", lambda these, those: (-4 * torch.cdist(these, those).square()).exp()])
@pytest.mark.parametrize("empty", [0, 40])
def test_the_same_with_and_without_a_table(monkeypatch, kernel, empty):
    values, reference = example(120, empty)
    lengthscale = 0.4 if kernel == "rbf" else None
    found = []
    for table in (2048, 100):
        monkeypatch.setattr(mmd, "MAX_TABLED_CONTEXTS", table)
        distance = MMD(0.15, lengthscale, kernel)
        again = Reference(reference.points.clone(), reference.weights)  # what was factorised before is of no use
        worst = distance.worst_case(values, again)
        found.append([worst.value, worst.slope, distance.between(worst.weights, again), distance.to_points(again)])
        found[-1] += [distance.fragility(values, again, 0.2), distance.first_order(values, again)]
        found[-1] += [distance.ceiling(again, 1.0, 0.5, 0.15)(values), distance.sensitivity(values, again)]
    for dense, low_rank in zip(*found, strict=True):
        torch.testing.assert_close(low_rank, dense, rtol=2e-4, atol=1e-5)
    torch.testing.assert_close(found[0][0], found[1][0], rtol=0, atol=1e-7)


def test_five_thousand_contexts_keep_no_table():
    values, reference = example(5000, empty=1000, b=2)
    distance = MMD(0.1)
    worst = distance.worst_case(values, reference)
    ball = distance._ball(reference)
    assert max(each.numel() for each in vars(ball).values() if isinstance(each, torch.Tensor)) < 5000 * 300
    assert (worst.weights >= 0).all()
    torch.testing.assert_close(worst.weights.sum(-1), torch.ones(2, dtype=torch.float64))
    assert distance.between(worst.weights, reference) == pytest.approx(0.1, rel=1e-6)
    # No distribution of many in the ball is worse, and the tangent says the same.
    near = distance.worst_case(values, reference, torch.full((2,), 0.0999, dtype=torch.float64))
    assert (near.value - worst.value) / 1e-4 == pytest.approx(-worst.slope, rel=1e-2)


def test_the_median_distance_is_nearly_that_of_all():
    _, reference = example(2100)
    some, all_of_them = MMD(0.1)._scale(reference), torch.pdist(reference.points).median().item()
    assert some == pytest.approx(all_of_them, rel=0.05)


def test_kernels_that_need_too_many_columns_are_refused():
    values, reference = example(2500, b=1)
    with pytest.raises(InvalidInput, match=r"more than 1024 directions .* choose a larger lengthscale"):
        MMD(0.1, lengthscale=1e-3).worst_case(values, reference)
