"""The gallery shows every figure of a study, and its code is of functions that exist."""

import re

from tests.docs.fences import DOCS

from allweather import plots

PAGE = (DOCS / "figures.md").read_text()
ROWS = re.findall(
    r"^\| \[!\[.*?\]\((images/.*?)\)\]\(#(.*?)\) \| `aw\.plots\.(\w+)\(.*\)` \| .+\? \|$", PAGE, re.MULTILINE
)


def test_every_figure_is_in_the_gallery_with_a_picture_and_a_section():
    assert {name for _, _, name in ROWS} == {*plots.STUDY_FIGURES, "policy", "comparison"}
    headings = {re.sub(r"\W+", "-", line.lower()) for line in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)}
    for image, section, name in ROWS:
        assert (DOCS / image).is_file()
        assert section in headings
        assert callable(getattr(plots, name))
        assert PAGE.count(image) == 2, "a thumbnail, and the picture in its section"
