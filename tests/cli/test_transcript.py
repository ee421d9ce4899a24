"""The whole newsvendor study from the terminal alone: every command in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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
def shell(tmp_path):
    (tmp_path / "kiosk.toml").write_text(KIOSK)
    inherited = {name: value for name, value in os.environ.items() if name != "ALLWEATHER_STORAGE"}

    def run(*words: object, code: int = 0, **environment: str) -> str:
        command = [str(Path(sys.executable).with_name("allweather")), *map(str, words)]
        ended = subprocess.run(
            command, cwd=tmp_path, env=inherited | environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stderr
        assert "Traceback" not in ended.stderr
        return ended.stdout if code == 0 else ended.stderr

    return run


def test_the_newsvendor_from_the_terminal_alone(shell):
    newsvendor, rng = problem("newsvendor"), np.random.default_rng(0)
    assert "Next: allweather ask" in shell("init", "kiosk.toml")
    for number in range(3):
        (trial,) = json.loads(shell("ask", "--json"))["trials"]
        assert trial["number"] == number
        context = newsvendor.draw(rng)
        value = newsvendor.observe(trial["decision"], context, rng)
        words = ("tell", number, repr(value), "--context", f"demand={context['demand']!r}", "--json")
        assert json.loads(shell(*words))["trial"]["values"] == [value]
    best = json.loads(shell("recommend", "--json"))
    assert 0 < best["decision"]["order"] < 0.6
    assert "3 complete" in shell("show")
    assert "did you mean 'demand'" in shell("tell", 0, 3, "--context", "demnd=3", code=2)
    shell("export", "kiosk.jsonl")
    shell("import", "kiosk.jsonl", ALLWEATHER_STORAGE="sqlite:///elsewhere.db")
    again = json.loads(shell("recommend", "--json", ALLWEATHER_STORAGE="sqlite:///elsewhere.db"))
    assert again == best
    here, there = (
        json.loads(shell("ask", "--json", "--storage", f"sqlite:///{name}.db")) for name in ("allweather", "elsewhere")
    )
    assert here == there
