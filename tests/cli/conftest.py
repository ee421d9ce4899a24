"""A command line in a folder of its own, with a study of a newsvendor."""

import json
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from allweather.cli import app

KIOSK = """
name = "kiosk"
seed = 7
objective = { name = "dro", distance = { name = "total-variation", radius = 0.2 } }

[context]
name = "kde"
samples = 64

[variables]
order = { lower = 0, upper = 100 }
demand = { lower = 0, upper = 100, context = true }
"""


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """Runs `allweather` with some words, in this process."""

    def __call__(self, *words: object, code: int = 0, typed: str | None = None) -> Ended:
        ended = CliRunner().invoke(app, [str(word) for word in words], input=typed)
        crashed = ended.exception is not None and not isinstance(ended.exception, SystemExit)
        assert not crashed, repr(ended.exception)
        assert ended.exit_code == code, ended.output
        assert "Traceback" not in ended.output
        return Ended(ended.exit_code, ended.stdout, ended.stderr)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALLWEATHER_STORAGE", raising=False)
    (tmp_path / "kiosk.toml").write_text(KIOSK)
    return tmp_path


@pytest.fixture
def terminal(folder):
    return Terminal()


@pytest.fixture
def kiosk(terminal):
    """A terminal in a folder where the study has begun."""
    terminal("init", "kiosk.toml")
    return terminal
