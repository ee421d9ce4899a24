"""Pages for users of other tools: programs of a tool run where it is installed, and what tables name exists."""

import re

import pytest
from tests.docs.fences import DOCS, program

import allweather as aw

PAGES = sorted((DOCS / "coming_from").glob("*.md"))
TEXTS = {page.stem: page.read_text() for page in PAGES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("tool", "result"), [("baybe", "batch"), ("xopt", "best")])
def test_programs_of_the_tool_run(tool, result):  # that of Ax runs where Ax is imported anyway, in test_ax_outcomes
    code, found = program(DOCS / "coming_from" / f"{tool}.md"), {}
    pytest.importorskip(tool, reason=f"{tool} is not installed: it is tested by `make integrations`")
    exec(code, found)
    decision = found[result].decision if tool == "xopt" else found[result].iloc[0]
    assert 0 <= decision["order"] <= 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_table_names_exists(page):
    rows = [line.split(" | ")[-1] for line in TEXTS[page.stem].splitlines() if line.startswith("| ")]
    ours = [code for row in rows[1:] for code in re.findall(r"`([^`]+)`", row)]
    assert len(ours) > 10
    for code in ours:
        assert [name for name in re.findall(r"\baw\.(\w+)", code) if not hasattr(aw, name)] == [], code
        assert [name for name in re.findall(r"\bstudy\.(\w+)", code) if not hasattr(aw.Study, name)] == [], code
        for made in re.findall(
            r"aw\.(?:Real|Integer|Choice|Context|LinearConstraint|AtMost|CVaR|VaR|Max\w+|Min\w+)\([^()]*\)", code
        ):
            if "..." not in made:
                eval(made, {"aw": aw})


def test_each_page_says_what_is_missing_and_is_found():
    assert sorted(TEXTS) == ["ax", "baybe", "botorch", "optuna", "xopt"]
    for name, text in TEXTS.items():
        assert "\n## What is missing here\n" in text
        for start in ("index.md", "comparison.md"):
            assert f"coming_from/{name}.md" in (DOCS / start).read_text(), start
