"""Trade-offs between several objectives."""

import numpy as np
import pytest

import allweather as aw
from allweather.engine.front import dominated

LAW = aw.Finite([[0.2], [0.8]])
WANTED = {"gain": aw.Maximize(), "waste": aw.Minimize()}


def study(wanted, **options):
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    model = aw.GP(lengthscales=0.7, noise=1e-5)
    made = aw.Study(space, outcomes=wanted, context=LAW, surrogate=model, initial=3, **options)
    made.add(
        [
            {"x": x, "c": c, "gain": x + 0.1 * c, "waste": x**2 + 0.1 * c, "purity": 1 - x}
            | ({} if "purity" in wanted else {"purity": None})
            for x in (0.0, 0.25, 0.5, 0.75, 1.0)
            for c in (0.2, 0.8)
        ],
        columns=["x", "c", *wanted],
    )
    return made


@pytest.fixture(scope="module")
def traded():
    return study(WANTED)


def test_the_front_is_of_decisions_that_none_dominates(traded):
    table = traded.front()
    assert list(table.columns) == ["x", "gain", "gain low", "gain high", "waste", "waste low", "waste high"]
    assert (table["gain low"] <= table["gain"]).all()
    assert not dominated(np.stack([table["gain"], -table["waste"]], -1)).any()
    assert table["x"].min() < 0.2
    assert table["x"].max() > 0.8
    assert table["gain"].is_monotonic_increasing


def test_weights_choose_on_the_front(traded):
    gain, waste = (traded.recommend(radii=[0.0], weights=w) for w in ({"gain": 9, "waste": 1}, {"gain": 1, "waste": 9}))
    assert gain.decision["x"] > waste.decision["x"] + 0.1
    assert set(gain.outcomes["outcome"]) == {"gain", "waste"}
    for wrong in ({"gain": 1}, {"gain": 0, "waste": 0}, {"gain": -1, "waste": 2}):
        with pytest.raises(aw.InvalidInput, match="weights"):
            traded.recommend(weights=wrong)


def test_a_reference_point_is_exceeded_as_evenly_as_possible(traded):
    point = {"gain": 0.5, "waste": 0.5}
    best = traded.recommend(radii=[0.0], reference_point=point)
    gain, waste = best.outcomes["value"]
    assert 0.3 < best.decision["x"] < 0.75
    assert gain - 0.5 == pytest.approx(0.5 - waste, abs=0.08)  # both range over about 1
    more = traded.recommend(radii=[0.0], reference_point={"gain": 0.9, "waste": 2.0})
    assert more.decision["x"] > best.decision["x"] + 0.1
    for wrong in ({"gain": 1}, {"gain": float("nan"), "waste": 0}):
        with pytest.raises(aw.InvalidInput, match="reference_point"):
            traded.recommend(reference_point=wrong)


def test_hypervolume_of_the_front(traded):
    # The curve gain = x + .05, waste = x^2 + .05 encloses 2/3 with the corner, and steps on it somewhat less.
    assert 0.54 < traded.hypervolume({"gain": 0.05, "waste": 1.05}) < 0.67
    assert traded.hypervolume({"gain": 5.0, "waste": 1.05}) == 0
    with pytest.raises(aw.InvalidInput, match="hypervolume"):
        traded.hypervolume({"gain": 1.0})


@pytest.mark.parametrize("acquisition", [aw.ObjectiveUCB(), aw.Thompson()], ids=["bound", "sample"])
def test_asking_spreads_over_the_front(acquisition):
    made = study(WANTED, acquisition=acquisition)
    asked = [trial.decision["x"] for trial in made.ask(3)]
    assert max(asked) - min(asked) > 0.02


def test_limits_hold_on_the_front():
    limited = study({**WANTED, "purity": aw.AtLeast(0.5)})
    table = limited.front()
    assert table["x"].max() < 0.52
    assert (table["feasible"] >= 0.9).all()


def test_one_objective_has_no_front():
    single = study({"gain": aw.Maximize()})
    with pytest.raises(aw.InvalidInput, match="front"):
        single.front()
    plain = aw.Study(aw.Space(x=aw.Real(0, 1)))
    plain.add([{"x": 0.5, "value": 1.0}])
    with pytest.raises(aw.InvalidInput, match="weights"):
        plain.recommend(weights={"value": 1})


def test_figures(traded):
    assert [panel.y for panel in aw.plots.front(traded).panels] == ["waste"]
    for name in ("profile", "slices"):
        assert aw.plots.STUDY_FIGURES[name](traded).panels
    with pytest.raises(aw.InvalidInput, match="feasibility"):
        aw.plots.feasibility(traded)
    with pytest.raises(aw.InvalidInput, match="objective"):
        aw.plots.front(traded, aw.CVaR(0.1))
