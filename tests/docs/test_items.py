"""The page of all items names tests, errata, commands, methods and problems that exist, and leaves none out."""

import itertools
import re
from pathlib import Path

import pytest
from benchmarks import papers, stored_runs
from benchmarks.__main__ import ALL, CAMPAIGNS
from benchmarks.coverage import Coverage

import allweather as aw
from allweather.benchmark import reproducible
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import CATALOGUE
from allweather.methods import methods
from allweather.problems import problems

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "items.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.partition("\n## kde\n")[2].splitlines()
    if line.startswith("| ")
]
OTHERS = {
    *("borisk", "v-ucb", "cv-ucb", "drbqo", "mva-bo", "robust-entropy-search", "robos", "drbo-simulator"),
    *("drcc", "carbo", "mars", "bpt-ucb", "ledrbo"),
    *("branin-williams", "marzat-f4", "marzat-f6", "queue", "rare-failure", "robot-push-short"),
}
"""Methods and problems that are not of the five papers: docs/methods.md."""
ITEMS = [row for row in ROWS if row[0] not in ("item", "---") and "not reproduced" not in row[2]]
REMARKS = {
    int(number): (paper, state, text)
    for paper, block in re.findall(r"^### Remarks? on (\w+)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    for number, state, text in re.findall(
        r"^(\d+)\. \*\*(Settled|In part|Open)\W*\*\*(.*?)(?=^\d+\. |\Z)", block, re.MULTILINE | re.DOTALL
    )
}
"""By number: the paper, the state, and what is said of it."""


def test_every_row_has_a_state_a_name_evidence_and_a_command():
    assert len(ITEMS) > 70
    assert [row for row in ITEMS if len(row) != 5 or not all(row)] == []
    assert {row[1] for row in ITEMS} == {"agrees", "departs", "open", "ours"}
    assert [row for row in ITEMS if row[1] == "departs" and "errata.md#e" not in row[3]] == []


def test_figures_that_are_not_open_are_stored():
    records = list(stored_runs.read())
    open_ones, checked = set(), 0
    for row in ITEMS:
        for name in re.findall(r"(?:figure|table) `([\w-]+)`", row[2]):
            figure = CATALOGUE[name]
            if row[1] == "open":
                open_ones.add(name)
            elif isinstance(figure, Figure) and row[1] != "ours":
                own = [each for each in records if each["figure"] == (figure.journals or name)]
                covered = Coverage.of(figure, own)
                assert covered.reproduced == len(covered.panels), name
                checked += 1
    assert checked + len(open_ones) > 15


def test_there_are_thirty_remarks_in_the_states_that_are_counted():
    assert sorted(REMARKS) == list(range(1, 31))
    states = ("Settled", "In part", "Open")
    for paper in ("kde", "wasserstein", "phi", "bocu", "subsets"):
        found = [state for of, state, _ in REMARKS.values() if of == paper]
        assert f"| {paper} | " + " | ".join(str(found.count(state)) for state in states) + " |" in PAGE
        assert re.search(rf"\| {paper} \|( \d+ \|){{4}} {len(found)} \|", PAGE)
    whole = [state for _, state, _ in REMARKS.values()]
    assert "| all | " + " | ".join(str(whole.count(state)) for state in states) + " |" in PAGE


@pytest.mark.parametrize("number", range(1, 31))
def test_a_remark_names_tests_and_commands_that_exist(number):
    _, state, text = REMARKS[number]
    named = [
        (test, path)
        for tests, path in re.findall(r"((?:`test_\w+`,?\s+)+)in\s+`(tests/[\w/]+\.py)`", text)
        for test in re.findall(r"`(\w+)`", tests)
    ]
    assert len(named) == len(re.findall(r"`test_\w+`", text)), "a test without its file"
    for test, path in named:
        assert re.search(rf"^ *def {test}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path} has no {test}"
    commands = re.findall(r"`((?:allweather|python -m) [^`]+)`", text)
    for command in commands:
        check_command(command)
    assert named or commands
    assert state != "Settled" or named
    assert state != "In part" or "Open: " in text


def check_command(command):
    """A command that makes or shows what settles a remark."""
    words = command.split()
    given = dict(itertools.pairwise(words))
    if command.startswith("python -m benchmarks"):
        assert words[3] in {**ALL, **CAMPAIGNS}, command
        figures = {name for item in papers.ITEMS for name in (item.figure, item.figure.split("-")[0])}
        assert given.get("--figure", "kde") in figures, command
    else:
        assert words[:2] == ["allweather", "reproduce"], command
        assert words[2] in reproducible(), command


def test_all_commands_of_the_introduction_exist():
    commands = re.findall(r"`(python -m benchmarks [^`]+)`", PAGE.partition("## The 30 remarks")[0])
    assert len(commands) > 2
    for command in commands:
        check_command(command)


def test_tests_and_errata_exist():
    written = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert [name for name in sorted(named) if f"def {name}(" not in written] == []
    errata = (ROOT / "docs" / "errata.md").read_text()
    assert [number for number in re.findall(r"errata\.md#(e\d+)", PAGE) if f"({number})=" not in errata] == []


@pytest.mark.parametrize(
    ("words", "known"),
    [("methods?", methods), ("problems?", problems), ("figure|table", reproducible)],
    ids=["methods", "problems", "figures"],
)
def test_names_exist_and_none_is_missing(words, known):
    lists = re.findall(
        rf"\b(?:{words}) (`[^|;]*?)(?= \||, (?:figure|problem|table))", "\n".join(map(" | ".join, ITEMS))
    )
    named = {name for each in lists for name in re.findall(r"`([\w-]+)`", each)}
    # Other tests of the same process may have registered problems of their own.
    assert named == set(known()) - {"bakery"} - OTHERS


def test_commands_exist():
    commands = {row[4].strip("`") for row in ITEMS}
    for command in commands:
        words = command.split()
        if command == "python -m benchmarks schedules":
            continue
        assert words[0] == "allweather"
        given = dict(itertools.pairwise(words))
        if words[1] == "reproduce":
            assert words[2] in reproducible()
        else:
            assert words[1] == "bench"
            assert given["--method"] in methods()
        assert given.get("--problem", "ackley") in problems()


def test_other_names_are_public():
    others = [name for row in ITEMS for name in re.findall(r"`([A-Z]\w+)`", row[2]) if name != "ScheduledJudge"]
    assert others
    assert [name for name in others if not hasattr(aw, name)] == []
