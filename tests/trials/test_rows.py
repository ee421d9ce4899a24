import math

import pandas as pd
import pytest

import allweather as aw
from allweather._utils.tables import Line, read_csv
from allweather.trials.rows import RowReader

SPACE = aw.Space(order=aw.Real(0, 1), pots=aw.Integer(1, 5), wood=aw.Choice("oak", "pine"), demand=aw.Context(0, 10))
ROW = {"order": 0.5, "pots": 2, "wood": "oak", "demand": 3.0, "value": 1.5}


def read(row, where="row 4", decimal_comma=False, **options):
    return RowReader(**options).read(Line(where, row, decimal_comma), SPACE)


def test_text_is_parsed_by_its_variable():
    entry = read({name: str(cell) for name, cell in ROW.items()})
    assert entry.decision == {"order": 0.5, "pots": 2, "wood": "oak"}
    assert type(entry.decision["pots"]) is int
    assert (entry.context, entry.values) == ({"demand": 3.0}, (1.5,))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": 2.0}, r"row 4.*order.*\[0, 1\].*got 2.0"),
        ({"order": "much"}, r"row 4.*order.*got 'much'"),
        ({"order": "0,5"}, r"row 4.*'order'.*decimal point"),
        ({"pots": 2.5}, r"row 4.*whole number"),
        ({"wood": "ash"}, r"row 4.*'wood'.*one of"),
        ({"demand": None}, r"row 4.*demand"),
        ({"value": "high"}, r"row 4.*number"),
        ({"value": math.inf}, r"row 4.*finite"),
        ({"value": math.nan}, r"row 4.*'value'.*have an outcome.*blank='failed'.*blank='pending'"),
        ({"value": " "}, r"row 4.*have an outcome"),
        ({"sd": -1}, r"row 4.*'sd'.*at least 0"),
        ({"occasion": 1.5}, r"row 4.*'occasion'.*be a name, a number or a date"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(changes, message):
    with pytest.raises(aw.InvalidInput, match=message):
        read({**ROW, **changes})


def test_a_column_of_another_name_is_offered_as_the_outcome():
    with pytest.raises(aw.InvalidInput) as error:
        read({**{name: cell for name, cell in ROW.items() if name != "value"}, "cost": 3.0})
    assert "`columns={'value': 'cost'}` (option `--column \"value=cost\"`)" in error.value.remedy
    assert "'cost'" in error.value.remedy
    with pytest.raises(aw.InvalidInput) as error:
        read({name: cell for name, cell in ROW.items() if name != "wood"})
    assert "must be exactly order, pots, wood, demand, value" in error.value.remedy
    assert "rename the" not in error.value.remedy
    assert "`columns=`" in error.value.remedy


def test_standard_errors_and_occasions_are_columns_too():
    entry = read({**ROW, "sd": "0.1", "occasion": pd.Timestamp("2026-05-04")})
    assert (entry.sds, entry.occasion) == ((0.1,), "2026-05-04 00:00:00")
    assert read({**ROW, "sd": math.nan, "occasion": None})[3:] == ((), None, False, None)
    assert read(ROW, occasion="Monday").occasion == "Monday"


def test_columns_are_chosen_and_renamed():
    row = {**{name: cell for name, cell in ROW.items() if name != "value"}, "yield %": 1.5, "date": "4.5.", "by": "A"}
    renamed = {"value": "yield %", "occasion": "date"}
    assert read(row, columns=renamed) == (*read(ROW)[:4], "4.5.", False, None)
    with pytest.raises(aw.InvalidInput, match="has unknown 'by'"):
        read({**ROW, "by": "A"})
    assert read({**ROW, "by": "A"}, columns=list(ROW)) == read(ROW)
    with pytest.raises(aw.InvalidInput, match=r"columns of the table, .*date.*got 'yeild'"):
        read(row, columns={"value": "yeild"})
    with pytest.raises(aw.InvalidInput, match="name columns among order"):
        read(row, columns={"profit": "yield %"})


def test_headers_may_differ_in_case_and_have_units():
    row = {"Order [kg]": 0.5, "POTS": 2, "wood ": "oak", "demand (l)": 3.0, "Value": 1.5}
    assert read(row) == read(ROW)


def test_decimal_commas_are_numbers_where_cells_are_not_separated_by_commas():
    (line,) = read_csv("order;pots;wood;demand;value\n0,5;2;oak;3;1,5\n")
    assert RowReader().read(line, SPACE) == read(ROW)
    (line,) = read_csv("order;pots;wood;demand;value\n0,5;2;oak;3;1.234,5\n")
    assert RowReader().read(line, SPACE).values == (1234.5,)


def test_rows_without_outcome_are_failed_or_pending_by_choice():
    assert read({**ROW, "value": ""}, blank="failed")[2:] == ((), (), None, True, None)
    assert read({**ROW, "value": "", "demand": ""}, blank="pending")[1:] == (None, (), (), None, False, None)
    with pytest.raises(aw.InvalidInput, match="order"):
        read({**ROW, "order": ""}, blank="pending")
    with pytest.raises(aw.InvalidInput, match="refuse, failed, pending"):
        read(ROW, blank="skip")
