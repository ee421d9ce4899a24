"""Schedules that state a probability of failure keep it, on functions and laws that meet their assumptions."""

import numpy as np
import pytest
import torch
from benchmarks import schedules

import allweather as aw


@pytest.mark.parametrize("measure", schedules.MEASURED)
def test_failures_are_not_more_frequent_than_stated(measure):
    found = measure(40)
    assert found
    for each in found:
        assert each.rate <= each.stated, each


@pytest.mark.parametrize(("noise", "norm"), schedules.SETTINGS)
def test_the_papers_width_is_too_small_for_the_posterior_at_hand(noise, norm):
    as_printed = aw.InformationGainWidth(norm, noise, schedules.FAILURE, regularisation=1.0)
    assert schedules.broken_bands(as_printed, norm, noise, repetitions=40, steps=30) / 40 > 0.5


def test_the_bands_are_those_of_the_librarys_posterior():
    rng = np.random.default_rng(1)
    places = np.linspace(0, 1, schedules.PLACES)
    chosen, outcomes = rng.integers(schedules.PLACES, size=(1, 7)), rng.standard_normal((1, 7))
    mean, sd, gain = schedules.posteriors(schedules.grid_kernel(), chosen, outcomes, 0.1**2)
    points = torch.from_numpy(places[chosen[0]])[:, None]
    nothing = torch.zeros(7, 0, dtype=torch.float64)
    data = aw.Observations.of(points, nothing, torch.from_numpy(outcomes[0]))
    own = aw.GP(lengthscales=schedules.LENGTHSCALE, outputscale=1.0, noise=0.1, mean=0.0).fit(data)
    band = own.field(torch.zeros(1, 0, dtype=torch.float64))(torch.from_numpy(places)[:, None])
    np.testing.assert_allclose(band.mean[:, 0], mean[0], atol=1e-6)
    np.testing.assert_allclose(band.sd[:, 0], sd[0], atol=1e-6)
    assert own.information_gain == pytest.approx(gain[0], abs=1e-6)
