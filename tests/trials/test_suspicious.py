"""What looks wrong is named, and what is merely unusual is not."""

import numpy as np
import pytest

import allweather as aw
from allweather.problems import problem
from allweather.trials.history import History
from allweather.trials.suspicious import find_suspicious
from allweather.trials.text import in_python, in_terminal, suspicion, suspicion_warning
from allweather.trials.trial import Trial

SPACE = aw.Space(x=aw.Real(0, 10), wood=aw.Choice("oak", "ash"), c=aw.Context(0, 1))


def rows(t=40, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(t):
        x, wood, c = float(rng.uniform(0, 10)), ["oak", "ash"][int(rng.integers(2))], float(rng.random())
        value = 20 - 0.3 * (x - 4) ** 2 + 3 * c + 2 * (wood == "oak") + noise * rng.standard_normal()
        found.append({"x": x, "wood": wood, "c": c, "value": value})
    return found


def added(table, **options):
    return aw.Study(SPACE, seed=1).add(table, **options)


@pytest.mark.parametrize("factor", [100, 10, 0.01, -1])
def test_a_value_that_all_others_contradict_is_named(factor):
    table = rows()
    right = table[17]["value"]
    table[17]["value"] *= factor
    (found,) = added(table).suspicious
    assert (found.trial, found.kind, found.value) == (17, "outcome", table[17]["value"])
    assert found.expected == pytest.approx(right, abs=1.5)
    assert found.interval[0] < found.expected < found.interval[1]
    assert ("about" in suspicion(found)) == (factor > 0)


@pytest.mark.parametrize("seed", range(3))
def test_several_wrong_values_do_not_hide_each_other(seed):
    table = rows(60, seed)
    wrong = {5, 22, 41}
    for place in wrong:
        table[place]["value"] *= 100
    assert {each.trial for each in added(table).suspicious} == wrong


@pytest.mark.parametrize("name", ["ackley", "branin", "newsvendor", "goldstein-price", "hartmann6", "three-hump-camel"])
def test_a_function_of_large_range_is_not_suspicious(name):
    """`goldstein-price` spans six orders of magnitude; the profit of a newsvendor has a ridge and no noise."""
    from_it, rng = problem(name), np.random.default_rng(3)
    trials = []
    for number in range(40):
        decision = {
            each: float(v.lower + rng.random() * (v.upper - v.lower)) for each, v in from_it.space.decisions.items()
        }
        context = from_it.draw(rng)
        trials.append(Trial(number, decision, context, (from_it.observe(decision, context, rng),), asked=False))
    assert find_suspicious(History(from_it.space, 1, tuple(trials))) == ()


def test_a_known_large_standard_error_explains_a_distance():
    table = [{**row, "sd": 0.3} for row in rows()]
    table[17] |= {"value": table[17]["value"] * 100, "sd": 2000.0}
    assert added(table).suspicious == ()


@pytest.mark.parametrize("value", [3.0, 0.0])
def test_equal_outcomes_and_few_outcomes_are_not_suspicious(value):
    assert added([{**row, "value": value} for row in rows()]).suspicious == ()
    few = rows(7)
    few[3]["value"] *= 100
    assert added(few).suspicious == ()


def test_a_row_that_was_entered_twice_is_named_and_a_repeated_measurement_is_not():
    table = rows()
    table.insert(20, table[19])
    table.append({**table[3], "value": table[3]["value"] + 0.1})
    (found,) = added(table).suspicious
    assert (found.trial, found.kind, found.other) == (20, "repeated", 19)
    assert suspicion(found) == "trial 20: equal to trial 19 in every value"


def test_contexts_that_disagree_within_an_occasion_are_named():
    table = [{**row, "occasion": f"day {place // 4}"} for place, row in enumerate(rows(12))]
    for place, row in enumerate(table):
        row["c"] = table[4 * (place // 4)]["c"]
    table[6]["c"] = 0.99
    (found,) = added(table).suspicious
    assert (found.trial, found.kind, found.name, found.value, found.occasion) == (6, "context", "c", 0.99, "day 1")
    assert in_python(found).startswith(f"correct it with `study.correct(6, context={{'c': {table[4]['c']!r}}})`")


def test_one_of_several_outcomes_is_named():
    study = aw.Study(SPACE, outcomes={"strength": aw.Maximize(), "price": aw.Minimize()}, seed=1)
    table = [{**row, "strength": row["value"], "price": 2 * row["x"]} for row in rows()]
    table[9]["price"] = 900.0
    (found,) = study.add(table, columns=["x", "wood", "c", "strength", "price"]).suspicious
    assert (found.trial, found.name) == (9, "price")
    assert "`allweather correct 9 price=VALUE --study glue`" in in_terminal(found, " --study glue")


def test_what_is_corrected_or_withdrawn_is_no_longer_named():
    study, table = aw.Study(SPACE, seed=1), rows()
    right = table[17]["value"]
    table[17]["value"] *= 100
    table.insert(20, table[19])
    study.add(table)
    assert [each.trial for each in study.suspicious()] == [17, 20]
    assert suspicion_warning(study.suspicious()).startswith("2 trials look wrong (trial 17: outcome")
    study.correct(17, right)
    study.withdraw(20)
    assert study.suspicious() == ()
    assert suspicion_warning(()) == ""


def test_check_recommendation_and_report_name_it():
    from allweather.plots.report import reasons

    study, table = aw.Study(SPACE, seed=1), rows(24)
    table[17]["value"] *= 100
    study.add(table)
    named = "trial 17: outcome"
    check = study.check()
    assert [each.trial for each in check.suspicious] == [17]
    assert check.to_dict()["suspicious"][0]["text"].startswith(named)
    assert named in str(check)
    assert named in study.recommend().warning
    assert any(named in sentence for sentence in reasons(study).sentences)
