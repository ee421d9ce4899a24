import pytest

import allweather as aw

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
