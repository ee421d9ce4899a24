"""The page of all items names tests, errata, commands, methods and problems that exist, and leaves none out."""

import itertools
import re
from pathlib import Path

import pytest

import allweather as aw
from allweather.benchmark import reproducible
from allweather.methods import methods
from allweather.problems import problems

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "items.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
OTHERS = {
    *("borisk", "v-ucb", "cv-ucb", "drbqo", "mva-bo", "robust-entropy-search", "robos", "drbo-simulator"),
    *("drcc", "carbo", "mars", "bpt-ucb", "ledrbo"),
    *("branin-williams", "marzat-f4", "marzat-f6", "queue", "rare-failure", "robot-push-short"),
}
"""Methods and problems that are not of the five papers: docs/methods.md."""
ITEMS = [row for row in ROWS if row[0] not in ("item", "---") and "not reproduced" not in row[1]]


def test_every_row_has_a_name_evidence_and_a_command():
    assert len(ITEMS) > 70
    assert [row for row in ITEMS if len(row) != 4 or not all(row)] == []


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
    commands = {row[3].strip("`") for row in ITEMS}
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
    others = [name for row in ITEMS for name in re.findall(r"`([A-Z]\w+)`", row[1]) if name != "ScheduledJudge"]
    assert others
    assert [name for name in others if not hasattr(aw, name)] == []
