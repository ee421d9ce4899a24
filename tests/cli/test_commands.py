import csv
import json
import subprocess
import sys
import tomllib

import pytest
import typer

import allweather as aw
from allweather.cli import app, init
from allweather.cli.app import ORDER
from allweather.study import Spec

DAYS = "order,demand,value\n20,30,80\n50,30,20\n35,30,95\n30,40,120\n60,55,195\n10,30,40\n"
URL = "sqlite:///allweather.db"


def profit(order: float, demand: float) -> float:
    return 9 * min(order, demand) - 5 * order


def test_a_study_from_beginning_to_end(kiosk):
    for demand in (22, 35, 18):
        (trial,) = kiosk("ask", "--json").document["trials"]
        assert trial["state"] == "pending"
        value = profit(trial["decision"]["order"], demand)
        told = kiosk("tell", trial["number"], repr(value), "--context", f"demand={demand}", "--json").document["trial"]
        assert told["values"] == [value]
        assert told["context"] == {"demand": demand}
    best = kiosk("recommend", "--json").document
    assert 0 <= best["decision"]["order"] <= 100
    assert best["distance"] == "TotalVariation"
    assert "objective" in kiosk("recommend").out
    shown = kiosk("show", "--json").document
    assert shown["states"] == {"complete": 3}
    assert [trial["number"] for trial in shown["trials"]] == [0, 1, 2]


def test_the_terminal_and_python_see_the_same_numbers(kiosk, folder):
    (trial,) = kiosk("ask", "--json").document["trials"]
    study = aw.Study.from_spec(Spec.from_toml((folder / "kiosk.toml").read_text()), URL, "kiosk")
    assert study.trials()["order"].tolist() == [trial["decision"]["order"]]
    twin = aw.Study.from_spec(Spec.from_toml((folder / "kiosk.toml").read_text()))
    assert twin.ask().decision == trial["decision"]
    kiosk("tell", 0, "0.1", "--context", "demand=0.30000000000000004")
    assert study.trials()["demand"].tolist() == [0.30000000000000004]


def test_batches_and_people(kiosk):
    said = kiosk("ask", "-n", 3).out
    assert "trial 2: order" in said
    assert "allweather tell 0 VALUE --context demand=..." in said
    assert "complete" in kiosk("tell", 1, "-12.5", "--context", "demand=3").out
    assert "Pending: 0" in kiosk("show").out
    kiosk("tell", 0, 4.8, 5.0, "--decision", "order=31")
    kiosk("tell", 0, "--context", "demand=9")
    kiosk("tell", 2, "--failed")
    first, _, last = kiosk("show", "--json").document["trials"]
    assert (first["values"], first["decision"], first["context"]) == ([4.8, 5.0], {"order": 31.0}, {"demand": 9.0})
    assert last["state"] == "failed"


def test_a_context_that_is_known_first(kiosk):
    (trial,) = kiosk("ask", "--context", "demand=25", "--json").document["trials"]
    assert trial["context"] == {"demand": 25.0}
    kiosk("tell", 0, 3)
    assert kiosk("recommend", "--context", "demand=25", "--json").document["decision"].keys() == {"order"}


def test_data_from_before(kiosk, folder):
    (folder / "days.csv").write_text(DAYS)
    assert len(kiosk("add", "days.csv", "--json").document["trials"]) == 6
    assert "these 6 rows are already there (trials 0 to 5)" in kiosk("add", "days.csv", code=2).err
    assert "numbers 6 to 11" in kiosk("add", "days.csv", "--again").out
    kiosk("recommend")
    (folder / "bad.csv").write_text(DAYS + "10,300,40\n")
    assert "line 8" in kiosk("add", "bad.csv", code=2).err
    (folder / "long.csv").write_text("order,demand,value\n" + "1" * 200_000 + ",1,1\n")
    assert "line 2` is not a row of a CSV table" in kiosk("add", "long.csv", code=2).err
    (folder / "empty.csv").write_text("order,demand,value\n")
    kiosk("add", "empty.csv", code=2)
    kiosk("add", "missing.csv", code=2)
    assert kiosk("show", "--json").document["states"] == {"complete": 12}
    assert "The last 20" not in kiosk("show").out
    kiosk("add", "days.csv", "--again")
    kiosk("add", "days.csv", "--again")
    assert "The last 20 of 24" in kiosk("show").out
    assert kiosk("show", "--all").out.count("complete") == 25


