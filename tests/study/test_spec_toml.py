import dataclasses
import json

import pytest

import allweather as aw
from allweather.serialization import to_toml
from allweather.study import Spec

VARIABLES = """
[variables]
order = { lower = 1, upper = 100, log = true }
pots = { type = "integer", lower = 1, upper = 8 }
wood = { options = ["oak", "pine"] }
demand = { lower = 0, upper = 100, context = true }
"""


def made(text: str) -> Spec:
    return Spec.from_toml(text + VARIABLES, "kiosk.toml")


def test_variables_of_every_kind():
    assert made("").space == aw.Space(
        order=aw.Real(1, 100, log=True),
        pots=aw.Integer(1, 8),
        wood=aw.Choice("oak", "pine"),
        demand=aw.Context(0, 100),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('objective = "expectation"', aw.Expectation()),
        ('objective = { name = "cvar", level = 0.2 }', aw.CVaR(0.2)),
        ('objective = { name = "dro", distance = { name = "kl", radius = 0.1 } }', aw.DRO(aw.KL(0.1))),
        (
            'objective = { name = "dro", distance = { name = "tv", '
            'radius = { name = "power-law", scale = 0.3, exponent = 0.5 } } }',
            aw.DRO(aw.TotalVariation(aw.PowerLaw(0.3, 0.5))),
        ),
        ('acquisition = { name = "ucb", width = 2 }', aw.UCB(2)),
        ('acquisition = "thompson"', aw.Thompson()),
        ('context = { name = "kde", samples = 64 }', aw.KDE(64)),
        (
            'context = { name = "kde", bounds = "clip", bandwidth = "silverman", bootstrap = false }',
            aw.KDE(bounds="clip", bandwidth="silverman", bootstrap=False),
        ),
        ('surrogate = { name = "gp", kernel = "matern", lengthscales = 0.2 }', aw.GP),
        ('context = { name = "finite", points = [{ demand = 3 }, { demand = 4 }], weights = [0.5, 0.5] }', aw.Finite),
        ('context = { name = "known", law = { demand = { name = "gamma", a = 4, scale = 5 } } }', aw.Known),
        (
            'context = { name = "known", law = { demand = { name = "truncated_normal", mean = 30, variance = 9, '
            "lower = 0, upper = 100 } } }",
            aw.Known,
        ),
    ],
)
def test_parts_by_name(text, expected):
    found = getattr(made(text).composition, text.partition(" ")[0])
    assert found == expected if not isinstance(expected, type) else isinstance(found, expected)
    aw.Study.from_spec(made(text))


def test_methods_with_settings():
    parts = made('method = { name = "wdrbo", radius = 0.4, width = 2 }').composition
    assert parts.objective == aw.LipschitzRegularised(0.4)
    assert parts.acquisition == aw.UCB(2)


def test_constraints_candidates_and_control():
    text = """
    direction = "minimize"
    constraints = [{ coefficients = { lime = 2 }, upper = 1.5 }]
    control = { sets = [{ variables = ["lime"], cost = 1 }, { variables = ["lime", "sand"], cost = 2 }], budget = 9 }
    context = { name = "kde", samples = 16 }
    [variables]
    lime = { lower = 0, upper = 1 }
    sand = { lower = 0, upper = 1 }
    """
    spec = Spec.from_toml(text, "mix.toml")
    assert spec.constraints == (aw.LinearConstraint({"lime": 2}, upper=1.5),)
    assert (spec.control.budget, spec.control.leftover) == (9, "stop")
    spending = Spec.from_toml(text.replace("budget = 9", "budget = 9, leftover = 'spend'"), "mix.toml")
    assert Spec.from_toml(spending.to_toml()).control.leftover == "spend"
    assert [each.cost for each in spec.control.sets] == [1, 2]
    assert aw.Study.from_spec(Spec.from_toml(text, "mix.toml")).ask().cost == 1
    fixed = "candidates = [{ lime = 0.5 }]\n[variables]\nlime = { lower = 0, upper = 1 }"
    assert aw.Study.from_spec(Spec.from_toml(fixed)).ask().decision == {"lime": 0.5}


