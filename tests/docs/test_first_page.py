"""A person who follows only the first page gets to a recommendation on their own CSV."""

import contextlib
import io
import re
import shlex
import tomllib

import pandas as pd
import pytest
from tests.docs.fences import DOCS, Block, alike, blocks, commands
from typer.testing import CliRunner

import allweather as aw
from allweather.cli import app

PAGE = DOCS / "index.md"
BLOCKS = blocks(PAGE)
INSTALL = ["git clone", "python3 -m venv", "source", "pip install"]
"""What a test cannot repeat without a network; tried by hand in an empty environment."""


def of_kind(kind: str) -> list[Block]:
    return [block for block in BLOCKS if block.kind == kind]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the files that the page tells to save."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALLWEATHER_STORAGE", raising=False)
    (table,) = [block.text for block in of_kind("text") if block.text.startswith("order,demand,value")]
    (recipe,) = of_kind("toml")
    (tmp_path / "days.csv").write_text(table)
    (tmp_path / "days.toml").write_text(recipe.text)
    return tmp_path


def ran(code: str) -> str:
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        exec(compile(code, str(PAGE), "exec"), {"__name__": "__main__"})
    return heard.getvalue()


@pytest.mark.parametrize("number", range(3), ids=["ten-lines", "recommend", "price"])
def test_a_program_prints_what_the_page_says(number, folder):
    programs = of_kind("python")
    assert len(programs) == 3
    program = programs[number]
    printed = BLOCKS[BLOCKS.index(program) + 1]
    assert printed.kind == "text"
    said = ran(program.text)
    assert alike(said, printed.text), said


def test_ten_lines_are_ten():
    assert len(of_kind("python")[0].text.splitlines()) == 10


def test_the_terminal_answers_what_the_page_says(folder):
    asked = [each for block in of_kind("console") for each in commands(block.text)]
    assert [command for command, _ in asked if not command.startswith(("allweather", *INSTALL))] == []
    for command, expected in asked:
        if command.startswith(tuple(INSTALL)):
            continue
        ended = CliRunner().invoke(app, shlex.split(command)[1:])
        assert ended.exit_code == 0, ended.output
        # Intervals are quantiles of 257 posterior samples, which differ by some percent between processors.
        assert alike(ended.stdout, expected, tolerance=0.05), (command, ended.stdout)
    report = (folder / "days.html").read_text()
    assert "without robustness" in report


def test_both_ways_say_the_same():
    (python,) = [BLOCKS[BLOCKS.index(block) + 1].text for block in of_kind("python")[1:2]]
    answers = [
        answer for block in of_kind("console") for command, answer in commands(block.text) if "recommend" in command
    ]
    assert answers[0] == python
    assert f"`{python.split(':')[0]}`" in PAGE.read_text()


def test_the_price_in_the_text_is_that_of_the_numbers():
    bold, careful = (
        [int(number) for number in re.findall(r": (-?\d+) a day, (-?\d+) after", line)[0]]
        for line in BLOCKS[BLOCKS.index(of_kind("python")[2]) + 1].text.splitlines()
    )
    text = " ".join(PAGE.read_text().split())
    assert f"gives up {bold[0] - careful[0]} a day" in text
    assert f"earns {careful[1] - bold[1]} more" in text


def test_the_install_line_names_what_there_is():
    root = DOCS.parent
    (line,) = [
        command for block in of_kind("console") for command, _ in commands(block.text) if command.startswith("pip")
    ]
    words = shlex.split(line)
    assert (root.parent / words[words.index("-c") + 1].replace("allweather", root.name, 1)).is_file()
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert re.search(r"\[(\w+)\]", words[-1]).group(1) in extras


def test_what_is_refused_is_refused_in_these_words(folder):
    table = PAGE.read_text()
    space = aw.Space(order=aw.Real(10, 60), demand=aw.Context(0, 100))
    study = aw.Study(space)
    row = {"order": 20, "demand": 30, "value": 77}
    with pytest.raises(aw.InvalidInput) as extra:
        study.add([{**row, "date": "Monday"}])
    assert "has unknown 'date'; its columns must be exactly" in str(extra.value)
    assert "`has unknown 'date'; its columns must be exactly ...`" in table
    with pytest.raises(aw.InvalidInput) as outside:
        study.add([row, {**row, "order": 61}])
    (words,) = re.findall(r"\| `([^`]*)` \| A row lies outside", table)
    assert words.removesuffix(" ...") in str(outside.value)
    assert study.trials().empty
    pd.read_csv(folder / "days.csv").assign(date="Monday").to_csv(folder / "dated.csv", sep=";", decimal=",")
    study.add(folder / "dated.csv", columns=["order", "demand", "value"])
    assert len(study.trials()) == 24