def test_corrections_are_events(kiosk):
    kiosk("ask")
    kiosk("tell", 0, 240, "--context", "demand=30")
    assert kiosk("correct", 0, "24.0", "--json").document["trial"]["values"] == [24.0]
    assert kiosk("correct", 0, "--context", "demand=31", "--json").document["trial"]["context"] == {"demand": 31.0}
    assert "withdrawn" in kiosk("correct", 0, "--withdraw").out
    kinds = [json.loads(line)["kind"] for line in kiosk("export").out.splitlines()[1:]]
    assert kinds == ["asked", "told", "corrected", "corrected", "corrected"]
    assert "240" in kiosk("export").out
    kiosk("correct", 0, code=2)
    kiosk("correct", 0, 3, "--withdraw", code=2)
    kiosk("correct", 7, 3, code=2)


def test_export_and_import(kiosk, folder):
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    kiosk("ask", "-n", 2)
    assert kiosk("export", "kiosk.jsonl", "--json").document["lines"] == 4
    assert "exists already" in kiosk("export", "kiosk.jsonl", code=2).err
    kiosk("export", "--json", code=2)
    other = ("--storage", "sqlite:///other.db")
    assert kiosk("import", "kiosk.jsonl", *other, "--json").document["study"] == "kiosk"
    assert kiosk("recommend", "--json", *other).out == kiosk("recommend", "--json").out
    assert kiosk("export", *other).out == kiosk("export").out
    assert "must be new" in kiosk("import", "kiosk.jsonl", *other, code=2).err
    kiosk("import", "kiosk.jsonl", *other, "--study", "copy")
    assert "copy, kiosk" in kiosk("show", *other, code=2).err
    kiosk("import", "-", *other, "--study", "piped", typed=kiosk("export").out)
    kiosk("show", *other, "--study", "piped")
    kiosk("export", "--csv", "trials.csv")
    orders = [float(row["order"]) for row in csv.DictReader((folder / "trials.csv").read_text().splitlines())]
    assert orders == [trial["decision"]["order"] for trial in kiosk("show", "--json").document["trials"]]


SPREADSHEET = """
[variables]
x = { lower = 0, upper = 1 }
what = { options = ["=1+1", "+1", "-1", "@a", "'=b", "''@c", "'quoted'", '"double"', "a,b;c", "plain"] }
"""
"""Options that a spreadsheet takes for formulas, and such that look as if they were escaped already."""


def test_a_table_for_spreadsheets_is_read_back(terminal, folder):
    (folder / "sheet.toml").write_text(SPREADSHEET)
    terminal("init", "sheet.toml")
    options = tomllib.loads(SPREADSHEET)["variables"]["what"]["options"]
    study = aw.Study.load("sqlite:///allweather.db", "sheet")
    study.add([{"x": 0.1, "what": option, "value": -1.0} for option in options])
    terminal("export", "--csv", "table.csv")
    rows = list(csv.reader((folder / "table.csv").read_text().splitlines()))
    cells = [cell for row in rows for cell in row if cell not in ("-1.0",)]  # numbers stay numbers
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    terminal("init", "sheet.toml", "--study", "again")
    terminal("add", "table.csv", "--study", "again")
    again = aw.Study.load("sqlite:///allweather.db", "again").trials()
    assert again["what"].tolist() == options
    assert again.equals(study.trials())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        '{"format": "allweather-journal", "version": "9999", "name": "x", "spec": {}}',
        '{"format": "allweather-journal", "version": "0001", "name": "x", "spec": {}}',
        '{"format": "allweather-journal", "version": "0001", "name": "x", "spec": {"spec": {"variables": 3}}}',
    ],
)
def test_what_is_no_study_is_not_imported(terminal, folder, text):
    (folder / "x.jsonl").write_text(text)
    terminal("import", "x.jsonl", code=2)
    assert not (folder / "allweather.db").exists()


