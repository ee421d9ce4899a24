"""Deviations of sums over very many contexts, from cells of them."""

import pytest
import torch
from tests.surrogates.tables import table, uniform

from allweather import GP
from allweather.surrogates.approximations import gram
from allweather.surrogates.posteriors import field


@pytest.mark.parametrize("draws", [0, 4])
def test_cells_of_contexts_give_the_deviation_of_all(monkeypatch, draws):
    posterior = GP("matern", outputscale="fit", draws=draws).fit(table(20))
    contexts, decisions = uniform(1500, 2), uniform(6, 2, seed=2)
    shared = torch.full((1500,), 1 / 1500, dtype=torch.float64)
    single = (posterior.field(contexts).mean(decisions) * -9).softmax(-1)  # the worst outcomes are the most likely
    expected = [posterior.field(contexts).combination(decisions, weights) for weights in (shared, single)]
    monkeypatch.setattr(field, "MAX_UNGROUPED_CONTEXTS", 1000)
    monkeypatch.setattr(gram, "CELLS", 256)
    found = [posterior.field(contexts).combination(decisions, weights) for weights in (shared, single)]
    for ours, exact, accuracy in zip(found, expected, (2e-3, 1e-2), strict=True):
        torch.testing.assert_close(ours.mean, exact.mean)  # from all contexts
        torch.testing.assert_close(ours.sd, exact.sd, rtol=accuracy, atol=0.0)
