"""The comparison's cells have evidence, and what can be looked up here is as the page says."""

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from tests.docs.fences import DOCS

PAGE = (DOCS / "comparison.md").read_text()
TABLES, EVIDENCE = PAGE.split("(where-we-looked)=")


def cells() -> list[list[str]]:
    """The tables' rows without their heads and their labels, and without the column about this library."""
    found, ours = [], False
    for line in TABLES.splitlines():
        if not line.startswith("|"):
            continue
        _, *row = (cell.strip() for cell in line.split("|")[1:-1])
        if set("".join(row)) == {"-"}:
            found.pop()  # the row before was a head
            continue
        if any(cell.startswith("allweather") for cell in row) or row[0] in ("BayBE", "bocu"):
            ours = row[0].startswith("allweather")
        found.append(row[1:] if ours else row)
    return found


def test_every_cell_about_others_has_evidence():
    assert {len(row) for row in cells()} == {2, 3, 4, 5}
    for row in cells():
        for cell in row:
            named = not cell or "](#looked-" in cell or "](https://" in cell or "](errata.md#" in cell
            on_paper = cell in ("chi-squared, total variation, KL (on paper)", "uniform sample")
            assert named or on_paper, cell


def test_every_key_leads_somewhere_and_none_is_left_over():
    used = set(re.findall(r"\[\\\[(\w\d+)\\\]\]", TABLES))
    told = set(re.findall(r"^\| (\w\d+) \|", EVIDENCE, re.MULTILINE))
    assert used == told


@pytest.mark.parametrize(("package", "named"), [("botorch", "0.18.1"), ("ax", "1.3.1"), ("optuna", "5.0.0")])
def test_what_was_not_found_is_not_there(package, named):
    try:
        installed = version({"ax": "ax-platform"}.get(package, package))
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    if installed != named:
        pytest.skip(f"the page is about {package} {named}, here is {installed}")
    assert f"{named}, as installed" in EVIDENCE
    (folder,) = importlib.util.find_spec(package).submodule_search_locations
    words = re.compile(r"wasserstein|total_variation|distributionally robust|RobustSearchSpace", re.IGNORECASE)
    assert [path for path in Path(folder).rglob("*.py") if words.search(path.read_text(errors="replace"))] == []
