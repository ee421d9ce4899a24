"""The whole newsvendor study from the terminal alone; some commands in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from allweather.cli import app
from allweather.problems import problem

KIOSK = """
name = "kiosk"
seed = 7
method = "drbo-kde"
initial = 2

[variables]
order = { lower = 0, upper = 1 }
demand = { lower = 0, upper = 1, context = true }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALLWEATHER_STORAGE", raising=False)
    (tmp_path / "kiosk.toml").write_text(KIOSK)
    return tmp_path


@pytest.fixture
def shell(folder):
    """Runs the installed command in a process of its own."""

    def run(*words: object, code: int = 0) -> str:
        command = [str(Path(sys.executable).with_name("allweather")), *map(str, words)]
        ended = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert "Traceback" not in ended.stderr
        return ended.stdout if code == 0 else ended.stderr

    return run


@pytest.fixture
def inside(folder):
    """Runs a command in this process: as `shell`, without the seconds that an import of torch takes."""

    def run(*words: object, **environment: str) -> str:
        ended = CliRunner(env=environment).invoke(app, [str(word) for word in words], prog_name="allweather")
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    return run


def test_the_newsvendor_from_the_terminal_alone(shell, inside):
    newsvendor, rng = problem("newsvendor"), np.random.default_rng(0)
    assert "Next: allweather ask" in inside("init", "kiosk.toml")
    for number in range(3):
        (trial,) = json.loads(inside("ask", "--json"))["trials"]
        assert trial["number"] == number
        context = newsvendor.draw(rng)
        value = newsvendor.observe(trial["decision"], context, rng)
        words = ("tell", number, repr(value), "--context", f"demand={context['demand']!r}", "--json")
        run = shell if number == 2 else inside
        assert json.loads(run(*words))["trial"]["values"] == [value]
    best = json.loads(inside("recommend", "--json"))
    assert 0 < best["decision"]["order"] < 0.6
    assert "3 complete" in shell("show")
    assert "did you mean 'demand'" in shell("tell", 0, 3, "--context", "demnd=3", code=2)
    inside("export", "kiosk.jsonl")
    inside("import", "kiosk.jsonl", ALLWEATHER_STORAGE="sqlite:///elsewhere.db")
    again = json.loads(inside("recommend", "--json", ALLWEATHER_STORAGE="sqlite:///elsewhere.db"))
    assert again == best
    here, there = (
        json.loads(run("ask", "--json", "--storage", f"sqlite:///{name}.db"))
        for run, name in ((shell, "allweather"), (inside, "elsewhere"))
    )
    assert here == there
