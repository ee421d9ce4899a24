import numpy as np
import pytest

import allweather as aw

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 10))
ORDERS = [{"order": 0.2}, {"order": 0.5}, {"order": 0.9}]


def study(direction="maximize", objective=None):
    sign = 1 if direction == "maximize" else -1
    own = aw.Study(
        SPACE, context=aw.KDE(32), objective=objective or aw.DRO(aw.TotalVariation(0.3)), direction=direction, seed=2
    )
    rng = np.random.default_rng(0)
    for x in np.linspace(0, 1, 9):
        c = float(rng.uniform(2, 8))
        own.add({"order": float(x), "demand": c, "value": sign * float(c * x - 8 * x**2)})
    return own


@pytest.fixture(scope="module")
def outlook():
    return study().outlook()


def test_contexts_are_a_distribution_in_the_users_units(outlook):
    table = outlook.contexts()
    assert list(table) == ["demand", "believed"]
    assert table["believed"].sum() == pytest.approx(1)
    assert table["demand"].between(0, 10).all()


def test_outcomes_of_every_decision_in_every_context(outlook):
    mean, sd = outlook.outcomes(ORDERS, [{"demand": 2.0}, {"demand": 8.0}])
    assert mean.shape == sd.shape == (3, 2)
    assert (sd > 0).all()
    assert (mean[:, 1] > mean[:, 0]).all()
    alone = outlook.outcomes(ORDERS[1:2], [{"demand": 8.0}])
    np.testing.assert_allclose(alone.mean, mean[1:2, 1:])


def test_the_worst_case_begins_at_the_mean_and_falls(outlook):
    worst = outlook.worst(ORDERS[1], [0.0, 0.2, 1.0, 2.0])
    weights = outlook.contexts()["believed"].to_numpy()
    at_contexts = outlook.at_contexts(ORDERS[1])
    assert worst.value[0].item() == pytest.approx(at_contexts @ weights)
    assert worst.value.diff().max() <= 0
    assert worst.value[-1].item() == pytest.approx(at_contexts.min())
    np.testing.assert_allclose(worst.weights.sum(-1), 1)


def test_objectives_lie_in_their_intervals_and_the_best_decision_is_best(outlook):
    found = outlook.objectives([outlook.decision, *ORDERS])
    assert (found.low <= found.middle).all()
    assert (found.middle <= found.high).all()
    assert found.middle[0] >= found.middle[1:].max() - 0.05
    again = outlook.objectives([outlook.decision])
    assert again.middle[0] == pytest.approx(found.middle[0], rel=1e-9)  # the same draws, however many decisions


def test_minimising_is_the_mirror_image(outlook):
    mirrored = study("minimize").outlook()
    assert mirrored.decision["order"] == pytest.approx(outlook.decision["order"], abs=1e-4)
    ours, theirs = (each.outcomes(ORDERS, [{"demand": 5.0}]) for each in (outlook, mirrored))
    np.testing.assert_allclose(theirs.mean, -ours.mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(theirs.sd, ours.sd, rtol=1e-6)
    rising = mirrored.worst(ORDERS[1], [0.0, 0.5, 1.0])
    assert rising.value.diff().min() >= 0


def test_shifts_are_measured_in_the_objectives_distance():
    assert isinstance(study(objective=aw.DRO(aw.KL(0.1))).outlook().distance, aw.KL)
    mean = study(objective=aw.Expectation()).outlook()
    assert isinstance(mean.distance, aw.TotalVariation)
    assert mean.lighter() is mean


def test_slow_distances_take_fewer_contexts_in_figures():
    own = study(objective=aw.DRO(aw.Wasserstein(0.1)))
    whole = own.outlook()
    assert len(whole.lighter().reference.points) <= len(whole.reference.points)


def test_what_is_not_reached_is_said():
    own = study(objective=aw.RobustSatisficing(1e6, aw.TotalVariation(0.1)))
    best = own.recommend()
    assert "target is not reached" in str(best)
