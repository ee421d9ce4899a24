"""Where outcomes seem to jump."""

import numpy as np
import pytest

import allweather as aw
from allweather.engine.jumps import Jump

SPACE = aw.Space(load=aw.Real(0, 10), speed=aw.Real(0, 1), heat=aw.Context(0, 1))


def smooth(load, speed, heat):
    return -((load / 10 - 0.4) ** 2) + 0.5 * np.sin(3 * speed + heat)


def broken(load, speed, heat):
    return smooth(load, speed, heat) - 1.5 * (load > 6)


def slanted(load, speed, heat):
    return smooth(load, speed, heat) - 1.5 * (load / 10 + 0.5 * heat > 0.8)


def rows(function, t=40, seed=100, noise=0.03):
    rng = np.random.default_rng(seed)
    points = rng.random((t, 3)) * [10, 1, 1]
    values = function(*points.T) + noise * rng.standard_normal(t)
    return [
        {**dict(zip(("load", "speed", "heat"), point, strict=True)), "value": value}
        for point, value in zip(points.tolist(), values.tolist(), strict=True)
    ]


def studied(table, **options):
    study = aw.Study(SPACE, seed=1, **options)
    study.add(table)
    return study


def test_a_jump_is_named_in_the_check_and_in_the_recommendation():
    study = studied(rows(broken))
    check = study.check()
    assert isinstance(check.jump, Jump)
    assert list(check.jump.low) == ["load"]
    assert check.jump.low["load"] < 6 < check.jump.high["load"]
    assert f" O{str(check.jump)[1:]}." in check.verdict
    assert check.to_dict()["verdict"] == check.verdict
    assert str(check.jump) in study.recommend().warning


def test_its_place_may_depend_on_the_context():
    jump = studied(rows(slanted)).check().jump
    assert set(jump.low) == {"load", "heat"}

    def side(place):
        return place["load"] / 10 + 0.5 * place["heat"]

    assert side(jump.low) < 0.9
    assert side(jump.high) > 0.7
    assert "between load = " in str(jump)
    assert ", heat = " in str(jump)


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_smooth_outcomes_do_not_jump(seed):
    study = studied(rows(smooth, seed=seed))
    assert study.check().jump is None
    assert "jump" not in study.check().verdict
    assert "jump" not in study.recommend().warning


def test_one_wrong_outcome_is_no_jump():
    table = rows(smooth)
    table[7]["value"] += 4
    assert studied(table).check().jump is None


def test_few_outcomes_do_not_tell():
    assert studied(rows(broken, t=19)).check().jump is None


def test_options_have_no_order_to_jump_in():
    study = aw.Study(aw.Space(kind=aw.Choice("a", "b", "c"), heat=aw.Context(0, 1)), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(30):
        kind, heat = "abc"[rng.integers(3)], float(rng.random())
        study.add([{"kind": kind, "heat": heat, "value": (kind == "b") + 0.02 * heat + 0.01 * rng.standard_normal()}])
    assert study.check().jump is None


def test_each_of_several_outcomes_is_examined():
    outcomes = {"profit": aw.Maximize(), "waste": aw.AtMost(2.0)}
    study = aw.Study(SPACE, outcomes=outcomes, seed=1)
    quiet, jumps = rows(smooth), rows(broken)
    for even, odd in zip(quiet, jumps, strict=True):
        point = {name: even[name] for name in ("load", "speed", "heat")}
        study.add([{**point, "profit": even["value"], "waste": odd["value"]}])
    assert study.check().jump is None
    found = study.check(outcome="waste").jump
    assert f"waste: {found}" in study.recommend().warning
    assert "profit: outcomes seem" not in study.recommend().warning
