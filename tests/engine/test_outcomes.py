"""Studies of several outcomes, from asking to the recommendation."""

import pytest

import allweather as aw
from allweather.engine.feasible import CONFIDENCE
from allweather.storage.database import Database
from allweather.storage.export import import_lines
from allweather.study import Spec

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
LAW = aw.Finite([[0.1], [0.3], [0.5], [0.7], [0.9]])
WANTED = {"gain": aw.Maximize(), "purity": aw.AtLeast(0.5, probability=0.7)}


def outcomes(x, c):
    """Larger x gains more and is less pure: purity reaches 0.5 in four contexts of five for x up to 0.54."""
    return {"gain": x + 0.1 * c, "purity": 1 - x + 0.2 * (c - 0.5)}


def rows(xs=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), cs=(0.1, 0.5, 0.9)):
    return [{"x": x, "c": c, **outcomes(x, c)} for x in xs for c in cs]


def study(wanted=WANTED, **options):
    model = aw.GP(lengthscales=0.7, noise=1e-5)
    return aw.Study(SPACE, outcomes=wanted, context=LAW, surrogate=model, initial=3, **options)


@pytest.fixture(scope="module")
def known():
    made = study()
    made.add(rows())
    return made


def test_the_recommendation_keeps_the_limit(known):
    best = known.recommend(radii=[0.0], tolerance=0.2)
    assert 0.4 < best.decision["x"] <= 0.545
    assert best.ranges["x"][1] <= 0.56
    assert best.feasible >= CONFIDENCE
    purity = best.outcomes.set_index("outcome").loc["purity"]
    assert purity["probability"] >= CONFIDENCE
    assert purity["margin"] >= -1e-6
    assert "purity at least 0.5 with probability 0.7" in str(best)
    assert 0 <= best.possible_gain < 0.2
    assert "no decision that keeps all limits has an objective that is better by more than" in str(best)
    again = aw.Recommendation.from_dict(best.to_dict())
    assert again.outcomes["margin"][1] == pytest.approx(purity["margin"])


class Gutsy(aw.Acquisition):
    """A user's own: the mean plus twice the deviation at the likeliest context, in units of its own."""

    def build(self, belief):
        place = belief.reference.weights.argmax()

        def score(decisions):
            mean, sd = belief.field(decisions)
            return 100 * (mean + 2 * sd)[:, place]

        return score


ACQUISITIONS = [
    aw.ObjectiveUCB(),
    aw.UCB(),
    aw.Thompson(),
    aw.ExpectedImprovement(),
    aw.KnowledgeGradient(),
    aw.Random(),
    Gutsy(),
]


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=lambda each: type(each).__name__)
def test_every_acquisition_asks_within_what_may_be_feasible(acquisition):
    made = study(acquisition=acquisition)
    made.add(rows())
    trial = made.ask()
    assert set(trial.results) == {"gain", "purity"}
    assert trial.decision["x"] < 0.7 or isinstance(acquisition, aw.Random)


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("cautious", [None, 0.6])
def test_every_acquisition_weighs_several_objectives_under_limits(acquisition, cautious):
    wanted = {"gain": aw.Maximize(), "cost": aw.Minimize(), "purity": WANTED["purity"]}
    made = study(wanted, acquisition=acquisition, cautious=cautious)
    made.add([{**row, "cost": row["x"] ** 2} for row in rows()])
    trial = made.ask()
    assert trial.decision["x"] < 0.7 or isinstance(acquisition, aw.Random)
    assert len(made.front()) > 1


def test_a_target_goes_with_limits():
    made = study({"gain": aw.Maximize(aw.RobustSatisficing(0.2, aw.TotalVariation(0.1))), "purity": WANTED["purity"]})
    made.add(rows())
    assert made.ask().decision["x"] < 0.7
    assert 0.1 < made.recommend(radii=[0.0]).decision["x"] < 0.6


def test_what_does_not_go_with_outcomes_is_refused_by_name():
    for wrong, match in [
        ({"acquisition": aw.MARS()}, "acquisition"),
        ({"objective": aw.CVaR(0.1)}, "objective"),
        ({"direction": "minimize"}, "direction"),
        ({"cautious": 1.5}, "cautious"),
        ({"wanted": {"purity": aw.AtLeast(0.5)}}, "maximize or minimize"),
        ({"wanted": {"x": aw.Maximize()}}, "variable"),
        ({"wanted": {"gain": aw.Expectation()}}, "gain"),
    ]:
        with pytest.raises(aw.InvalidInput, match=match):
            study(**wrong)
    with pytest.raises(aw.InvalidInput, match="cautious"):
        aw.Study(SPACE, cautious=0.9)


