"""Control sets with limits on outcomes."""

import numpy as np
import pytest

import allweather as aw

SPACE = aw.Space(heat=aw.Real(0, 1), feed=aw.Real(0, 1))
WANTED = {"gain": aw.Maximize(), "purity": aw.AtLeast(0.5, probability=0.8)}
CONTROL = aw.Control({"heat": 1.0, ("heat", "feed"): 3.0}, rule=aw.BestValue())
MODEL = aw.GP("rbf", lengthscales=0.8, noise=1e-4)


def outcomes(heat, feed):
    """A poor feed spoils purity, unless it is controlled."""
    return {"gain": heat + 0.1 * feed, "purity": 1 - heat + 0.5 * (feed - 0.5)}


def study(wanted=WANTED, control=CONTROL, **words):
    law = aw.Known(lambda n, rng: rng.random((n, 2)), samples=64)
    words = {"context": law, "surrogate": MODEL, "initial": 2, **words}
    return aw.Study(SPACE, outcomes=wanted, control=control, **words)


def rows():
    places = [(h, f) for h in (0.0, 0.25, 0.5, 0.75, 1.0) for f in (0.1, 0.5, 0.9)]
    return [{"heat": h, "feed": f, **outcomes(h, f)} for h, f in places]


@pytest.fixture(scope="module")
def known():
    made = study()
    made.add(rows())
    return made


def test_the_best_set_keeps_the_limit(known):
    best = known.recommend(radii=[0.0])
    assert set(best.control) == {"heat", "feed"}  # a good feed leaves room for heat
    assert best.decision["heat"] + 0.5 * (0.5 - best.decision["feed"]) <= 0.5 + 0.02
    assert best.feasible >= 0.9
    alone, both = best.frontier.to_dict("records")
    assert (alone["control"], both["control"]) == ("heat", "heat, feed")
    assert 0.2 < alone["heat"] < 0.38  # 1 - heat - 0.15 reaches 0.5 for four feeds of five
    assert both["value"] > alone["value"] + 0.2
    assert list(best.frontier["frontier"]) == [True, True]
    assert aw.plots.control_sets(known).panels


def test_every_trial_says_its_set_and_what_it_costs(known):
    made = study()
    source = np.random.default_rng(0)
    for _ in range(4):
        trial = made.ask()
        context = {name: float(source.random()) for name in trial.left}
        told = made.tell(trial, outcomes(**{**trial.decision, **context}), context=context)
        assert told.state == "complete"
        assert trial.cost == (1.0 if trial.left else 3.0)
    assert set(told.results) == {"gain", "purity"}
    assert made.check("purity") is not None
    again = study()
    again.restore(made.history.trials)
    assert again.ask().decision == made.ask().decision


def test_nothing_is_paid_for_where_a_limit_is_out_of_reach():
    made = study({"gain": aw.Maximize(), "purity": aw.AtLeast(2.0)})
    made.add(rows())
    assert made.ask().decision["heat"] < 0.2
    best = made.recommend(radii=[0.0])
    assert "no decision is believed to keep all limits" in best.warning
    assert not best.frontier["frontier"].any()


@pytest.mark.parametrize(
    "words",
    [
        {"wanted": {**WANTED, "waste": aw.Minimize()}},
        {"cautious": 0.6},
        {"control": aw.Control({"heat": 1.0, ("heat", "feed"): 3.0}, rule=aw.InformationPerCost())},
        {"acquisition": aw.KnowledgeGradient()},
        {"acquisition": aw.ExpectedImprovement()},
        {"simulator": True},
    ],
    ids=lambda words: next(iter(words)),
)
def test_control_sets_and_limits_go_with_everything_else(words):
    made = study(**words)
    made.add([{**row, **({"waste": row["heat"]} if "waste" in words.get("wanted", {}) else {})} for row in rows()])
    trial = made.ask()
    assert set(trial.decision) | set(trial.left) == {"heat", "feed"}
    assert (trial.context is not None) == (bool(words.get("simulator")) and bool(trial.left))
    best = made.recommend()
    assert set(best.decision) == set(best.control)
    if "wanted" in words:
        assert set(made.recommend(weights={"gain": 1, "waste": 3}).outcomes["outcome"]) == {"gain", "purity", "waste"}
        assert {"control", "cost", "gain", "waste"} <= set(made.front().columns)


def test_weights_decide_between_sets_too():
    wanted = {"gain": aw.Maximize(), "fuel": aw.Minimize()}
    space = aw.Space(a=aw.Real(0, 1), b=aw.Real(0, 1))
    control = aw.Control({"b": 1.0, ("a", "b"): 2.0})
    made = aw.Study(space, outcomes=wanted, control=control, context=aw.Uniform(16), surrogate=MODEL, initial=2)
    grid = [(x / 4, y / 4) for x in range(5) for y in range(5)]
    made.add([{"a": a, "b": b, "gain": a + 0.1 * b, "fuel": a} for a, b in grid])
    assert set(made.recommend(weights={"gain": 1, "fuel": 0}).control) == {"a", "b"}
    by_gain = made.recommend(reference_point={"gain": 1.0, "fuel": 2.0})
    assert set(by_gain.control) == {"a", "b"}
    assert by_gain.decision["a"] > 0.7
