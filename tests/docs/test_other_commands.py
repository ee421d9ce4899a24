"""The commands of docs/team.md and docs/methods.md, with smaller numbers and a file in place of PostgreSQL."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.docs.fences import DOCS, blocks, commands
from typer.testing import CliRunner

from allweather.cli import app

SMALLER = {
    "--trials 50": "--trials 3",
    "--trials 200": "--trials 4",
    "--workers 4": "--workers 2",
    "--workers 2": "--workers 1",
    "--seeds 5": "--seeds 1",
    "--iterations 60": "--iterations 2",
}
NOT_HERE = ("pip install", "createdb", "export ALLWEATHER_STORAGE")
"""What needs a network, a server, or a shell that stays."""


def asked(page: str) -> list[str]:
    return [command for block in blocks(DOCS / page) if block.kind == "console" for command, _ in commands(block.text)]


def ran(command: str) -> str:
    for large, small in SMALLER.items():
        command = command.replace(large, small)
    ended = CliRunner().invoke(app, shlex.split(command)[1:])
    assert ended.exit_code == 0, f"{command}: {ended.output}"
    return ended.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALLWEATHER_STORAGE", "sqlite:///robot.db")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_a_team(folder):
    (recipe,) = [block.text for block in blocks(DOCS / "team.md") if block.kind == "toml"]
    (program,) = [block.text for block in blocks(DOCS / "team.md") if block.text.startswith("import json")]
    (folder / "robot.toml").write_text(recipe)
    (folder / "push.py").write_text(program)
    said = {command: ran(command) for command in asked("team.md") if not command.startswith(NOT_HERE)}
    (stopping,) = [" ".join(text.split()) for command, text in said.items() if "--until-gain" in command]
    assert "The possible gain is" in stopping or "the possible gain was" in stopping
    assert re.search("[5-7] complete", said["allweather show"])  # the initial design has five
    assert re.search("importance", said["allweather check"])
    assert "gain = " in said["allweather recommend"]
    assert (folder / "robot.png").is_file()
    assert len((folder / "robot.jsonl").read_text().splitlines()) > 6
    (importing,) = re.findall(r"`(allweather import \S+)`", (DOCS / "team.md").read_text())
    ran(f"{importing} --storage sqlite:///elsewhere.db")


def test_a_figure_of_a_paper(folder):
    figures, reproduce = asked("methods.md")
    assert "kde-fig1" in ran(figures)
    assert "ackley" in ran(reproduce)
    assert any((folder / "reproductions").iterdir())
