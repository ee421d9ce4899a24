"""The ends of credible intervals."""

import pytest
import torch

from allweather.engine.intervals import credible_interval, independent_draws, tail_share


@pytest.mark.parametrize("t", [4, 15, 60])
def test_of_means_it_is_students_interval(t):
    """Normal draws with the estimated variance of a mean, as a bootstrap gives them, hold the truth in 90% of cases."""
    source = torch.Generator().manual_seed(t)
    data = torch.randn(t, 1500, generator=source, dtype=torch.float64)
    drawn = data.mean(0) + data.std(0) / t**0.5 * torch.randn(257, 1500, generator=source, dtype=torch.float64)
    low, _, high = credible_interval(drawn, 257, t, allowance=1)
    assert ((low <= 0) & (high >= 0)).double().mean().item() == pytest.approx(0.9, abs=0.025)


@pytest.mark.parametrize("laws", [33, 65])
@pytest.mark.parametrize("shared", [0.0, 1.0, 10.0])
def test_draws_that_share_a_law_count_less(laws, shared):
    """The next draw is within the interval in about 90% of cases, whatever part of the variance is shared."""
    source = torch.Generator().manual_seed(laws)
    of_law = shared * torch.randn(laws, 1500, generator=source, dtype=torch.float64)
    own = torch.randn(258, 1500, generator=source, dtype=torch.float64)
    coming = own[257] + shared * torch.randn(1500, generator=source, dtype=torch.float64)
    drawn = own[:257] + of_law[torch.arange(257) % laws]
    low, _, high = credible_interval(drawn, laws, 10**6, allowance=1)
    held = ((low <= coming) & (coming <= high)).double().mean().item()
    assert 0.88 < held < 0.95  # few draws have no exact 5% quantile
    known = independent_draws(drawn, laws).median()
    assert laws - 1 < known < 258


def test_constant_and_infinite_draws():
    drawn = torch.ones(257, 2, dtype=torch.float64)
    drawn[:100, 1] = -torch.inf
    low, middle, high = credible_interval(drawn, 65, 30).tolist()
    assert (low, middle, high) == ([1.0, -torch.inf], [1.0, 1.0], [1.0, 1.0])


def test_an_allowance_widens_intervals_of_normal_draws_by_as_much():
    drawn = torch.randn(20_001, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact, wider = (credible_interval(drawn, 20_001, 30, allowance=each)[:, 0] for each in (1.0, 1.2))
    assert ((wider[2] - wider[0]) / (exact[2] - exact[0])).item() == pytest.approx(1.2, rel=0.02)
    assert wider[1] == exact[1]


def test_two_outcomes_have_an_interval():
    assert 0 < tail_share(1) == tail_share(2) == tail_share(3) < tail_share(15) < 0.05
