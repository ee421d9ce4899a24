"""A study that was made in Python goes on without the code that made it, or says that it cannot."""

import dataclasses
import itertools
import math

import pandas as pd
import pytest
import scipy.stats
from tests.methods.test_every_composition import ACQUISITIONS, CONTEXTS, DISTANCES, SPACE, WITH_DISTANCE, WITHOUT

import allweather as aw
from allweather.methods import methods
from allweather.methods.defaults import DEFAULTS
from allweather.serialization import decode_part, encode_part
from allweather.serialization.fields import VERSION
from allweather.serialization.parts import decode_setting, encode_settings
from allweather.storage import Storage
from allweather.study import Spec, StudyLog
from allweather.study.spec import check_start, resolve_method

CODE = {"forecast", "kl", "phi"}
"""Choices above that hold a function."""


def kept(url, name="study"):
    return StudyLog.open(url, name)


def parts_of(study):
    return repr(study._engine.sides[0].main)


def fed(study, trials=6):
    for number in range(trials):
        trial = study.ask()
        study.tell(
            trial, -abs(trial.decision["dose"] - 4) + 0.1 * number, context={"heat": (-1) ** number * 0.07 * number}
        )
    return study


OBJECTIVES = [*itertools.product(WITH_DISTANCE, DISTANCES), *((name, None) for name in WITHOUT)]


