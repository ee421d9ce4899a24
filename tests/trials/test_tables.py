import pandas as pd
import pytest

import allweather as aw
from allweather.trials import read_csv, rows_of
from allweather.trials.rows import RowReader
from allweather.trials.tables import Line

SPACE = aw.Space(order=aw.Real(0, 1), pots=aw.Integer(1, 5), wood=aw.Choice("oak", "pine"), demand=aw.Context(0, 10))
ROW = {"order": 0.5, "pots": 2, "wood": "oak", "demand": 3.0, "value": 1.5}


def read_row(row, space):
    return RowReader().read(Line("row 1", row), space)


def test_the_same_rows_from_every_kind_of_table(tmp_path):
    frame = pd.DataFrame([ROW, {**ROW, "order": 0.25}])
    frame.to_csv(tmp_path / "table.csv", index=False)
    rows = [read_row(row, SPACE) for row in rows_of(frame)]
    for table in (str(tmp_path / "table.csv"), tmp_path / "table.csv", frame.to_dict("records"), tuple(rows_of(frame))):
        assert [read_row(row, SPACE) for row in rows_of(table)] == rows
    assert rows_of(ROW) == [ROW]
    assert rows_of(frame.iloc[0]) == [ROW]


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


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_spaces_blank_lines_and_separators_do_not_matter(separator):
    text = separator.join(["order ", " value", ""]) + "\r\n" + separator.join([" 0.5", " 1.5 ", ""]) + "\r\n\r\n"
    text += separator * 2 + "\r\n" + separator.join(["0.25", "2", ""])
    lines = read_csv(text)
    assert [line.cells for line in lines] == [{"order": "0.5", "value": "1.5"}, {"order": "0.25", "value": "2"}]
    assert [line.where for line in lines] == ["line 2", "line 5"]


def test_lines_are_those_of_the_file_also_after_a_cell_of_several_lines():
    assert [line.where for line in read_csv('note,value\n"a\nb",1\nc,2\n')] == ["line 2", "line 4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("order,value\n1,2,3\n", "line 2.*have 2 cells.*got 3"),
        ("order,order\n1,2\n", "name each column once"),
        ('order,value\n"1,2\n', "line 2.*not a row of a CSV table"),
    ],
)
def test_broken_files_are_refused_by_line(text, message):
    with pytest.raises(aw.InvalidInput, match=message):
        read_csv(text) if '"' not in text else read_csv(text + "\0" * 200_000)


def test_numbers_are_read_as_everywhere(tmp_path):
    file = tmp_path / "past.csv"
    file.write_text("x,value\n0.5,1_000\n")
    study = aw.Study(aw.Space(x=aw.Real(0, 1)))
    with pytest.raises(aw.InvalidInput, match="be a number, got '1_000'"):
        study.add(file)
    file.write_text("x,x,value\n0.5,0.6,1\n")
    with pytest.raises(aw.InvalidInput, match=r"name each column once, got \['x'\]"):
        study.add(file)


def test_a_file_in_another_encoding(tmp_path):
    (tmp_path / "old.csv").write_bytes("order,größe\n".encode("latin-1"))
    with pytest.raises(aw.InvalidInput, match=r"not encoded in UTF-8.*save it as UTF-8"):
        rows_of(tmp_path / "old.csv")