def test_which_study(terminal, folder):
    assert "no database" in terminal("show", code=3).err
    assert not (folder / "allweather.db").exists()
    terminal("init", "kiosk.toml")
    assert "already" in terminal("init", "kiosk.toml", code=2).err
    terminal("init", "kiosk.toml", "--study", "booth")
    assert "booth, kiosk" in terminal("ask", code=2).err
    terminal("ask", "--study", "booth")
    assert "did you mean 'booth'" in terminal("ask", "--study", "boot", code=2).err


def test_storage_by_option_environment_and_file(terminal, folder, monkeypatch):
    (folder / "kiosk.toml").write_text('storage = "sqlite:///own.db"\n' + (folder / "kiosk.toml").read_text())
    assert "--storage sqlite:///own.db" in terminal("init", "kiosk.toml").out
    assert (folder / "own.db").exists()
    assert "own.db" not in terminal("export", "--storage", "sqlite:///own.db").out  # nor a password that was there
    monkeypatch.setenv("ALLWEATHER_STORAGE", "sqlite:///env.db")
    terminal("init", "kiosk.toml")
    terminal("show")
    assert (folder / "env.db").exists()
    terminal("show", "--storage", "sqlite:///own.db")


def test_storage_that_is_none(terminal, folder):
    (folder / "text.db").write_text("no database at all, but some text that is long enough to look at")
    assert "text.db" in terminal("show", "--storage", "sqlite:///text.db", code=3).err
    nowhere = terminal("init", "kiosk.toml", "--storage", "sqlite:///no/such/folder/x.db", code=3)
    assert "no/such/folder" in nowhere.err
    assert "nonsense" in terminal("show", "--storage", "nonsense", code=2).err
    assert "oracle" in terminal("show", "--storage", "oracle://x/y", code=2).err
    assert folder.name in terminal("show", "--storage", f"sqlite:///{folder}", code=3).err


def test_a_study_made_in_python_goes_on_in_the_terminal(terminal):
    space = aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100))
    study = aw.Study(space, storage=URL, name="code", context=aw.KDE(64))
    study.tell(study.ask(), 3.0, context={"demand": 30})
    asked = terminal("ask", "--json").document["trials"][0]
    assert study.trials()["order"].tolist()[1] == asked["decision"]["order"]
    assert terminal("show", "--json").document["spec"]["context"] == {"name": "kde", "samples": 64}
    assert terminal("recommend", "--json").document["decision"] == study.recommend().decision


def test_a_study_whose_parts_are_code(terminal):
    space = aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100))
    objective = aw.DRO(aw.KL(lambda t: 0.1))
    study = aw.Study(space, storage=URL, name="code", context=aw.KDE(64), objective=objective)
    study.ask(2)
    said = terminal("ask", code=2).err
    assert "made by a program" in said
    terminal("recommend", code=2)
    terminal("tell", 0, 3.5, "--context", "demand=30")
    terminal("tell", 1, 3.5, "--context", "demand=300", code=2)
    terminal("correct", 0, 3.25)
    terminal("show")
    shown = terminal("show", "--json").document["spec"]["objective"]
    assert shown["distance"]["radius"] == {"name": "custom", "function": {"code": "<lambda>"}}
    terminal("export", "code.jsonl")
    terminal("import", "code.jsonl", "--study", "copy")
    assert study.trials()["value"].tolist()[:1] == [3.25]
    assert study.recommend().decision.keys() == {"order"}


def test_a_budget_that_is_spent(terminal, folder):
    (folder / "farm.toml").write_text(
        'control = { sets = [{ variables = ["ph"], cost = 1 }], budget = 2 }\n'
        'context = { name = "known", law = { ph = { name = "uniform" }, nh3 = { name = "beta", a = 2, b = 2 } } }\n'
        "[variables]\nph = { lower = 0, upper = 1 }\nnh3 = { lower = 0, upper = 1 }\n"
    )
    terminal("init", "farm.toml")
    assert "cost 1; not controlled: nh3" in terminal("ask").out
    terminal("tell", 0, 3, "--context", "nh3=0.5")
    assert terminal("ask", "--json").document["trials"][0]["left"] == ["nh3"]
    terminal("ask", code=4)
    best = terminal("recommend", "--json").document
    assert best["control"] == ["ph"]
    assert "do not control the others" in terminal("recommend").out
    assert "cost" in terminal("show").out
    assert "left,cost" in terminal("export", "--csv").out
    ended = terminal("run", 'echo \'{"value": 1, "context": {"nh3": 0.5}}\'', "--trials", 3, "--pending", code=4)
    assert "1 complete" in ended.out


