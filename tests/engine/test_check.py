"""Checks of the model, and what is left to gain."""

import math

import numpy as np
import pytest
import torch

import allweather as aw
from allweather import plots
from allweather.engine.gain import gain_left
from allweather.errors import InvalidInput
from allweather.surrogates import Hyperparameters

SPACE = aw.Space(x=aw.Real(0, 10), y=aw.Integer(0, 3), c=aw.Context(0, 1))


def study(t=24, noise=0.0, direction="maximize", signal=1.0, **parts):
    rng = np.random.default_rng(0)
    sign = 1 if direction == "maximize" else -1
    made = aw.Study(SPACE, direction=direction, seed=1, **parts)
    rows = [{"x": float(rng.uniform(0, 10)), "y": int(rng.integers(4)), "c": float(rng.uniform())} for _ in range(t)]
    for row in rows:
        row["value"] = sign * (signal * -((row["x"] / 10 - 0.4) ** 2) * (1 + row["c"]) + noise * rng.standard_normal())
    made.add(rows)
    return made


def test_a_good_model_is_called_good():
    check = study().check()
    assert check.explained > 0.8
    assert check.reliable
    assert "well" in check.verdict
    assert len(check.table) == 24
    assert ((check.table["low"] <= check.table["predicted"]) & (check.table["predicted"] <= check.table["high"])).all()


def test_a_model_of_noise_is_not():
    made = study(noise=1.0, signal=0.0)
    check = made.check()
    assert check.explained < 0.3
    said = str(made.recommend())
    assert ("Warning" in said) == (not check.reliable)


def test_what_does_not_matter_has_no_importance():
    check = study().check()
    assert set(check.importance) == {"x", "y", "c"}
    assert check.importance["x"] > 0.5
    assert check.importance["y"] < 0.1
    assert "x " in str(check)


@pytest.mark.parametrize("seed", range(3))
def test_importance_is_that_of_a_sum(seed):
    """Of x + y / 2 with independent uniform x and y, shares of the variance are 0.8 and 0.2."""
    rng = np.random.default_rng(seed)
    made = aw.Study(aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1)), seed=seed)
    made.add([{"x": x, "y": y, "value": x + y / 2} for x, y in rng.random((20, 2)).tolist()])
    assert dict(made.check().importance) == pytest.approx({"x": 0.8, "y": 0.2}, abs=0.05)


def test_plain_data_is_the_check():
    check = study(t=8).check()
    found = check.to_dict()
    assert found["verdict"] == check.verdict
    assert list(found["importance"]) == [name for name, _ in check.ranked]
    assert found["importance"] == dict(check.importance)
    assert found["explained"] == check.explained
    assert [row["observed"] for row in found["table"]] == check.table["observed"].tolist()
    few = study(t=3).check().to_dict()
    assert (few["explained"], few["importance"], few["table"], few["reliable"]) == (None, {}, [], True)


def test_minimising_is_shown_as_it_was_said():
    up, down = study().check(), study(direction="minimize").check()
    np.testing.assert_allclose(down.table["observed"], -up.table["observed"])
    np.testing.assert_allclose(down.table["predicted"], -up.table["predicted"], rtol=1e-6, atol=1e-9)
    assert (down.table["low"] <= down.table["high"]).all()


def test_few_outcomes_and_none():
    assert "Too few" in study(t=3).check().verdict
    with pytest.raises(InvalidInput, match="at least one complete trial"):
        aw.Study(SPACE).check()
    from botorch.models import SingleTaskGP

    with pytest.raises(InvalidInput, match="`GP` surrogate"):
        study(t=8, surrogate=SingleTaskGP).check()


def test_constant_outcomes():
    made = aw.Study(SPACE)
    made.add([{"x": float(i), "y": 0, "c": i / 9, "value": 2.0} for i in range(9)])
    check = made.check()
    assert check.reliable
    assert made.recommend().possible_gain >= 0


def test_control_sets():
    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1))
    control = aw.Control([aw.ControlSet(("x",), 1.0), aw.ControlSet(("x", "y"), 3.0)])
    laws = aw.Known({"x": aw.truncated_normal(0.5, 0.04), "y": aw.truncated_normal(0.5, 0.04)}, samples=32)
    made = aw.Study(space, context=laws, control=control)
    made.add([{"x": i / 6, "y": (i * 0.37) % 1, "value": -((i / 6 - 0.4) ** 2)} for i in range(7)])
    assert set(made.check().importance) == {"x", "y"}
    assert made.recommend().possible_gain >= 0


def test_a_figure():
    picture = plots.check(study(t=8))
    assert picture.panels[0].title == "Predicted from all other outcomes"


def test_the_possible_gain_shrinks_with_data():
    few, many = (study(t=t, noise=0.01).recommend() for t in (6, 60))
    assert 0 <= many.possible_gain < few.possible_gain
    assert 0 <= many.expected_gain <= many.possible_gain + 1e-9
    assert "better is possible" in str(many)


def test_the_possible_gain_holds_with_its_probability():
    """On functions drawn from the model, the best decision is better by more in at most about 5% of cases."""
    held = []
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    gp = aw.GP("matern", lengthscales=0.3, outputscale=1.0, noise=0.05, mean=0.0)
    grid = torch.linspace(0, 1, 31, dtype=torch.float64)[:, None]
    contexts = torch.linspace(0.05, 0.95, 8, dtype=torch.float64)[:, None]
    prior = gp.resume(aw.Observations.of([[0.5]], [[0.5]], [0.0]), Hyperparameters((0.3, 0.3), 1.0, 1e6, 0.0))
    model = aw.Finite([{"c": float(c)} for c in contexts[:, 0]])
    for seed in range(30):
        path = prior.paths(contexts, 1, torch.Generator().manual_seed(seed), 2048)
        truth = path(grid)[0].mean(-1)
        rng = np.random.default_rng(seed)
        rows, cols = rng.integers(31, size=8), rng.integers(8, size=8)
        made = aw.Study(space, context=model, objective=aw.Expectation(), surrogate=gp, seed=seed)
        values = path(grid)[0][rows, cols].numpy() + 0.05 * rng.standard_normal(8)
        told = zip(rows, cols, values, strict=True)
        made.add([{"x": float(grid[r, 0]), "c": float(contexts[k, 0]), "value": float(v)} for r, k, v in told])
        best = made.recommend()
        at = path(torch.tensor([[best.decision["x"]]], dtype=torch.float64))[0].mean()
        held.append(float(truth.max() - at) <= best.possible_gain + 1e-3)
    assert np.mean(held) >= 0.8


def test_gain_of_an_objective_without_a_value_is_infinite():
    made = study(objective=aw.RobustSatisficing(5.0, aw.TotalVariation(0)))
    best = made.recommend()
    assert best.possible_gain >= 0 or math.isnan(best.possible_gain)
    view = made.outlook()
    assert gain_left(view.belief, view.chosen, view.search).possible >= 0
