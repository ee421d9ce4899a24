"""Every leaf of the decision trees ends in a line of code, and the study that it makes can be asked."""

import re

import pytest
from tests.docs.fences import DOCS, blocks

import allweather as aw

PAGE = DOCS / "which_method.md"


def leaves() -> list[str]:
    """The items of the page's lists that have no items of their own."""
    items: list[tuple[int, str]] = []
    for line in PAGE.read_text().splitlines():
        if opened := re.match(r"( *)- (.*)", line):
            items.append((len(opened[1]), opened[2]))
        elif items and line.startswith("  "):
            items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip()}")
    depths = [depth for depth, _ in items] + [0]
    return [text for (depth, text), after in zip(items, depths[1:], strict=True) if after <= depth]


def prepared() -> dict[str, object]:
    """What the page defines before its trees."""
    names: dict[str, object] = {}
    exec(re.sub(r"^>>> ", "", blocks(PAGE)[0].text, flags=re.MULTILINE), names)
    return names


def test_there_are_trees():
    assert len(leaves()) >= 30


@pytest.mark.parametrize("leaf", leaves(), ids=lambda leaf: leaf.partition(":")[0][:40])
def test_a_leaf_ends_in_code_that_runs(leaf):
    found = re.search(r"`([^`]+)`$", leaf)
    assert found, "a leaf ends in one line of code"
    names = prepared()
    before = names["study"]
    exec(found[1], names)
    made = names["study"]
    assert isinstance(made, aw.Study)
    if made is not before and "cautious" not in leaf:  # a cautious study asks only after an earlier result
        assert made.ask().state == "pending"