def test_questions(terminal, folder, monkeypatch):
    terminal("init", code=2)
    monkeypatch.setattr(init, "interactive", lambda: True)
    answers = ["2 bad", "stall", "smaller", "order", "", "", "zero", "0", "100", "kg"]
    answers += ["wood", "d", "choice", "oak, pine", "demand", "context", "integer", "0", "9.5", "9", "", "", "tail"]
    terminal("init", typed="\n".join(answers) + "\n")
    spec = Spec.from_toml((folder / "stall.toml").read_text())
    assert spec.space == aw.Space(
        order=aw.Real(0, 100), wood=aw.Choice("oak", "pine"), demand=aw.Context(aw.Integer(0, 9))
    )
    assert spec.fields["objective"] == {"name": "cvar", "level": 0.2}
    assert spec.fields["direction"] == "minimize"
    assert " kg, wood" in terminal("ask").out
    assert "not overwritten" in terminal("init", typed="\n".join(answers) + "\n", code=2).err


def test_names_with_spaces_and_units_are_prompted_for(terminal, folder, monkeypatch):
    monkeypatch.setattr(init, "interactive", lambda: True)
    answers = [
        "mill",
        "larger",
        "",
        "Dose rate (mg/h)",
        "",
        "",
        "0",
        "9.5",
        "Room temperature",
        "context",
        "",
        "10",
        "30",
    ]
    terminal("init", typed="\n".join([*answers, "°C", "", "mean"]) + "\n")
    spec = Spec.from_toml((folder / "mill.toml").read_text())
    expected = {"Dose rate": aw.Real(0, 9.5), "Room temperature": aw.Context(aw.Real(10, 30))}
    assert spec.space.variables == expected
    assert "Dose rate = " in terminal("ask").out
    assert " mg/h" in terminal("show").out
    assert "30 °C" in terminal("show").out


PAST = "date;Dose rate (mg/h);room;profit\n1.5.;1,5;20;3\n2.5.;2,5;24;4\n3.5.;4,25;27;5\n"


def test_a_study_is_proposed_for_a_table(terminal, folder, monkeypatch):
    (folder / "days.csv").write_bytes(PAST.encode("utf-16"))
    assert "--outcome` must name the column of the outcome: date" in terminal("init", "--from", "days.csv", code=2).err
    assert (
        "--context` must name columns"
        in terminal("init", "--from", "days.csv", "--outcome", "profit", "--context", "rom", code=2).err
    )
    assert "init` must be given --from" in terminal("init", "--outcome", "profit", code=2).err
    twice = terminal("init", "--from", "days.csv", "--outcome", "profit", "--outcome", "room", code=2).err
    assert "--outcome` must be given once" in " ".join(twice.split())
    assert "[outcomes]" in twice
    words = ("init", "--from", "days.csv", "--outcome", "profit", "--context", "room", "--minimize")
    document = terminal(*words, "--json").document
    assert document["next"] == ["allweather init days.toml", "allweather add days.csv --column value=profit"]
    assert {each["name"]: each["variable"] for each in document["columns"]} == {
        "date": None,
        "Dose rate": "decision, 1.5 to 4.3 mg/h",
        "room": "context, integer, 19 to 28",
    }
    assert "smaller values of profit are better" in (folder / "days.toml").read_text()
    assert "not overwritten" in terminal(*words, code=2).err
    monkeypatch.setattr(init, "interactive", lambda: True)
    said = terminal("init", "asked.toml", "--from", "days.csv", typed="prfit\nprofit\nroom\n").out
    assert "enter one of date, Dose rate" in said
    assert "date: left out (3 different texts in 3 rows" in said
    for each in ("init asked.toml", "add days.csv --column value=profit", "ask"):
        terminal(*each.split())


