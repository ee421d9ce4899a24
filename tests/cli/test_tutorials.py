"""What docs/lab.md shows is what happens: the same lines, whatever the numbers."""

import re
import shlex
from pathlib import Path

import pytest

TUTORIAL = (Path(__file__).parents[2] / "docs" / "lab.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)


def shape(text: str) -> list[str]:
    """Lines without the numbers, the names that a seed chooses, and the widths of tables."""
    plain = re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", text)
    plain = re.sub(r"chalk|silica", "filler", plain.replace("chalk | silica", "both"))
    return [" ".join(line.split()) for line in plain.splitlines() if line.strip() and line[0] not in "┏┃┡│└"]


@pytest.fixture
def laboratory(terminal, folder):
    for name, spec in zip(("glue", "coupling"), blocks("toml"), strict=True):
        (folder / f"{name}.toml").write_text(spec)
    (table,) = [block for block in blocks("text") if block.startswith("date;")]
    (folder / "lastyear.csv").write_text(table)
    return terminal


def test_the_laboratory(laboratory):
    for block in blocks("console"):
        for command, expected in re.findall(r"^\$ allweather (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            assert shape(laboratory(*shlex.split(command)).out) == shape(expected), command
