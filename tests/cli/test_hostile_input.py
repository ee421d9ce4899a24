import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

import allweather as aw
from allweather.cli import app

INJECTED = "x'; DROP TABLE studies; --"
PATH = "../../../etc/passwd"


def test_names_are_data(terminal, folder):
    for name in (INJECTED, PATH, "[red]x[/]", "%s{0}", "é 日本"):
        terminal("init", "kiosk.toml", "--study", name)
        terminal("ask", "--study", name)
        assert name in terminal("show", "--study", name).out
    assert terminal("show", "--json", "--study", INJECTED).document["study"] == INJECTED
    assert sorted(each.name for each in folder.iterdir() if each.suffix not in (".turn", ".db-wal", ".db-shm")) == [
        "allweather.db",
        "kiosk.toml",
    ]
    aw.Study(aw.Space(x=aw.Real(0, 1)), storage="sqlite:///allweather.db", name="after")


def test_pictures_stay_in_the_folder(terminal, folder):
    terminal("init", "kiosk.toml", "--study", PATH)
    terminal("ask", "--study", PATH)
    terminal("tell", 0, 3, "--context", "demand=3", "--study", PATH)
    file = terminal("plot", "--study", PATH, "--json").document["file"]
    assert "/" not in file
    assert (folder / file).exists()


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[2J", "a\x00b", "x" * 201, "x" * 10_000_000, " x"])
def test_names_that_are_none(terminal, folder, name):
    ended = terminal("init", "kiosk.toml", "--study", name, code=0 if name == "" else 2)
    assert len(ended.err) < 1000
    assert "\x1b" not in ended.err
    if name:
        assert not (folder / "allweather.db").exists()


@pytest.mark.parametrize(
    "value",
    ["nan", "inf", "-inf", "1e400", "twelve", "", "1_000", "0x10", "1;2", "3,5", INJECTED, "\x1b[2J", "9" * 10_000_000],
)
def test_values_that_are_none(kiosk, value):
    kiosk("ask")
    before = kiosk("export").out
    for words in (("tell", 0, value), ("tell", 0, 3, "--context", f"demand={value}"), ("correct", 0, value)):
        ended = kiosk(*words, code=2)
        assert len(ended.err) < 1000
        assert "\x1b" not in ended.err
    assert kiosk("export").out == before


@pytest.mark.parametrize(
    "words",
    [
        ("tell", 0),
        ("tell", 9, 3),
        ("tell", -1, 3),
        ("tell", "x", 3),
        ("tell", 10**30, 3),
        ("tell", 0, 3, "--failed"),
        ("tell", 0, 1e200),
        ("tell", 0, 3, "--context", "demand"),
        ("tell", 0, 3, "--context", "demand=3", "--context", "demand=4"),
        ("tell", 0, 3, "--context", "demand=101"),
        ("tell", 0, 3, "--context", "order=3"),
        ("tell", 0, 3, "--decision", "demand=3"),
        ("tell", 0, 3, "--context", f"{INJECTED}=3"),
        ("tell", 0, 3, "--context", "x" * 10_000_000 + "=3"),
        ("tell", 0, 3, "--nonsense"),
        ("tell", 0, *([3] * 1001)),
        ("ask", "-n", 0),
        ("ask", "-n", "many"),
        ("ask", "--context", "demand=nan"),
        ("recommend", "--context", "demand=1000"),
        ("correct", 0),
        ("add", "kiosk.toml"),
        ("add", "\x00"),
        ("import", "kiosk.toml"),
        ("init", "\x00"),
        ("init", "no-such.toml"),
        ("init", "."),
        ("run",),
        ("run", "true", "--timeout", "-1"),
        ("run", "true", "--until-gain", "nan"),
        ("check", "--study", "kisok"),
        ("nonsense",),
    ],
)
def test_nothing_is_written_by_a_mistake(kiosk, words):
    kiosk("ask")
    before = kiosk("export").out
    ended = kiosk(*words, code=2)
    assert len(ended.err) < 2000
    assert kiosk("export").out == before


def test_a_file_of_ten_megabytes_and_one_that_is_no_text(terminal, folder):
    (folder / "big.toml").write_text("# " + "x" * 10_000_000)
    assert "at most" in terminal("init", "big.toml", code=2).err
    (folder / "bytes.toml").write_bytes(b"\xff\xfe\x00\x01")
    assert "cannot be read" in terminal("init", "bytes.toml", code=2).err
    (folder / "typo.toml").write_text("[variables]\nx = { lower = 0, uper = 1 }\n")
    said = terminal("init", "typo.toml", code=2).err
    assert "typo.toml: variables.x" in said
    assert "did you mean 'upper'" in said
    assert not (folder / "allweather.db").exists()


def test_an_export_with_steering_characters_is_shown_without_them(kiosk, folder):
    kiosk("ask")
    text = kiosk("export").out.replace('"kiosk"', '"ki\\u001b[2Josk"')
    (folder / "evil.jsonl").write_text(text)
    kiosk("import", "evil.jsonl", code=2)
    text = kiosk("export").out.replace('"order"', '"or\\u001b[2Jder"')
    (folder / "evil.jsonl").write_text(text)
    ended = kiosk("import", "evil.jsonl", "--study", "evil", code=2)
    assert "\x1b" not in ended.err


def test_no_command_prints_a_traceback(kiosk, folder, monkeypatch):
    def broken(self):
        raise RuntimeError("a bug")

    monkeypatch.setattr("allweather.cli.options.SharedOptions.log", broken)
    ended = kiosk("show", code=1)
    assert "unexpected error" in ended.err
    details = ended.err.replace("\n", "").rpartition("the details are in ")[2].strip()
    assert "a bug" in Path(details).read_text()
    Path(details).unlink()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "--storage", f"sqlite:///{'x' * 5000}.db"), (2, 3)),
        (("export", "y" * 5000), (2,)),
        (("tell", "1_0", 3), (2,)),
        (("report", "--output", "/dev/full"), (2, 3)),
        (("dashboard", "--host", "a..b"), (2,)),
        (("dashboard", "--port", 99999), (2,)),
        (("reproduce", "kde-fig1", "--workers", 0), (2,)),
    ],
)
def test_mistakes_end_with_a_message(kiosk, words, code):
    kiosk("ask")
    kiosk("tell", 0, 3, "--context", "demand=3")
    ended = CliRunner().invoke(app, [str(word) for word in words])
    assert ended.exit_code in code
    assert "Traceback" not in ended.output


