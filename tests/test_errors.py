import math

import pytest

from allweather.errors import AllweatherError, InvalidInput, require, require_count, require_number, shown


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
