import pytest

import allweather as aw
from allweather.engine.policy import policy_contexts
from allweather.engine.recommendation import Recommendation

SPACE = aw.Space(
    order=aw.Real(0, 1, unit="kg"),
    wood=aw.Choice("oak", "ash"),
    demand=aw.Context(0, 1),
    lot=aw.Context(aw.Choice("A", "B")),
)
ROWS = [
    {
        "order": o / 4,
        "wood": wood,
        "demand": d,
        "lot": lot,
        "value": -((o / 4 - d) ** 2) - 0.01 * (wood == "ash") - 0.2 * (lot == "B") * (o / 4),
    }
    for o in range(5)
    for d in (0.25, 0.75)
    for wood, lot in (("oak", "A"), ("ash", "B"))
]


@pytest.fixture(scope="module")
def study():
    made = aw.Study(
        SPACE, seed=3, context=aw.Empirical(), surrogate=aw.GP(lengthscales=0.5, noise=0.01, interval_draws=0)
    )
    made.add(ROWS)
    return made


def test_the_best_decision_for_each_context(study):
    policy = study.policy([{"demand": 0.25, "lot": "A"}, {"demand": 0.75, "lot": "A"}])
    assert list(policy.table.columns) == ["demand", "lot", "order", "wood", "value", "low", "high"]
    first, second = policy.table["order"]
    assert first < 0.5 < second
    assert "order (kg)" in str(policy)
    assert policy.to_dict()["rows"][0]["demand"] == 0.25
    picture = aw.plots.policy(study, [{"lot": "A"}])
    assert [panel.y for panel in picture.panels] == ["order (kg)", "wood"]


def test_contexts_of_a_policy():
    assert len(policy_contexts(SPACE.contexts, "demand")) == 7
    assert policy_contexts(SPACE.contexts, "lot") == [{"lot": "A"}, {"lot": "B"}]
    for wrong in (None, "rain", [], [3], 7):
        with pytest.raises(aw.InvalidInput, match=r"Study\.policy\(contexts"):
            policy_contexts(SPACE.contexts, wrong)


def test_how_far_one_may_depart_from_the_best(study):
    near, far = (study.recommend(tolerance=tolerance) for tolerance in (0.005, 0.05))
    for best in (near, far):
        low, high = best.ranges["order"]
        assert low <= best.decision["order"] <= high
    assert far.ranges["order"][1] - far.ranges["order"][0] > near.ranges["order"][1] - near.ranges["order"][0]
    assert "oak" in far.ranges["wood"]
    assert "within 0.05 of it, changing one at a time: order" in str(far)
    assert Recommendation.from_dict(far.to_dict()).tolerance == 0.05
    assert "tolerance" not in study.recommend().to_dict()
    with pytest.raises(aw.InvalidInput, match="tolerance"):
        study.recommend(tolerance=0)