def test_a_database_that_may_only_be_read_is_shown_and_exported(kiosk, monkeypatch):
    kiosk("ask")
    before = kiosk("export").out
    monkeypatch.setattr("allweather.storage.database.is_writable", lambda file: False)
    assert "pending" in kiosk("show").out
    assert kiosk("export").out == before
    assert "read-only" in kiosk("tell", 0, 3, code=3).err


def test_a_variable_called_self_and_nested_json(terminal, folder):
    (folder / "self.toml").write_text("[variables]\nself = { lower = 0, upper = 1 }\n")
    terminal("init", "self.toml")
    assert "self" in terminal("ask", "--study", "self", "--json").document["trials"][0]["decision"]
    (folder / "nested.jsonl").write_text("[" * 100_000)
    assert "line 1 is not JSON" in terminal("import", "nested.jsonl", code=2).err


def test_a_damaged_study_is_saved(kiosk, folder):
    kiosk("ask", "-n", 2)
    with sqlite3.connect(folder / "allweather.db") as connection:
        connection.execute("UPDATE events SET payload = '{' WHERE number = 1")
    connection.close()
    assert "--salvage" in kiosk("export", code=3).err
    assert "left out: 1." in kiosk("export", "saved.jsonl", "--salvage").err
    kiosk("import", "saved.jsonl", "--study", "saved")
    assert len(kiosk("show", "--study", "saved", "--json").document["trials"]) == 1


def test_one_byte_that_is_not_utf8_loses_one_event(kiosk, folder):
    kiosk("ask", "-n", 3)
    assert "kiosk: 3 events, all whole" in kiosk("verify").out
    with sqlite3.connect(folder / "allweather.db") as connection:
        connection.execute("UPDATE events SET payload = CAST(x'7B22FF7D' AS TEXT) WHERE number = 2")
    connection.close()
    assert "event 2 cannot be read" in kiosk("show", code=3).err
    assert "kiosk: 3 events, events that cannot be used and are left out: 2" in kiosk("verify", code=3).out
    assert kiosk("verify", "--json", code=3).document["studies"][0]["damaged"] == [2]
    ended = kiosk("backup", "saved.jsonl", "--json", code=3)
    assert "'kiosk' is damaged: events that cannot be used and are left out: 2." in ended.err
    assert ended.document["damaged"] == {"kiosk": [2]}
    assert (folder / "saved.jsonl").stat().st_mode & 0o777 == 0o600  # as the database is
    assert "left out: 2." in kiosk("export", "one.jsonl", "--salvage").err
    kiosk("restore", "saved.jsonl", "--storage", "sqlite:///restored.db")
    shown = kiosk("show", "--storage", "sqlite:///restored.db", "--json").document
    assert len(shown["trials"]) == 2