def test_fields_survive_json_and_toml():
    spec = made('name = "kiosk"\nseed = 3\nstorage = "postgresql://secret@host/db"')
    assert "storage" not in spec.fields
    assert spec.storage == "postgresql://secret@host/db"
    assert Spec(json.loads(json.dumps(spec.fields))).fields == spec.fields
    assert Spec.from_toml(to_toml(spec.fields)).fields == spec.fields
    strange = {"name": 'k"i\\osk é', "variables": {"größe": {"lower": -1e-7, "upper": 1e20, "context": False}}}
    assert Spec.from_toml(to_toml(strange)).fields == strange


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('objectve = "expectation"', r"`kiosk.toml` knows no 'objectve'; did you mean 'objective'"),
        ('objective = "expectaton"', r"kiosk.toml: objective.*did you mean 'expectation'"),
        ('objective = "dro"', r"`kiosk.toml: objective` lacks 'distance'"),
        ('objective = { distance = "tv" }', r"`kiosk.toml: objective` lacks 'name'"),
        ('objective = { name = "cvar", level = 0.2, lvl = 1 }', r"knows no 'lvl'; did you mean 'level'"),
        ('objective = { name = "cvar", level = 2 }', r"kiosk.toml: objective: `CVaR\(level=...\)`"),
        ('objective = { name = "cvar", level = "low" }', r"`kiosk.toml: objective.level` must be a number"),
        ('context = { name = "kde", samples = 1.5 }', r"`kiosk.toml: context.samples` must be a whole number"),
        ('context = "forecast"', r"Python"),
        ('objective = { name = "dro", distance = { name = "phi", radius = 1 } }', r"Python"),
        ('acquisition = { name = "ucb", width = { name = "custom" } }', r"Python"),
        ('acquisition = { name = "ucb", width = nan }', r"`kiosk.toml: acquisition.width` must hold finite"),
        ('acquisition = { name = "ucb", width = inf }', r"`kiosk.toml: acquisition.width` must hold finite"),
        ('method = "drbo-kd"', r"did you mean 'drbo-kde'"),
        ('method = { name = "wdrbo", radus = 1 }', r"kiosk.toml: method.*no such setting"),
        ("method = 3", r"`kiosk.toml: method` must be a name"),
        ("seed = 1.5", r"`kiosk.toml: seed` must be a whole number"),
        ("seed = true", r"`kiosk.toml: seed` must be a whole number"),
        ("seed = -1", r"kiosk.toml.*seed"),
        ('direction = "up"', r"direction"),
        ("seed = 1979-05-27", r"`kiosk.toml: seed`"),
        ('name = "a\\u001b[2J"', r"`kiosk.toml: name` must be up to 1000 printable"),
        ('name = "' + "x" * 2000 + '"', r"`kiosk.toml: name` must be up to 1000 printable"),
        ('context = { name = "known", law = { demand = { name = "gama", a = 4 } } }', r"did you mean 'gamma'"),
        ('context = { name = "known", law = { demand = { name = "gamma", a = 4, b = 1 } } }', r"law.demand"),
        ('context = { name = "known", law = { demand = { name = "gamma", a = -4 } } }', r"that gamma allows"),
        ('context = { name = "known", law = { demand = { name = "__class__" } } }', r"knows no '__class__'"),
        ('context = { name = "known", law = { demand = { name = "norm.rvs" } } }', r"knows no 'norm.rvs'"),
        ('context = { name = "known", law = { rain = { name = "norm" } } }', r"law"),
        ("constraints = [{ coefficients = { ordr = 1 }, upper = 3 }]", r"constraints\[0\].*did you mean 'order'"),
        ("constraints = [{ coefficients = { order = 1 } }]", r"constraints\[0\].*at least one bound"),
        ("constraints = 3", r"`kiosk.toml: constraints` must be a list"),
        ('control = { sets = [{ variables = ["order"] }] }', r"control.sets\[0\]` lacks 'cost'"),
        ("candidates = [3]", r"."),
    ],
)
def test_mistakes_are_named_with_the_file_and_the_key(text, said):
    with pytest.raises(aw.InvalidInput, match=said):
        aw.Study.from_spec(made(text))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("x = 3", "`k: variables.x` must be a table"),
        ("x = { lower = 0 }", "`k: variables.x` lacks 'upper'"),
        ("x = { lower = 0, uper = 1 }", "knows no 'uper'; did you mean 'upper'"),
        ("x = { lower = 2, upper = 1 }", "variables.x"),
        ("x = { lower = nan, upper = 1 }", "finite"),
        ('x = { type = "reel", lower = 0, upper = 1 }', "did you mean 'real'"),
        ('x = { type = "integer", lower = 0.5, upper = 1 }', "whole number"),
        ('x = { options = ["a"] }', "two or more"),
        ('x = { lower = 0, upper = 1, context = "yes" }', "true or false"),
        ('" x" = { lower = 0, upper = 1 }', "printable characters"),
        ('"x\\u0007" = { lower = 0, upper = 1 }', "printable characters"),
        ("value = { lower = 0, upper = 1 }", "column of the table"),
        ("x = { lower = 0, upper = 1, context = true }", "variable to decide"),
    ],
)
def test_variables_that_are_none(table, said):
    with pytest.raises(aw.InvalidInput, match=said):
        aw.Study.from_spec(Spec.from_toml(f"[variables]\n{table}", "k"))


@pytest.mark.parametrize(
    "text", ["", "variables = ", "x" * 10_000_000, "a = " + "[" * 5000, "[variables]", "\x00", "variables = 1"]
)
def test_what_is_no_spec(text):
    with pytest.raises(aw.InvalidInput):
        aw.Study.from_spec(Spec.from_toml(text, "k"))


def test_every_part_refuses_words_for_numbers():
    for key, family in (("objective", aw.Objective), ("context", aw.ContextModel), ("acquisition", aw.Acquisition)):
        ours = {name: each for name, each in family._members.items() if each.__module__.startswith("allweather.")}
        for name, member in ours.items():  # other tests register parts of their own
            for field in dataclasses.fields(member):
                table = {"name": name, field.name: {"name": "nothing of the kind"}}
                with pytest.raises(aw.InvalidInput):
                    Spec({key: table, "variables": {"x": {"lower": 0, "upper": 1}}}, "k").decoded()
