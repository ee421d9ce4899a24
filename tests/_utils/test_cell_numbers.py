import pytest

from allweather._utils.cell_numbers import NumberMarks


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.234,5", 1234.5),
        ("-1.234.567,25", -1234567.25),
        ("1.234.567", 1234567.0),
        ("1,234.5", 1234.5),
        ("12 500,5", 12500.5),
        ("12\u00a0500", 12500.0),
        ("12\u202f500", 12500.0),
        ("1'234.5", 1234.5),
        ("\u22125", -5.0),
        ("0,125", 0.125),
        ("1e3", 1000.0),
        ("1.23.4", None),
        ("12,34,567.0", None),
        ("1_000", None),
    ],
)
def test_marks_between_thousands(text, number):
    assert NumberMarks().read(text, True, "line 2") == number


def test_a_point_in_doubt_is_settled_by_another_cell():
    marks = NumberMarks()
    assert marks.read("1.234", True, "line 2") == 1.234
    assert marks.again is None
    assert marks.read("2.345,5", True, "line 3") == 2345.5
    again = marks.again
    assert again is not None
    assert [again.read(text, True, "") for text in ("1.234", "2.345,5", "0.125")] == [1234.0, 2345.5, 0.125]
    assert again.again is None
    assert "is 0.125 a decimal number" in str(again.mixture("days.csv"))


@pytest.mark.parametrize(
    ("decimal", "numbers"),
    [(",", [1234.0, 1234567.0, 0.5, 1234.5, None, 12500.5]), (".", [1.234, None, None, None, 0.75, None])],
)
def test_a_decimal_mark_that_is_stated_leaves_no_doubt(decimal, numbers):
    marks = NumberMarks(decimal)
    texts = ["1.234", "1.234.567", "0,5", "1.234,5", "0.75", "12 500,5"]
    assert [marks.read(text, True, "") for text in texts] == numbers
    assert marks.again is None
    assert marks.mixture("days.csv") is None


def test_a_mixture_is_told_by_its_first_cells():
    marks = NumberMarks()
    for place, text in enumerate(["0,5", "1,5", "2,5", "3,5", "0.75"]):
        marks.read(text, True, f"line {place}")
    assert "in 0,5 (line 0), 1,5 (line 1), 2,5 (line 2) and 1 more, with a point in 0.75 (line 4)" in str(
        marks.mixture("days.csv")
    )
