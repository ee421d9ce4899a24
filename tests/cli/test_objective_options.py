"""Another objective than the study's, named on the command line."""

import pytest

import allweather as aw
from allweather.cli.objective_options import read_objective

KL = {"objective": {"name": "dro", "distance": {"name": "kl", "radius": 0.1}}}
DAYS = "order,demand,value\n20,30,80\n50,30,20\n35,30,95\n30,40,120\n60,55,195\n10,30,40\n"


@pytest.mark.parametrize(
    ("spec", "options", "expected"),
    [
        (KL, {}, None),
        (KL, {"name": "expectation"}, aw.Expectation()),
        (KL, {"radius": 0.3}, aw.DRO(aw.KL(0.3))),
        (KL, {"radius": 0.3, "distance": "tv"}, aw.DRO(aw.TotalVariation(0.3))),
        ({"method": "wdrbo"}, {"radius": 0.3}, aw.DRO(aw.TotalVariation(0.3))),
        (None, {"level": 0.1}, aw.CVaR(0.1)),
        (None, {"name": "var", "level": 0.1}, aw.VaR(0.1)),
        (None, {"name": "{ name = 'mean-variance', penalty = 2.0 }"}, aw.MeanVariance(2.0)),
    ],
)
def test_options_make_an_objective(spec, options, expected):
    assert read_objective(spec, **options) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "cvra"}, "did you mean 'cvar'"),
        ({"name": "worst-case", "radius": 0.2}, "'distance'"),
        ({"distance": "kl"}, "lacks 'radius'"),
        ({"radius": -1.0}, "at least 0"),
        ({"radius": 0.1, "distance": "ls"}, "knows no 'ls'"),
        ({"name": "{ name = "}, "TOML"),
    ],
)
def test_what_is_no_objective_is_refused(options, said):
    with pytest.raises(aw.InvalidInput, match=said):
        read_objective(KL, **options)


def test_recommend_takes_them(kiosk, folder):
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    found = kiosk("recommend", "--objective", "worst-case", "--json").document
    study = aw.Study.load("sqlite:///allweather.db", "kiosk")
    assert found == study.recommend(objective=aw.WorstCase()).to_dict()
    assert "did you mean" in kiosk("recommend", "--objective", "wurst-case", code=2).err
