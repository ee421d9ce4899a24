"""A pharmacist's file, from the table to the report, without editing it: what docs/messy_data.md shows happens."""

import re
import shlex

import pytest
from tests.cli.pharmacy import table
from tests.docs.fences import DOCS, alike, blocks, commands
from typer.testing import CliRunner

from allweather.cli import app

PAGE = DOCS / "messy_data.md"
COMPUTED = ("recommend", "check")
"""Commands whose numbers differ between processors by more than some percent."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALLWEATHER_STORAGE", raising=False)
    (tmp_path / "batches.csv").write_bytes(table())
    return tmp_path


def shape(text: str) -> list[str]:
    """Lines without numbers, without what intervals assume, and without tables, which are in the order of numbers."""
    told = [line for line in text.splitlines() if line.strip() and line[0] not in "┏┃┡│└"]
    lines = [line.partition(". Interval")[0] for line in told]
    return [" ".join(re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", line).split()) for line in lines]


def test_the_excerpt_is_of_the_file():
    (excerpt,) = [block.text for block in blocks(PAGE) if block.text.startswith("batch;")]
    assert set(excerpt.splitlines()) <= set(table().decode("cp1252").splitlines())


def test_from_the_file_to_the_report(folder):
    told = [each for block in blocks(PAGE) if block.kind == "console" for each in commands(block.text)]
    for command, expected in told:
        ended = CliRunner().invoke(app, shlex.split(command)[1:])
        assert ended.exit_code == (2 if "problems" in expected else 0), ended.output
        if shlex.split(command)[1] in COMPUTED:
            assert shape(ended.output) == shape(expected), command
            named = re.findall(r"trial \d+: outcome 2478|equal to trial \d+", expected)
            assert all(each in ended.output for each in named)
        else:
            assert alike(ended.output, expected), (command, ended.output)
    report = (folder / "batches.html").read_text()
    assert "The recommended decision has the best value" in report
    assert "Trials that look wrong" not in report
    assert (folder / "batches.csv").read_bytes() == table()
