"""The pages about installation and upgrades: extras that exist, and commands that save and restore studies."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from tests.docs.fences import DOCS, blocks, commands
from typer.testing import CliRunner

from allweather.cli import app
from allweather.errors import InvalidInput
from allweather.storage import Database, import_lines
from allweather.study import Spec, StudyLog

NOT_HERE = ("git", "python3", "source", "pip")
"""Programs that need a network, or a shell that stays."""


def asked(page: str) -> list[str]:
    return [command for block in blocks(DOCS / page) if block.kind == "console" for command, _ in commands(block.text)]


def ran(command: str) -> str:
    ended = CliRunner().invoke(app, shlex.split(command)[1:])
    assert ended.exit_code == 0, f"{command}: {ended.output}"
    return ended.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a database of one study, in the place where commands look for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALLWEATHER_STORAGE", raising=False)
    Path("kiosk.toml").write_text(
        "[variables]\norder = { lower = 0, upper = 100 }\ndemand = { lower = 0, upper = 100, context = true }\n"
    )
    Path("days.csv").write_text("order,demand,value\n15,55,59\n15,10,21\n")
    ran("allweather init kiosk.toml")
    ran("allweather add days.csv")
    return tmp_path


def trials(address: str) -> list[float]:
    return StudyLog.open(address, "kiosk").trials()["value"].tolist()


def test_every_extra_is_in_the_table():
    named = set(
        re.findall(
            r"`([\w-]+)`", "".join(re.findall(r"^\| (`.*?) \|", (DOCS / "install.md").read_text(), re.MULTILINE))
        )
    )
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    assert named == set(project["optional-dependencies"])
    assert project["requires-python"] == ">=3.11"


def test_the_version_is_printed():
    (printed,) = [
        said
        for block in blocks(DOCS / "install.md")
        for command, said in commands(block.text)
        if "--version" in command
    ]
    assert ran("allweather --version") == printed


def test_an_upgrade_and_the_way_back(folder):
    verify, backup, copied, show, back, export, add = [
        each for each in asked("upgrade.md") if not each.startswith(NOT_HERE)
    ]
    assert "all whole" in ran(verify)
    for command in (backup, copied):
        ran(command)
    assert "2 complete" in ran(show)
    Path("days.csv").write_text("order,demand,value\n45,33,85\n")
    ran("allweather add days.csv")
    ran(back)
    assert trials("sqlite:///back.db") == [59, 21]
    ran(export)
    head, *rows = Path("since.csv").read_text().splitlines(keepends=True)
    Path("since.csv").write_text(head + "".join(rows[2:]))  # of the trials that the backup does not have
    ran(add)
    assert trials("sqlite:///back.db") == trials("sqlite:///allweather.db") == [59, 21, 85]


def test_what_a_newer_version_wrote_is_refused(folder):
    ran("allweather backup before.jsonl")
    lines = Path("before.jsonl").read_text().splitlines()
    with pytest.raises(InvalidInput, match="be of version 0001 or older"):
        import_lines(Database("sqlite:///other.db"), [lines[0].replace('"0001"', '"0002"'), *lines[1:]])
    with pytest.raises(InvalidInput, match="a later version wrote it: upgrade allweather"):
        Spec.from_dict({**StudyLog.open("sqlite:///allweather.db", "kiosk").spec.to_dict(), "version": 2})