def test_nothing_feasible_is_said_and_the_closest_given():
    made = study({"gain": aw.Maximize(), "purity": aw.AtLeast(2.0)})
    made.add(rows(cs=(0.1, 0.9)))
    assert made.ask().decision["x"] < 0.2
    best = made.recommend(radii=[0.0])
    assert best.feasible < CONFIDENCE
    assert "no decision is believed to keep all limits" in best.warning
    assert best.decision["x"] < 0.1


def test_what_the_law_leaves_open_is_allowed_for_and_no_more():
    """With few contexts the law is uncertain, and the function is not: a decision near the limit is still found."""
    space, wanted = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1)), {"gain": aw.Maximize(), "over": aw.AtMost(0.0)}
    made = aw.Study(space, outcomes=wanted, context=aw.Empirical(), surrogate=aw.GP(lengthscales=2.0, noise=1e-6))
    told = zip((0.1, 0.3, 0.5, 0.5, 0.6, 0.7, 0.9), (0.2, 0.5, 0.8, 0.4, 0.6, 0.3, 0.7), strict=True)
    made.add([{"x": x, "c": c, "gain": x, "over": x + 0.3 * c - 0.7} for x, c in told])
    best = made.recommend(radii=[0.0])
    assert 0.45 < best.decision["x"] < 0.55  # 0.55 by the mean of the contexts seen
    assert best.feasible >= CONFIDENCE


def test_a_simulator_runs_the_context_that_says_most():
    """Purity varies with the context far more than gain: its limit decides where to look."""
    made = study(simulator=aw.LargestDeviation())
    first = made.ask()
    assert first.context["c"] in (0.1, 0.3, 0.5, 0.7, 0.9)
    made.tell(first, outcomes(first.decision["x"], first.context["c"]))
    made.add(rows(cs=(0.1, 0.3, 0.5)))
    trial = made.ask()
    assert trial.context["c"] in (0.7, 0.9)  # nothing is known there
    made.tell(trial, outcomes(trial.decision["x"], trial.context["c"]))
    assert made.recommend(radii=[0.0]).decision["x"] < 0.56


def test_an_upper_limit_mirrors_a_lower_one():
    mirrored = study({"gain": aw.Minimize(), "purity": aw.AtMost(-0.5, probability=0.7)})
    mirrored.add([{**row, "gain": -row["gain"], "purity": -row["purity"]} for row in rows()])
    best = mirrored.recommend(radii=[0.0])
    assert 0.4 < best.decision["x"] <= 0.545
    assert best.value < 0
    assert best.outcomes["margin"][1] > -1e-6


def test_a_shift_of_the_contexts_leaves_less():
    limit = aw.AtLeast(0.5, probability=0.7, distance=aw.TotalVariation(0.3))
    shifted = study({"gain": aw.Maximize(), "purity": limit})
    shifted.add(rows())
    best = shifted.recommend(radii=[0.0])
    assert best.decision["x"] < 0.51  # five contexts of five are needed
    assert best.outcomes["value"][1] >= 0.7


def test_cautious_decisions_are_feasible_and_need_a_beginning():
    with pytest.raises(aw.InvalidInput, match=r"cautious.*study\.add"):
        study(cautious=0.95).ask()
    careful = study(cautious=0.95)
    careful.add(rows(xs=(0.0, 0.1, 0.2)))
    trial = careful.ask()
    assert trial.decision["x"] <= 0.54


def test_what_is_left_open_is_chosen_for_what_is_wanted():
    def chosen(outcomes=WANTED, **options):
        return aw.Study(SPACE, outcomes=outcomes, context=LAW, **options)._engine.sides[0].main.acquisition

    last = {"goal": "recommendation"}
    assert chosen() == chosen(cautious=0.9) == aw.ObjectiveUCB(1.0)
    assert chosen(**last) == aw.ExpectedImprovement()
    assert chosen(**last, cautious=0.9) == chosen({"gain": aw.Maximize()}, **last) == aw.ObjectiveUCB(1.0)
    assert chosen({"gain": aw.Maximize()}) == aw.OnlineKnowledgeGradient()
    assert chosen(None) == chosen(None, surrogate=aw.GP()) == aw.OnlineKnowledgeGradient()
    assert chosen(None, objective=aw.Expectation()) == aw.OnlineKnowledgeGradient()
    assert chosen(None, objective=aw.CVaR(0.3)) == chosen({"gain": aw.Maximize(aw.CVaR(0.3))}) == aw.ObjectiveUCB(1.0)
    assert chosen({**WANTED, "gain": aw.Maximize(aw.DRO(aw.MMD(0.1)))}, **last) == aw.ObjectiveUCB(1.0)
    assert chosen(**last, acquisition=aw.Thompson()) == aw.Thompson()
    assert chosen(simulator=True) == aw.ObjectiveUCB(2.0)


