import time

import pandas as pd
import pytest

import allweather as aw
from allweather._utils.formatting import tame
from allweather._utils.tables import Line
from allweather.trials import read_csv, rows_of
from allweather.trials.rows import RowReader

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
    with pytest.raises(
        aw.InvalidInput, match=r"be of a complete trial.*`study.tell\(number, ...\)` .* reports its outcome"
    ):
        other.add(table)
    told = [{"order": 0.2, "demand": 0.1, "value": 2.0, "state": "COMPLETE"}]
    assert len(other.add(told)) == 1
    assert len(other.add([{**told[0], "state": 7}], columns=["order", "demand", "value"], again=True)) == 1


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
        ("order,value\n1,2,3\n2,3\n1,2,3,4\n", "(?s)2 problems in 2 of 3 rows.*line 2: .*line 4: .*got 4"),
        ("order,order\n1,2\n", "name each column once"),
        ('order,value\n"1,2\n', "line 2.*not a row of a CSV table"),
    ],
)
def test_broken_files_are_refused_by_line(text, message):
    with pytest.raises(aw.InvalidInput, match=message):
        aw.Study(aw.Space(order=aw.Real(0, 9))).add(read_csv(text if '"' not in text else text + "\0" * 200_000))


def test_numbers_are_read_as_everywhere(tmp_path):
    file = tmp_path / "past.csv"
    file.write_text("x,value\n0.5,1_000\n")
    study = aw.Study(aw.Space(x=aw.Real(0, 1)))
    with pytest.raises(aw.InvalidInput, match="be a number, got '1_000'"):
        study.add(file)
    file.write_text("x,x,value\n0.5,0.6,1\n")
    with pytest.raises(aw.InvalidInput, match=r"name each column once, got \['x'\]"):
        study.add(file)


MIXED = "order;pots;wood;demand;value\n0,5;2;oak;3;1,5\n0,25;2;oak;3;2\n0.75;2;oak;3;1.234\n"


def test_decimal_commas_and_points_in_one_file_are_refused_with_the_question(tmp_path):
    study, file = aw.Study(SPACE), tmp_path / "mixed.csv"
    file.write_text(MIXED)
    with pytest.raises(aw.InvalidInput) as refused:
        study.add(file)
    for part in (
        "a comma in 0,5 (line 2, column 'order'), 1,5 (line 2, column 'value'), 0,25 (line 3, column 'order')",
        "a point in 0.75 (line 4, column 'order'), 1.234 (line 4, column 'value')",
        "or does the point separate thousands?",
    ):
        assert part in str(refused.value)
    assert not study.history.trials
    thousands = study.add([{**ROW, "order": "0,5", "value": "1.234"}], decimal=",")
    assert thousands[0].values == (1234.0,)
    with pytest.raises(aw.InvalidInput, match=r"decimal=...\)` must be one of"):
        study.add(file, decimal=";")
    file.write_text("note;" + MIXED.replace("0.75", "0,75").replace("1.234", "1,234").replace("\n", "\nv1.2;", 3))
    assert study.add(file, columns=list(ROW))[-1].values == (1.234,)


def test_contexts_with_both_decimal_marks_are_refused(tmp_path):
    (tmp_path / "demand.csv").write_text("demand;day\n0,5;1\n1.234;2\n")
    with pytest.raises(aw.InvalidInput, match=r"observe_contexts.*writes decimals in two ways"):
        aw.Study(SPACE).observe_contexts(tmp_path / "demand.csv", columns=["demand"])


def test_a_frame_with_two_columns_of_one_name_is_refused():
    frame = pd.DataFrame([[*ROW.values(), 9.0]], columns=[*ROW, "value"])
    for table in (frame, frame.iloc[0]):
        with pytest.raises(aw.InvalidInput, match=r"name each column once, got \['value'\]; rename or drop"):
            aw.Study(SPACE).add(table)


@pytest.mark.parametrize(
    "text", ['{"order": 0.5, "value": 1}\n{"order": 0.2, "value": 2}\n', '\n[{"order": 0.5}]', "{\n", '{"a": 1, \n']
)
def test_json_in_place_of_a_table_is_recognised(tmp_path, text):
    (tmp_path / "study.csv").write_text(text)
    with pytest.raises(aw.InvalidInput, match=r"holds JSON, not a CSV table; .*allweather import.*json.loads"):
        aw.Study(SPACE).add(tmp_path / "study.csv")


def test_a_header_of_many_columns_takes_no_time():
    names = [f"x{number}" for number in range(50_000)]
    begun = time.process_time()
    (line,) = read_csv(",".join(names) + "\n" + ",".join(["1"] * 50_000))
    assert time.process_time() - begun < 2
    assert len(line.cells) == 50_000


def test_what_a_table_for_spreadsheets_escapes_is_read_back():
    odd = ("=b", "oak", "'oak", "-1", "''=c", " pine")
    space = aw.Space(**{"-x": aw.Real(0, 1), "wood": aw.Choice(*odd), "lot": aw.Choice(1, 2), "w": aw.Context(0, 1)})
    study = aw.Study(space)
    rows = [{"-x": 0.5, "wood": each, "lot": 2, "w": 0.5, "value": 1, "occasion": each.strip(" '")} for each in odd]
    study.add(rows)
    plain = study.trials()
    for table in (plain.map(tame).rename(columns=tame), plain):
        back = aw.Study(space)
        back.add(read_csv(table.to_csv().replace(",2,", ",2.0,")))
        pd.testing.assert_frame_equal(back.trials(), plain)


def test_an_option_that_looks_like_another_escaped_is_refused():
    study = aw.Study(aw.Space(wood=aw.Choice("=b", "'=b"), x=aw.Real(0, 1)))
    with pytest.raises(aw.InvalidInput, match="name one option"):
        study.add(read_csv("wood,x,value\n'=b,0.5,1\n"))
    (trial,) = study.add(read_csv("wood,x,value\n''=b,0.5,1\n"))
    assert trial.decision["wood"] == "'=b"