def test_the_decimal_mark_of_a_table_is_stated(terminal, folder):
    (folder / "mixed.csv").write_text("dose;value\n1.250;0,5\n2.500;1,5\n3.750;2,5\n")
    assert "--decimal` must be '.' or ','" in terminal("init", "--from", "mixed.csv", "--decimal", "x", code=2).err
    made = terminal("init", "--from", "mixed.csv", "--decimal", ",", "--json").document
    assert made["next"][1] == "allweather add mixed.csv --decimal ,"
    terminal("init", "mixed.toml")
    assert "say what the decimal mark is" in terminal("add", "mixed.csv", code=2).err.replace("\n", " ").lower()
    assert "3 trials added" in terminal("add", "mixed.csv", "--decimal", ",").out


def test_the_version(terminal):
    assert terminal("--version").out == f"allweather {aw.__version__}\n"


def test_the_program_is_a_module():
    ended = subprocess.run(
        [sys.executable, "-m", "allweather", "--version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("allweather ")


def test_the_demo_resumes_and_does_without_figures(terminal, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = " ".join(terminal("demo", "--days", 3).out.split())
    assert "After 3 days: order 0." in said
    assert "A figure and a report need matplotlib: pip install" in said
    assert "allweather dashboard --storage sqlite:///demo-output/newsvendor.db" in said
    before = aw.Study.load("sqlite:///demo-output/newsvendor.db", "stall").trials()
    assert terminal("demo", "--days", 4, "--json").document["folder"] == "demo-output"
    after = aw.Study.load("sqlite:///demo-output/newsvendor.db", "stall").trials()
    assert len(after) == 4
    assert after[:3].equals(before)


@pytest.mark.slow
def test_plots(kiosk, folder):
    kiosk("plot", code=2)
    assert not list(folder.glob("*.png"))
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    drawn = kiosk("plot", "--json").document
    assert drawn["file"] == "kiosk.png"
    assert "The recommended decision, order = " in drawn["says"]
    assert (folder / "kiosk.png").read_bytes().startswith(b"\x89PNG")
    for figure in ("contexts", "progress"):
        kiosk("plot", f"{figure}.svg", "--figure", figure)
        assert "<svg" in (folder / f"{figure}.svg").read_text()
    assert "did you mean 'progress'" in kiosk("plot", "--figure", "progres", code=2).err
    assert "control sets" in kiosk("plot", "--figure", "control_sets", code=2).err
    kiosk("plot", "no/such/folder/x.png", code=2)
    kiosk("plot", "x.nothing", code=2)


def test_plots_without_matplotlib(kiosk, folder, monkeypatch):
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    monkeypatch.setitem(sys.modules, "allweather.plots.matplotlib_backend", None)
    monkeypatch.delattr(aw.plots, "matplotlib_backend", raising=False)
    assert "[plots]'`" in kiosk("plot", code=2).err


@pytest.mark.slow
def test_reports(kiosk, folder):
    kiosk("report", code=2)
    (folder / "days.csv").write_text(DAYS)
    kiosk("add", "days.csv")
    assert "report.html" in kiosk("report", "kiosk", "-o", "report.html").out
    assert kiosk("report", "--static", "--json").document == {"file": "kiosk.html"}
    small, large = ((folder / name).read_text() for name in ("kiosk.html", "report.html"))
    assert "<script" not in small
    assert len(small) < len(large) / 2
    kiosk("report", "-o", "no/such/folder/x.html", code=2)
    kiosk("report", "-o", "x.pdf", code=2)
    assert "kisok" in kiosk("report", "kisok", code=2).err


def test_benchmarks(terminal):
    words = ("bench", "--problem", "newsvendor", "--seeds", 1, "--iterations", 1)
    (row,) = terminal(*words, "--method", "random", "--json").document
    assert row["method"] == "random"
    assert "did you mean" in terminal(*words, "--method", "randm", code=2).err
    assert "control sets" in terminal(*words, "--method", "etc-ada", code=2).err
    assert "random" in terminal(*words, "--method", "random").out


def test_lists_for_scripts(terminal):
    assert "drbo-kde" in terminal("methods", "--json").document
    assert "newsvendor" in terminal("problems", "--json").document
    assert "kde-fig1" in terminal("figures", "--json").document


def test_every_command_has_an_example_and_speaks_to_scripts(terminal):
    commands = typer.main.get_command(app).commands
    assert len(commands) == 26
    assert set(commands) == set(ORDER)
    for name in commands:
        said = terminal(name, "--help").out
        assert f"Example: allweather {name}" in " ".join(said.split()), name
        assert "--json" in said, name
