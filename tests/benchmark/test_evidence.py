"""The page about defaults shows what the stored results say."""

from benchmarks import evidence


def test_the_page_is_what_the_results_say():
    page = evidence.PAGE.read_text()
    assert evidence.filled(page, evidence.tables()) == page
    assert "| default |" in page
    assert "| all problems |" in page


def test_tables_are_put_in_their_places():
    page = "Before\n<!-- a -->\nold\n<!-- end -->\nbetween\n<!-- b -->\n<!-- end -->\n"
    filled = evidence.filled(page, {"a": "| 1 |", "b": "| 2 |"})
    assert filled == "Before\n<!-- a -->\n\n| 1 |\n\n<!-- end -->\nbetween\n<!-- b -->\n\n| 2 |\n\n<!-- end -->\n"
    assert evidence.filled(filled, {"a": "| 1 |", "b": "| 2 |"}) == filled
