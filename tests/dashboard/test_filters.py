import pytest

import allweather as aw
from allweather.dashboard.filters import ROWS, ObjectiveChoice, Page, TrialFilter, describe_objective, own_choice
from allweather.trials import Trial

TRIALS = [Trial(number, {"order": float(number), "wood": "oak" if number % 2 else "pine"}) for number in range(60)]


def numbers(**query):
    return [trial.number for trial in TrialFilter(**query).apply(TRIALS)]


def test_filters_and_orders():
    assert numbers() == list(range(59, -1, -1))
    assert numbers(variable="order", low=3, high=5) == [5, 4, 3]
    assert numbers(text="OAK")[:2] == [59, 57]
    assert numbers(sort="order")[:2] == [0, 1]
    assert numbers(sort="value") == numbers()  # no trial has one
    assert numbers(state="complete") == []


def test_pages_end_with_the_last_one():
    page = Page.of(TRIALS, TrialFilter(page=99))
    assert (page.number, page.pages, page.total) == (3, 3, 60)
    assert len(Page.of(TRIALS, TrialFilter()).trials) == ROWS


@pytest.mark.parametrize(
    ("choice", "objective"),
    [
        (ObjectiveChoice(), None),
        (ObjectiveChoice(objective="expectation"), aw.Expectation()),
        (ObjectiveChoice(objective="worst-case"), aw.WorstCase()),
        (ObjectiveChoice(objective="dro", distance="kl", radius=0.3), aw.DRO(aw.KL(0.3))),
        (ObjectiveChoice(objective="cvar", level=0.1), aw.CVaR(0.1)),
    ],
)
def test_choices_are_objectives(choice, objective):
    assert repr(choice.part()) == repr(objective)


def test_choices_of_equal_objectives_have_equal_keys():
    assert ObjectiveChoice(objective="cvar", radius=0.3).key == ObjectiveChoice(objective="cvar").key
    assert ObjectiveChoice(objective="dro", radius=0.3).key != ObjectiveChoice(objective="dro").key


def test_specs_without_a_simple_objective():
    assert own_choice({"objective": {"name": "mean-variance", "penalty": 0.5}}) is None
    assert (
        own_choice({"objective": {"name": "dro", "distance": {"name": "mmd", "radius": 1, "lengthscale": 2}}}) is None
    )
    assert describe_objective(None) == "mean outcome (default)"
