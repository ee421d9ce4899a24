"""Few contexts in place of many."""

import torch

from allweather import Reference


def test_grouped_contexts_have_the_weights_of_all():
    source = torch.Generator().manual_seed(0)
    points = torch.rand(700, 2, generator=source, dtype=torch.float64)
    weights = torch.cat([torch.rand(400, generator=source, dtype=torch.float64), torch.zeros(300)])
    reference = Reference(points, weights / weights.sum())
    _, few = reference.grouped(64)
    assert (int((few.weights > 0).sum()), int((few.weights == 0).sum())) == (64, 64)
    for power in (1, 2):
        torch.testing.assert_close(
            few.weights @ few.points**power, reference.weights @ points**power, atol=0.01, rtol=0
        )
    assert few.grouped(64) is None
