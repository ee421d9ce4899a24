import pytest
import torch

from allweather import MMD
from allweather.problems import problem


@pytest.mark.parametrize(
    ("name", "options", "tv", "mmd"),
    [
        ("hartmann3", {}, 0.158, 0.0722),
        ("plant-ph", {}, 0.158, 0.0722),
        ("gp-sample", {}, 0.269, 0.0586),
        ("infection", {"as_published": True}, 0.396, 0.0611),
    ],
)
def test_margins_are_those_of_bocu(name, options, tv, mmd):
    one = problem(name, **options)
    assert one.margins["tv"] == pytest.approx(tv, abs=5e-4)
    assert one.margins["mmd"] == pytest.approx(mmd, abs=5e-5)
    told = one.belief.on(one.space).reference(torch.empty(0, 1), 0, torch.Generator())
    between = MMD(0.1, lengthscale=0.1).between(one.truth().weights, told).item()
    assert one.margins["mmd"] == pytest.approx(between, rel=1e-6)


def test_bocus_settings():
    one = problem("hartmann3")
    assert one.candidates.shape == (1024, 2)
    assert one.truth().points.shape == (64, 1)
    assert (one.noise, one.initial) == (0.01, 5)
    assert (one.surrogate.lengthscales, one.surrogate.outputscale, one.surrogate.noise) == (0.1, 1.0, 0.01)
    assert problem("gp-sample").truth().points.shape == (64, 2)