@pytest.mark.parametrize(("objective", "distance"), OBJECTIVES)
def test_objectives_and_distances_are_written_and_read(objective, distance, tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    wanted = WITHOUT[objective]() if distance is None else WITH_DISTANCE[objective](DISTANCES[distance]())
    study = aw.Study(SPACE, objective=wanted, storage=url)
    if distance in CODE:
        assert kept(url).spec.code
    else:
        assert parts_of(aw.Study.load(url)) == parts_of(study)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_contexts_and_acquisitions_are_written_and_read(context, acquisition, tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    chosen = {"context": CONTEXTS[context](), "acquisition": ACQUISITIONS[acquisition]()}
    study = fed(aw.Study(SPACE, **chosen, surrogate=aw.GP("matern", noise=0.1), seed=5, storage=url))
    if context in CODE:
        assert kept(url).spec.code
        with pytest.raises(aw.InvalidInput, match="made by a program"):
            aw.Study.load(url)
        return
    again = aw.Study.load(url)
    assert again.recommend().decision == study.recommend().decision
    expected = fed(aw.Study(SPACE, **chosen, surrogate=aw.GP("matern", noise=0.1), seed=5)).ask().decision
    assert again.ask().decision == expected


@pytest.mark.parametrize("name", [name for name in methods() if aw.method(name).rule is None])
def test_published_methods_are_written_and_read(name, tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    several = {"gain": aw.Maximize(), "waste": aw.Minimize()} if name == "mars" else None
    study = aw.Study(SPACE, method=name, outcomes=several, storage=url)
    assert parts_of(aw.Study.load(url)) == parts_of(study)


def test_everything_else_is_written_and_read(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    space = aw.Space(
        size=aw.Real(1, 100, log=True),
        width=aw.Real(0, 80),
        wood=aw.Choice("oak", 7, True),
        pots=aw.Integer(1, 4),
        heat=aw.Context(0, 1),
    )
    limit = aw.LinearConstraint({"width": 1.0, "pots": 2.0}, upper=90)
    rows = pd.DataFrame({"size": [2.0, 5.0], "width": [3.0, 4.0], "wood": ["oak", 7], "pots": [1, 2]})
    given = {"direction": "minimize", "initial": 3, "seed": 11, "constraints": limit, "candidates": rows}
    study = aw.Study(space, **given, storage=url)
    again = aw.Study.load(url)
    assert (again.space, again.direction, again._engine.initial) == (study.space, "minimize", 3)
    assert again._engine.sides[0].search.constraints == (limit,)
    assert again._engine.sides[0].search.candidates.tolist() == study._engine.sides[0].search.candidates.tolist()


def test_control_sets_are_written_and_read(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    laws = aw.Known({"ph": scipy.stats.norm(6, scale=0.5), "light": scipy.stats.beta(2, 3)})
    control = aw.Control([aw.ControlSet(("ph",), 1), aw.ControlSet(("ph", "light"), 2.5)], budget=30)
    space = aw.Space(ph=aw.Real(4, 9), light=aw.Real(0, 1))
    study = aw.Study(space, context=laws, control=control, storage=url, method="etc-ada")
    again = aw.Study.load(url)
    assert repr(again._engine.rule) == repr(study._engine.rule)
    assert again.ask().decision == aw.Study(space, context=laws, control=control, method="etc-ada").ask().decision


def test_what_only_code_can_say_is_not_written(tmp_path):
    class Own(aw.Objective):
        def __call__(self, values, reference):
            return values.mean(-1)

    cases = {
        "objective": {"objective": Own()},
        "sampler": {"context": aw.Known(lambda n, generator: None)},
        "surrogate": {"surrogate": lambda x, y: None},
    }
    for name, given in cases.items():
        aw.Study(SPACE, **given, storage=f"sqlite:///{tmp_path}/a.db", name=name)
        assert kept(f"sqlite:///{tmp_path}/a.db", name).spec.code


def test_many_candidates_are_not_written(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    rows = [{"dose": 10 * place / 9000, "speed": 1 + place % 5} for place in range(9000)]
    aw.Study(SPACE, candidates=rows, storage=url)
    assert kept(url).spec.code


def test_a_spec_keeps_its_own_words(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"

    spec = Spec.from_toml('name = "kiosk"\n[variables]\norder = { lower = 0, upper = 1 }\n')
    aw.Study.from_spec(spec, url)
    assert kept(url, "kiosk").spec == spec


def test_laws_by_order_with_control_sets():
    space = aw.Space(ph=aw.Real(4, 9), light=aw.Real(0, 1))
    laws = aw.Known([scipy.stats.norm(6, 0.5), scipy.stats.beta(2, 3)])
    study = aw.Study(space, context=laws, control=aw.Control({"ph": 1}, budget=5))
    assert list(study.spec.fields["context"]["law"]) == ["ph", "light"]


def test_a_law_that_nothing_needs_is_no_reason_to_fail():
    assert aw.Study(aw.Space(x=aw.Real(0, 1)), context=aw.Known(scipy.stats.norm())).spec.code


def test_laws_of_ones_own_are_not_written(tmp_path):
    class Uniform(scipy.stats.rv_continuous):
        def _pdf(self, x):
            return 2 * x

    own = Uniform(name="uniform", a=0, b=1)()
    histogram = scipy.stats.rv_histogram(([1, 2], [0.0, 0.5, 1.0]))()
    several = scipy.stats.norm([0.2, 0.4], 0.1)
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    for place, law in enumerate((own, histogram)):
        url = f"sqlite:///{tmp_path}/{place}.db"
        aw.Study(space, context=aw.Known({"c": law}), storage=url)
        assert kept(url).spec.code
        assert kept(url).space == space
    assert aw.Study(space, context=aw.Known({"c": several})).spec.code


@pytest.mark.parametrize("rows", [{"dose": 1.0, "speed": 2}, pd.Series({"dose": 1.0, "speed": 2})])
def test_one_candidate_is_a_list_of_one(rows, tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    aw.Study(SPACE, candidates=rows, storage=url)
    assert aw.Study.load(url).ask().decision == {"dose": 1.0, "speed": 2}


def test_patience_is_kept(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    aw.Study(SPACE, storage=Storage(url, expire=12.5))
    assert kept(url).spec.expire == 12.5
    assert aw.Study.load(url)._writes._expire == 12.5


def test_nothing_and_infinity_have_plain_forms():
    @dataclasses.dataclass(frozen=True)
    class Given:
        limit: float | None = 1.0

    assert encode_settings(Given(None)) == {"limit": "none"}
    assert encode_settings(Given(-math.inf)) == {"limit": "-inf"}
    assert encode_settings(Given()) == {}
    assert decode_setting("limit", "none", "k", float | None) is None
    assert decode_setting("limit", "-inf", "k", float | None) == -math.inf
    far = aw.DRO(aw.Wasserstein(0.1, norm=math.inf))
    assert decode_part("objective", encode_part("objective", far), "k") == far


@pytest.mark.parametrize("simulator", [None, True])
@pytest.mark.parametrize("goal", list(DEFAULTS))
def test_goals_are_written_and_read(goal, simulator):
    study = aw.Study(SPACE, method=aw.Composition(goal=goal), goal=goal, simulator=simulator)
    assert study._engine.sides[0].main.goal == goal
    again = aw.Study.from_spec(Spec(study.spec.to_dict()))
    assert parts_of(again) == parts_of(study)
    assert again._engine.sides[0].main.goal == goal


def test_a_stored_spec_has_a_version_that_must_be_known(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    aw.Study(SPACE, storage=url)
    assert kept(url).journal.spec["version"] == VERSION
    variables = {"x": {"lower": 0, "upper": 1}}
    assert Spec({"variables": variables}).to_dict()["version"] == VERSION
    for version in (0, VERSION + 1):
        with pytest.raises(aw.InvalidInput, match=rf"k: version.*must be {VERSION}, got {version}"):
            Spec({"version": version, "variables": variables}, "k")


def test_what_only_code_can_say_is_named_where_it_stands(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"

    class MyDistance(aw.TotalVariation):
        pass

    objective = aw.DRO(MyDistance(0.2))
    study = aw.Study(SPACE, objective=objective, acquisition=aw.UCB(lambda step: 1.0), storage=url)
    assert study.spec.fields["objective"] == {"name": "dro", "distance": {"code": "MyDistance"}}
    assert study.spec.fields["acquisition"] == {"name": "ucb", "width": {"code": "<lambda>"}}
    assert study.spec.code == ["MyDistance", "<lambda>"]
    stored = kept(url)
    assert stored.spec == study.spec
    assert stored.space == SPACE
    assert "made by a program" in stored.why_not
    for read in (lambda: stored.spec.composition, lambda: stored.spec.decoded()):
        with pytest.raises(aw.InvalidInput, match=r"objective.distance.*'MyDistance' of the program"):
            read()
    again = aw.Study(SPACE, objective=objective, acquisition=aw.UCB(lambda step: 1.0), storage=url)
    assert again.spec.composition.objective is objective
    with pytest.raises(aw.InvalidInput, match=r"distance.*MyDistance, got total-variation"):
        aw.Study(SPACE, objective=aw.DRO(aw.TotalVariation(0.2)), acquisition=aw.UCB(lambda step: 1.0), storage=url)


def test_one_outcome_is_called_value():
    assert Spec.of(SPACE, objective=aw.CVaR(0.2)).outcomes == {"value": aw.Maximize(aw.CVaR(0.2))}
    assert Spec.of(SPACE, direction="minimize").outcomes == {"value": aw.Minimize(None)}
    assert Spec.of(SPACE).outcome_names == ()
    several = {"yield": aw.Maximize(), "purity": aw.AtLeast(0.9)}
    assert Spec.of(SPACE, outcomes=several).outcomes == several
    assert Spec.from_dict(Spec.of(SPACE, outcomes=several).to_dict()).outcomes == several


def test_specs_are_compared_by_what_they_mean():
    short = {"method": "sbo-kde", "goal": "published", "variables": Spec.of(SPACE).fields["variables"]}
    assert Spec(short).diff(Spec.of(SPACE, method="sbo-kde")) == []
    assert Spec(short).diff(Spec.of(SPACE, method="sbo-kde", seed=3))[0].name == "seed"
    plain = {"objective": "expectation", "variables": short["variables"]}
    assert Spec(plain).diff(Spec.of(SPACE, objective=aw.Expectation())) == []
    changed = Spec(plain).changed({"objective": {"name": "cvar", "level": 0.1}, "initial": 4})
    assert (changed.composition.objective, changed.initial) == (aw.CVaR(0.1), 4)
    assert [str(each) for each in Spec(plain).diff(changed)] == [
        "objective: expectation -> cvar(level=0.1)",
        "initial: default -> 4",
    ]


def test_a_spec_is_written_and_read_as_toml():
    spec = Spec.of(SPACE, objective=aw.DRO(aw.KL(0.1)), control=None, initial=4, goal="recommendation")
    assert Spec.from_toml(spec.to_toml()) == spec


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": {"order": (0, 1)}}, r"Study\(space=\.\.\.\)` must be a Space"),
        ({"space": aw.Space(demand=aw.Context(0, 1))}, "have a variable to decide"),
        ({"space": aw.Space(value=aw.Real(0, 1))}, "like a column"),
        ({"direction": "up"}, r"Study\(direction=\.\.\.\)"),
        ({"seed": -1}, r"Study\(seed=\.\.\.\)"),
        ({"seed": 1.5}, r"Study\(seed=\.\.\.\)"),
        ({"initial": 0}, r"Study\(initial=\.\.\.\)"),
        ({"control": {"ph": 1.0}}, "be a Control"),
        ({"constraints": ["x < 1"]}, "be LinearConstraints"),
        ({"cautious": 0.9}, "come with outcomes"),
        ({"outcomes": {"a": aw.Maximize()}, "objective": aw.CVaR(0.1)}, "objective for all"),
        ({"outcomes": {"a": aw.Maximize()}, "direction": "minimize"}, "not both be given"),
        ({"outcomes": {"a": aw.Maximize(None)}}, "have an objective"),
        ({"method": "wdrb"}, "did you mean 'wdrbo'"),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    with pytest.raises(aw.InvalidInput, match=message):
        Spec.of(**{"space": SPACE, **arguments})


def test_errors_name_what_the_user_called():
    with pytest.raises(aw.InvalidInput) as error:
        check_start(None, -1, "AllweatherSampler")
    assert error.value.where == "AllweatherSampler(seed=...)"
    with pytest.raises(aw.InvalidInput) as error:
        resolve_method(7, "AllweatherNode")
    assert error.value.where == "AllweatherNode(method=...)"
