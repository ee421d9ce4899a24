"""What docs/dashboard.md tells programs to send is what the server understands."""

import re
import shlex

import httpx
import pytest
from tests.docs.fences import DOCS, alike, blocks, commands
from tests.warm import program
from typer.testing import CliRunner

import allweather as aw
from allweather.cli import app

BLOCKS = blocks(DOCS / "dashboard.md")
ASKED = [each for block in BLOCKS if block.kind == "console" for each in commands(block.text.replace("\\\n", " "))]
THERE = "http://127.0.0.1:8080"
"""Where the page's examples have the server."""


@pytest.fixture
def server(tmp_path):
    """The command of the page on a free port, with the study of its examples: seven trials are told."""
    url = f"sqlite:///{tmp_path / 'kiosk.db'}"
    space = aw.Space(order=aw.Real(0, 100), demand=aw.Context(0, 100))
    study = aw.Study(space, context=aw.KDE(32), storage=url, name="kiosk", initial=3)
    study.add([{"order": 10 * n, "demand": 30, "value": 9 * min(10 * n, 30) - 50 * n} for n in range(7)])
    (command, printed), *_ = [each for each in ASKED if each[0].startswith("allweather dashboard")]
    words = [*shlex.split(command)[1:], "--port", "0"]
    with program("-m", "allweather.cli", *words, cwd=tmp_path, quiet=False) as process:
        said = process.stdout.readline()
        address = re.search(r"http://[\d.:]+", said).group(0)
        assert alike(said.replace(address, THERE), printed), said
        yield address


def answered(command: str, address: str) -> httpx.Response:
    """What a command of curl would get; an unknown option of it fails."""
    words = shlex.split(command.replace(THERE, address))[1:]
    method, headers, body, url = "GET", {}, None, ""
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = words.pop(0)
        else:
            assert word.startswith("http"), word
            url = word
    return httpx.request(method, url, headers=headers, content=body, timeout=120).raise_for_status()


def test_what_is_sent_is_understood(server):
    curls = [(command, printed) for command, printed in ASKED if command.startswith("curl")]
    assert len(curls) == 6
    asked, told, recommended, near, policy, added = (answered(command, server) for command, _ in curls)
    (trial,) = asked.json()["trials"]
    shape = re.sub(r'"order":[\d.]+', '"order":0', curls[0][1]).strip()
    assert re.sub(r'"order":[\d.]+', '"order":0', asked.text) == shape
    assert trial["number"] == 7
    assert "42.5" in told.text
    assert 0 <= recommended.json()["decision"]["order"] <= 100
    assert near.json()["ranges"]
    assert policy.json()["rows"]
    assert [trial["state"] for trial in added.json()["trials"]][-1] == "failed"
    (worker,) = [block.text for block in BLOCKS if block.kind == "python"]
    sold = []

    def sell(order):
        sold.append(order)
        return 30.0, 9 * min(order, 30.0) - 5 * order

    exec(compile(worker.replace(THERE, server), "dashboard.md", "exec"), {"sell": sell})
    assert len(sold) == 10


def test_the_other_commands_are_known():
    """What a test cannot run here: an installation, a token in the environment, a server for others."""
    others = [command for command, _ in ASKED if not command.startswith("curl")]
    assert [command.split()[0] for command in others] == ["pip", "allweather", "export", "allweather", "allweather"]
    known = CliRunner().invoke(app, ["dashboard", "--help"]).stdout
    for option in re.findall(r"--[\w-]+", " ".join(others[3:])):
        assert option in known, option
