"""What is imported when; in one new interpreter, since this one has imported everything."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import allweather as aw

COMMANDS = """
import sys
from typer.testing import CliRunner
from allweather.cli import app

HEAVY = ("torch", "scipy", "pandas", "botorch", "gpytorch", "matplotlib", "plotly", "alembic")

def run(*words):
    ended = CliRunner().invoke(app, [*words, "--storage", sys.argv[1]] if "--help" not in words else words)
    assert ended.exit_code == 0, ended.output
    found = [name for name in HEAVY if name in sys.modules]
    assert not found, (words, found)
    return ended.stdout

import allweather
run("--help")
for name in app.registered_commands:
    run(name.name or name.callback.__name__.replace("_", "-"), "--help")
completion = {"_ALLWEATHER_COMPLETE": "complete_bash", "COMP_WORDS": "allweather te", "COMP_CWORD": "1"}
assert CliRunner().invoke(app, [], prog_name="allweather", env=completion).stdout.strip() == "tell"
assert "sqlalchemy" not in sys.modules
run("tell", "0", "1.5", "--context", "demand=31")
run("correct", "0", "2.5")
run("correct", "0", "--withdraw")
run("add", sys.argv[2])
assert "2 complete" in run("show")
assert "demand" in run("show", "--json")
assert len(run("export").splitlines()) == 6
assert repr(allweather.Space(order=allweather.Real(0, 1)))
assert not [name for name in HEAVY if name in sys.modules]
assert allweather.Study is sys.modules["allweather.study"].Study
"""


@pytest.mark.slow
def test_commands_that_compute_nothing_import_nothing_heavy(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    space = aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100))
    study = aw.Study(space, method="wdrbo", storage=url, name="kiosk")
    study.ask()
    table = tmp_path / "season.csv"
    table.write_text("order,demand,value\n1,2,3\n4,5,6\n")
    ended = subprocess.run(
        [sys.executable, "-c", COMMANDS, url, str(table)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.parametrize("package", ["", "serialization", "storage", "surrogates"])
def test_lazy_names_are_those_that_type_checkers_see(package):
    module = sys.modules[f"allweather.{package}".rstrip(".")]
    tree = ast.parse(Path(module.__file__).read_text())
    imported = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    for name in module.__all__:
        assert getattr(module, name) is getattr(sys.modules[imported[name]], name), name
    assert set(module.__all__) <= set(dir(module))
    assert set(imported) - {"lazy_names"} == set(module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = module.Nothing


def test_modules_are_attributes_as_before():
    assert aw.storage.Database.__name__ == "Database"
    assert callable(aw.methods)
    assert {"Study", "storage", "methods", "__version__"} <= set(dir(aw))


def test_a_star_import_gives_every_public_name():
    names: dict[str, object] = {}
    exec("from allweather import *", names)
    assert set(aw.__all__) <= set(names)
