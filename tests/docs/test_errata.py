"""The errata are numbered without gaps, name tests that exist, and are what docstrings refer to."""

import re
from pathlib import Path

from tests.docs.fences import DOCS

ROOT = DOCS.parent
PAGE = (DOCS / "errata.md").read_text()
NUMBERS = [int(number) for number in re.findall(r"^### E(\d+)\. ", PAGE, re.MULTILINE)]


def test_numbers_are_consecutive_and_have_anchors():
    assert list(range(1, len(NUMBERS) + 1)) == NUMBERS
    assert [int(number) for number in re.findall(r"^\(e(\d+)\)=\n### E\1\. ", PAGE, re.MULTILINE)] == NUMBERS


def test_every_entry_has_its_four_parts():
    for entry in re.split(r"^\(e\d+\)=$", PAGE, flags=re.MULTILINE)[1:]:
        assert re.findall(r"^- \*\*(\w+):\*\*", entry, re.MULTILINE) == ["Place", "Difference", "Check", "Here"], entry


def test_the_tests_it_names_exist():
    named = re.findall(r"((?:`\w+`,?\s+)+)in\s+`(tests/[\w/]+\.py)`", PAGE)
    assert len(named) > 40
    for tests, path in named:
        source = (ROOT / path).read_text()
        for name in re.findall(r"`(\w+)`", tests):
            assert re.search(rf"(def|class) {name}\b", source), f"{path} has no {name}"


def test_references_to_it_are_to_entries():
    files = [path for folder in ("src", "benchmarks", "tests") for path in Path(ROOT / folder).rglob("*.py")]
    files += [ROOT / "README.md", *DOCS.rglob("*.md")]
    used = 0
    for path in files:
        text = path.read_text()
        for group in re.findall(r"errata\s+(E\d+(?:, E\d+| \([^)]*\), E\d+)*)", text):
            for number in re.findall(r"E(\d+)", group):
                used += 1
                assert int(number) in NUMBERS, f"{path.name}: errata E{number}"
        for number in re.findall(r"errata\.md#e(\d+)", text):
            assert int(number) in NUMBERS, f"{path.name}: errata.md#e{number}"
    assert used > 30
