"""Studies as lines of JSON."""

import json

import pytest

from allweather import InvalidInput
from allweather.storage import Database, Event, Journal, export_lines, import_lines, names


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def some(kind="asked", trial=0, **payload):
    return Event(kind, payload or {"number": trial}, trial)


def test_a_study_goes_from_one_database_to_another(url, tmp_path):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some(x=0.1), some("told", values=[1.5])])
    lines = list(export_lines(journal))
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    assert import_lines(other, lines) == "kiosk"
    assert Journal.open(other, "kiosk").read() == journal.read()
    assert import_lines(other, lines, "copy") == "copy"
    with pytest.raises(InvalidInput, match=r"import_lines\(name=\.\.\.\)` must be new"):
        import_lines(other, lines)
    assert list(export_lines(Journal.open(other, "kiosk"))) == lines


def _with(line, **changed):
    return json.dumps({**json.loads(line), **changed})


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda lines: [], "begin with a header"),
        (lambda lines: lines[1:], "begin with a header"),
        (lambda lines: [lines[0], "{"], "line 2 is not JSON"),
        (lambda lines: [lines[0], lines[2]], "be number 1"),
        (lambda lines: [lines[0].replace('"0001"', '"9999"')], "be of version 0001 or older"),
        (lambda lines: [lines[0], lines[1].replace('"asked"', '"sung"')], "be one of asked, told"),
        (lambda lines: [lines[0], "[]"], "be an object"),
        (lambda lines: [lines[0], '{"number": 1}'], "have exactly"),
        (lambda lines: [lines[0], lines[1].replace('"trial": 0', '"trial": -1')], "name a trial by its number"),
        (lambda lines: [lines[0], _with(lines[1], payload=None)], "have a payload that is an object"),
        (lambda lines: [lines[0], _with(lines[1], at=None)], "have a time in seconds"),
        (lambda lines: [lines[0], _with(lines[1], worker="w" * 201)], "have a worker of up to 200 characters"),
        (lambda lines: [lines[0], lines[1], lines[2].replace("1.5", "2.5")], r"line 3` must be as it was exported"),
        (lambda lines: [lines[0].replace('"spec": {}', '"spec": {"seed": 8}'), *lines[1:]], "line 1"),
    ],
)
def test_lines_that_are_no_study_change_nothing(url, tmp_path, spoilt, message):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some(x=0.1), some("told", values=[1.5])])
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InvalidInput, match=message):
        import_lines(other, spoilt(list(export_lines(journal))))
    assert names(other) == []


def test_a_line_without_checksum_may_be_changed(url, tmp_path):
    journal = Journal.create(Database(url), "kiosk", {})
    journal.append(0, [some(x=0.1), some("told", values=[1.5])])
    head, asked, told = map(json.loads, export_lines(journal))
    del told["checksum"]
    told["payload"]["values"] = [2.5]
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    import_lines(other, map(json.dumps, (head, asked, told)))
    assert Journal.open(other, "kiosk").read()[1].payload == {"values": [2.5]}
