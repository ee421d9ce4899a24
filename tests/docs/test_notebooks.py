"""Pages that run while they are built also run here, with the assertions that hold their sentences."""

import ast

import matplotlib
import pytest
from tests.docs.fences import DOCS, blocks, pages

matplotlib.use("agg")
HEADER = "---\nfile_format: mystnb\n"
NOTEBOOKS = [page for page in pages() if page.read_text().startswith(HEADER)]
TUTORIALS = ("newsvendor", "crop", "drift", "shift", "simulator", "reactor")
CASES = ("stall", "greenhouse", "nile")
WANTED = ["choosing", "control", *(f"tutorials/{name}" for name in TUTORIALS), *(f"cases/{name}" for name in CASES)]


def test_the_tutorials_and_cases_are_there():
    assert {str(page.relative_to(DOCS).with_suffix("")) for page in NOTEBOOKS} >= set(WANTED)


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "__main__"}
    checked = 0
    for cell in blocks(page):
        if cell.kind != "{code-cell}":
            continue
        assert cell.argument == "python", f"{cell}: only Python is run"
        assert "raises-exception" not in cell.options.get("tags", ""), f"{cell}: what fails would go unnoticed"
        # The file's own line numbers, so that a failure names the place.
        code = ast.increment_lineno(ast.parse(cell.text, str(page)), cell.line + len(cell.options))
        exec(compile(code, str(page), "exec"), space)
        checked += sum(isinstance(each, ast.Assert) for each in ast.walk(code))
    assert checked >= 3, "the conclusions of a page are held by assertions"
