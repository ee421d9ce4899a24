"""No code block of the documentation is left to itself: it runs, or it is declared to be no program."""

import re

import pytest
from tests.docs.fences import DOCS, blocks, pages

HERE = {"index.md", "dashboard.md", "howto/problem.md", "howto/cluster.md", "team.md"}
HERE |= {"coming_from/ax.md", "coming_from/baybe.md", "coming_from/xopt.md"}
"""Pages whose plain programs have tests of their own, in this folder."""
CONSOLE = {"index.md", "dashboard.md", "team.md", "methods.md", "lab.md", "messy_data.md", "install.md", "upgrade.md"}
"""Pages whose commands have; those of lab.md in tests/cli."""
NO_PROGRAM = {"text", "toml"}
DIRECTIVES = {"{toctree}", "{eval-rst}", "{code-cell}", "{note}", "{math}"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_block_runs_or_is_no_program(page):
    name = str(page.relative_to(DOCS))
    for block in blocks(page):
        if block.kind == "python":
            assert block.text.startswith(">>> ") or name in HERE, f"{block} is no doctest, and nothing runs it"
        elif block.kind == "console":
            assert name in CONSOLE, f"{block}: nothing runs these commands"
        elif not block.kind:
            assert block.text.startswith("# then\n"), f"{block}: only what other tools understood once may be bare"
        else:
            assert block.kind in NO_PROGRAM | DIRECTIVES, f"{block} is of no kind that is known to run"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_python_hides_in_plain_text(page):
    """What is declared text does not compile as a program that uses the library."""
    for block in blocks(page):
        if block.kind in NO_PROGRAM:
            assert not re.search(r"^\s*(import allweather|from allweather|>>> )", block.text, re.MULTILINE), str(block)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_program_is_merely_indented(page):
    """Blocks without a fence say no language, and no test would see them."""
    outside, fenced, before = [], False, ""
    for line in page.read_text().splitlines():
        fenced ^= line.startswith(("```", ":::"))
        if not fenced and line.startswith("    ") and not before.strip():
            outside.append(line)
        before = line
    assert outside == []


def test_doctests_are_collected_from_every_folder(pytestconfig):
    """Those of docs, docs/tutorials and docs/howto: by the glob and the paths of the configuration."""
    assert "docs" in pytestconfig.getini("testpaths")
    assert "--doctest-glob=*.md" in pytestconfig.getini("addopts")
    assert any(">>> " in page.read_text() for page in pages() if page.parent.name == "howto")
