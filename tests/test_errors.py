import copy
import math
import pickle

import pytest

from allweather.errors import (
    AllweatherError,
    BudgetSpent,
    Conflict,
    InvalidInput,
    StorageError,
    name_mismatch,
    require,
    require_count,
    require_number,
    shown,
)


def test_a_message_names_class_parameter_requirement_and_value():
    with pytest.raises(InvalidInput, match=r"`KL\(radius=\.\.\.\)` must be at least 0, got -1"):
        require(False, "KL(radius=...)", "be at least 0", -1)


def test_one_base_class_and_a_value_error():
    assert issubclass(InvalidInput, AllweatherError)
    assert issubclass(InvalidInput, ValueError)


@pytest.mark.parametrize("value", [math.nan, math.inf, "3", None, True, -0.5])
def test_numbers_are_finite_and_in_range(value):
    with pytest.raises(InvalidInput, match="at least 0"):
        require_number(value, "X(y=...)", low=0)


@pytest.mark.parametrize("value", [1.5, "1", None, False, -1])
def test_counts_are_whole(value):
    with pytest.raises(InvalidInput, match="whole number"):
        require_count(value, "X(n=...)")


def test_long_values_are_cut_to_one_line():
    assert len(shown(list(range(1000)))) == 120
    assert "\n" not in shown("a\nb" * 10)


def some(**changed):
    fields = {"where": "KL(radius=...)", "requirement": "be at least 0", "received": -1, "remedy": "use 0"}
    return InvalidInput("is negative", **{**fields, **changed})


def test_fields_make_the_text():
    error = some()
    assert (error.where, error.requirement, error.received, error.remedy, error.path) == (
        "KL(radius=...)",
        "be at least 0",
        -1,
        "use 0",
        (),
    )
    assert str(error) == "`KL(radius=...)` is negative; must be at least 0, got -1; use 0"
    assert error.reason == "is negative; must be at least 0, got -1"
    assert str(InvalidInput("all is lost")) == "all is lost"


def test_none_is_a_value_that_was_received():
    assert str(InvalidInput(where="X(y=...)", requirement="be a number", received=None)).endswith("got None")
    assert "got" not in str(InvalidInput(where="X(y=...)", requirement="be a number"))


def test_places_that_lead_to_an_error_come_outermost_first():
    error = some(remedy="").within("row 3").within("kiosk.csv")
    assert error.path == ("kiosk.csv", "row 3")
    assert str(error).startswith("kiosk.csv: row 3: `KL(radius=...)`")
    assert error.received == -1


def test_the_same_error_under_another_name_and_with_a_remedy():
    error = some()
    renamed = error.at("Sampler(radius=...)").suggest("leave it out")
    assert str(renamed) == "`Sampler(radius=...)` is negative; must be at least 0, got -1; leave it out"
    assert str(error).startswith("`KL(radius=...)`")


class Special(InvalidInput):
    """A kind of its own."""


@pytest.mark.parametrize("kind", [InvalidInput, Special])
def test_errors_keep_their_kind_and_fields_when_changed_and_pickled(kind):
    error = kind("is wrong", where="X(y=...)", received=[1, 2]).within("file.toml")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), error.at("X(y=...)")):
        assert type(again) is kind
        assert str(again) == str(error)
        assert (again.path, again.received, again.has_received) == (("file.toml",), [1, 2], True)
    without = pickle.loads(pickle.dumps(kind("is wrong")))
    assert not without.has_received


@pytest.mark.parametrize("kind", [BudgetSpent, Conflict, StorageError])
def test_other_errors_are_no_value_errors(kind):
    assert issubclass(kind, AllweatherError)
    assert not issubclass(kind, ValueError)


def test_a_mismatch_of_many_names_is_short():
    found = name_mismatch(["order"], [f"x{number}" for number in range(50_000)])
    assert len(found) < 1000
    assert found.endswith("'x49', ... (49950 more)")
