import io
import sys
import zipfile

import openpyxl
import pytest

import allweather as aw
from allweather._utils.installation import command_for
from allweather._utils.table_files import table_file_text, table_text
from allweather._utils.tables import read_csv, read_table

TEXT = "Größe (mm);Wert\n0,5;1\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_table_is_read_in_the_encoding_it_has(encoding, tmp_path):
    file = tmp_path / "days.csv"
    file.write_bytes(TEXT.encode(encoding))
    assert table_file_text(file) == TEXT.lstrip("\ufeff")
    assert [line.cells for line in read_table(file)] == [{"Größe (mm)": "0,5", "Wert": "1"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xd0\xcf\x11\xe0" + bytes(100), "an old Excel workbook.*save it as CSV UTF-8"),
        (bytes(range(256)), "not a text file in UTF-8, UTF-16 or Windows-1252; save it as CSV UTF-8"),
        ("order;wert\n".encode("cp1252") + b"\x81", "not a text file"),
    ],
)
def test_what_is_no_table_is_refused_with_the_remedy(content, message):
    with pytest.raises(aw.InvalidInput, match=message):
        table_text(content)


def workbook(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def packed(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


ROWS = [["Dose (mg)", "lot", "value"], [0.5, "A\nB", 12.25], [], [2, None, "n/a"]]


def test_a_workbook_is_read_where_it_has_one_table(tmp_path):
    (tmp_path / "days.xlsx").write_bytes(workbook(ROWS, []))
    lines = read_table(tmp_path / "days.xlsx")
    assert [line.cells for line in lines] == [
        {"Dose (mg)": "0.5", "lot": "A B", "value": "12.25"},
        {"Dose (mg)": "2", "lot": "", "value": "n/a"},
    ]
    assert [line.where for line in lines] == ["line 2", "line 4"]
    with pytest.raises(aw.InvalidInput, match="several sheets with cells: sheet 0, sheet 1; which one"):
        table_text(workbook(ROWS, ROWS))
    with pytest.raises(aw.InvalidInput, match="a damaged workbook"):
        table_text(packed({"xl/workbook.xml": "broken"}))
    with pytest.raises(aw.InvalidInput, match="a damaged workbook"):
        table_text(workbook(ROWS)[:200])  # copied in part
    with pytest.raises(aw.InvalidInput, match="neither a CSV table nor an"):
        table_text(packed({"readme.txt": "a folder"}))


def test_a_workbook_without_openpyxl_is_refused_in_plain_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(aw.InvalidInput, match=r"an Excel workbook, which needs openpyxl; install it with `pip install"):
        table_text(workbook(ROWS))


def test_the_first_line_may_name_the_separator():
    (line,) = read_csv("sep=;\na, b;value\n1;2\n")
    assert (line.cells, line.where) == ({"a, b": "1", "value": "2"}, "line 3")


def test_the_install_command_fits_the_origin():
    cloned = {"url": "https://example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}
    assert command_for("plots", cloned) == "pip install 'allweather[plots] @ git+https://example.org/a.git'"
    folder = {"url": "file:///home/ada/my%20work", "dir_info": {}}
    assert command_for("plots", folder) == "pip install '/home/ada/my work[plots]'"