def test_outcomes_come_one_by_one_and_fail_alone():
    made = study()
    trial = made.tell(made.ask(), {"gain": 1.0}, sd={"gain": 0.1}, context={"c": 0.5})
    assert (trial.state, trial.results["gain"].sds) == ("pending", (0.1,))
    assert made.tell(trial, {"purity": [0.5, 0.6]}).state == "complete"
    with pytest.raises(aw.InvalidInput, match="gain"):
        made.tell(trial, {"gain": 2.0})
    alone = made.tell(made.ask(), {"gain": 1.0}, failed="purity", context={"c": 0.5})
    assert alone.state == "complete"
    assert made.tell(made.ask(), failed=True).state == "failed"
    assert made.correct(alone, {"purity": 0.7}).results["purity"].values == (0.7,)
    table = made.trials()
    assert list(table.columns) == ["state", "x", "c", "gain", "gain sd", "purity"]
    assert table["purity"][:2].tolist() == [0.55, 0.7]
    made.withdraw(alone)
    with pytest.raises(aw.InvalidInput, match="by name"):
        made.tell(made.ask(), 3.0)
    with pytest.raises(aw.InvalidInput, match="strange"):
        made.tell(2, {"strange": 3.0})


def test_a_journal_keeps_them_and_goes_on_with_the_same_decision(tmp_path):
    place = f"sqlite:///{tmp_path}/a.db"
    first = study(storage=place, name="pure")
    first.add(rows(cs=(0.1, 0.9)))
    first.tell(first.ask(), {"gain": 1.0}, context={"c": 0.5})
    import_lines(Database(place), first.export(), "copy")
    again = aw.Study.load(place, "copy")
    assert again.trials().equals(first.trials())
    assert again.ask().decision == first.ask().decision
    assert study_of(first).trials().equals(first.trials())
    with pytest.raises(aw.InvalidInput, match="outcomes"):
        aw.Study(SPACE, storage=place, name="pure", context=LAW)
    aw.Study(SPACE, storage=place, name="plain", context=LAW)
    with pytest.raises(aw.InvalidInput, match="outcomes"):
        study(storage=place, name="plain")


def study_of(other):
    """The same study in memory, with the same trials."""
    made = study()
    made.restore(other.history.trials)
    return made


def test_a_spec_describes_them():
    text = """
    [variables]
    x = { lower = 0, upper = 1 }
    c = { lower = 0, upper = 1, context = true }
    [outcomes]
    gain = "maximize"
    purity = { name = "at-least", threshold = 0.5, probability = 0.9, distance = { name = "tv", radius = 0.1 } }
    waste = { name = "at-most", threshold = 3, objective = { name = "cvar", level = 0.2 } }
    """
    made = aw.Study.from_spec(Spec.from_toml(text))
    limit = aw.AtLeast(0.5, probability=0.9, distance=aw.TotalVariation(0.1))
    assert made._engine.outcomes == {"gain": aw.Maximize(), "purity": limit, "waste": aw.AtMost(3, aw.CVaR(0.2))}
    assert aw.Study.from_spec(Spec(made.spec.to_dict())).spec == made.spec


def test_the_figure_of_limits_under_shift(known):
    picture = aw.plots.limits(known)
    (panel,) = picture.panels
    curve, needed = panel.marks
    assert panel.title == "purity at least 0.5 with probability 0.7"
    assert needed.at == 0.7
    assert curve.y[0] >= 0.7 > curve.y[-1]
    assert (curve.y[1:] <= curve.y[:-1] + 1e-9).all()
    assert "kept up to a shift of about" in picture.says
    shifted = study(
        {
            "gain": aw.Maximize(),
            "purity": aw.AtLeast(0.5, aw.CVaR(0.4)),
            "a": aw.AtMost(9, probability=0.5, distance=aw.KL(0.1)),
        }
    )
    shifted.add([{**row, "a": row["x"]} for row in rows(cs=(0.1, 0.9))])
    mean, chance = aw.plots.limits(shifted).panels
    assert mean.marks[0].name == "worst-case mean"
    assert chance.marks[-1].name == "radius 0.1"
    with pytest.raises(aw.InvalidInput, match=r"plots.limits\(study=...\)` needs a study with limits"):
        aw.plots.limits(plain())


def plain():
    made = aw.Study(SPACE)
    made.add([{"x": 0.5, "c": 0.5, "value": 1.0}])
    return made


def test_views_of_each_outcome(known):
    mean, _ = known.outlook(outcome="purity").outcomes([{"x": 0.2}], [{"c": 0.5}])
    assert mean[0, 0] == pytest.approx(0.8, abs=0.1)
    assert known.check("purity").explained > 0.5
    with pytest.raises(aw.InvalidInput, match="gain"):
        known.outlook(outcome="taste")
