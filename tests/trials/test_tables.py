import pandas as pd
import pytest

import allweather as aw
from allweather.trials import read_row, rows_of

SPACE = aw.Space(order=aw.Real(0, 1), pots=aw.Integer(1, 5), wood=aw.Choice("oak", "pine"), demand=aw.Context(0, 10))
ROW = {"order": 0.5, "pots": 2, "wood": "oak", "demand": 3.0, "value": 1.5}


def test_the_same_rows_from_every_kind_of_table(tmp_path):
    frame = pd.DataFrame([ROW, {**ROW, "order": 0.25}])
    frame.to_csv(tmp_path / "table.csv", index=False)
    rows = [read_row(row, SPACE, 0) for row in rows_of(frame)]
    for table in (str(tmp_path / "table.csv"), tmp_path / "table.csv", frame.to_dict("records"), tuple(rows_of(frame))):
        assert [read_row(row, SPACE, 0) for row in rows_of(table)] == rows
    assert rows_of(ROW) == [ROW]
    assert rows_of(frame.iloc[0]) == [ROW]


def test_text_is_parsed_by_its_variable():
    decision, context, values = read_row({name: str(cell) for name, cell in ROW.items()}, SPACE, 0)
    assert decision == {"order": 0.5, "pots": 2, "wood": "oak"}
    assert type(decision["pots"]) is int
    assert (context, values) == ({"demand": 3.0}, (1.5,))


def test_a_file_with_a_byte_order_mark(tmp_path):
    (tmp_path / "excel.csv").write_text("order,value\n0.5,1\n", encoding="utf-8-sig")
    assert rows_of(tmp_path / "excel.csv") == [{"order": "0.5", "value": "1"}]


def test_tables_of_trials_can_be_read_back():
    study = aw.Study(aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), seed=1)
    study.tell(study.ask(), 1.0, context={"demand": 0.5})
    study.ask()
    table = study.trials()
    other = aw.Study(study.space, seed=2)
    (added,) = other.add(table[table["state"] == "complete"])
    assert added.values == (1.0,)
    with pytest.raises(aw.InvalidInput, match="be of a complete trial"):
        other.add(table)


@pytest.mark.parametrize("table", ["no-such-file.csv", 7, None, [1, 2]])
def test_what_is_no_table(table):
    with pytest.raises(aw.InvalidInput, match=r"Study\.add\(table=\.\.\.\)"):
        rows_of(table)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": 2.0}, r"row 4.*order.*\[0, 1\]"),
        ({"order": "much"}, r"row 4.*order"),
        ({"pots": 2.5}, r"row 4.*whole number"),
        ({"wood": "ash"}, r"row 4.*one of"),
        ({"demand": None}, r"row 4.*demand"),
        ({"value": "high"}, r"row 4.*number"),
        ({"value": float("nan")}, r"row 4.*finite"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(changes, message):
    with pytest.raises(aw.InvalidInput, match=message):
        read_row({**ROW, **changes}, SPACE, 4)


def test_a_column_of_another_name_is_offered_as_the_outcome():
    with pytest.raises(aw.InvalidInput) as error:
        read_row({**{name: cell for name, cell in ROW.items() if name != "value"}, "cost": 3.0}, SPACE, 0)
    assert "rename the column to 'value'" in error.value.remedy
    assert "'cost'" in error.value.remedy
    with pytest.raises(aw.InvalidInput) as error:
        read_row({name: cell for name, cell in ROW.items() if name != "wood"}, SPACE, 0)
    assert "must be exactly order, pots, wood, demand, value" in error.value.remedy
    assert "rename" not in error.value.remedy


def test_numbers_are_read_as_everywhere(tmp_path):
    file = tmp_path / "past.csv"
    file.write_text("x,value\n0.5,1_000\n")
    study = aw.Study(aw.Space(x=aw.Real(0, 1)))
    with pytest.raises(aw.InvalidInput, match="be a number, got '1_000'"):
        study.add(file)
    file.write_text("x,x,value\n0.5,0.6,1\n")
    with pytest.raises(aw.InvalidInput, match=r"name each column once, got \['x'\]"):
        study.add(file)
