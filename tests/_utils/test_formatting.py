import math

import numpy as np
import pytest

from allweather import InvalidInput
from allweather._utils.formatting import MAX_OUTCOMES_PER_TRIAL, brief, clean, number, numbers, plain, row, tame


@pytest.mark.parametrize(("text", "read"), [("3", 3.0), ("-1.5e3", -1500.0), (" 0.25 ", 0.25)])
def test_numbers_are_parsed(text, read):
    assert number(text, "VALUE") == read


@pytest.mark.parametrize("text", ["", "twelve", "nan", "inf", "1_000", "1,5", "9" * 201, "0x10"])
def test_text_that_is_no_number(text):
    with pytest.raises(InvalidInput, match="`VALUE` must be a number"):
        number(text, "VALUE")


def test_several_numbers_or_none():
    assert numbers(["1", "2.5"]) == [1.0, 2.5]
    assert numbers([]) is None
    assert numbers(None) is None
    with pytest.raises(InvalidInput, match=f"at most {MAX_OUTCOMES_PER_TRIAL} outcomes"):
        numbers(["1"] * (MAX_OUTCOMES_PER_TRIAL + 1))


def test_control_characters_are_escaped_and_lines_stay():
    assert clean("a\x1b[2Jb\nc\u202e") == "a\\x1b[2Jb\nc\\u202e"
    assert clean("Büro 7") == "Büro 7"


def test_values_and_rows_for_people():
    assert [brief(each) for each in (0.1234567, 3, "oak", None, True, math.nan)] == [
        "0.123457",
        "3",
        "oak",
        "",
        "True",
        "nan",
    ]
    assert row({"order": 0.5, "wood": "o\x07ak"}) == "order = 0.5, wood = o\\x07ak"
    assert row(None) == ""


def test_plain_data_is_what_json_takes():
    made = plain({"a": np.array([1.0, math.nan]), 3: (np.int64(2), math.inf), "s": "x", "b": True})
    assert made == {"a": [1.0, None], "3": [2, None], "s": "x", "b": True}
    assert type(made["3"][0]) is int


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_cells_that_a_spreadsheet_would_run(first):
    assert tame(f"{first}cmd") == f"'{first}cmd"
    assert tame("a=b") == "a=b"
    assert tame(-3.0) == -3.0
