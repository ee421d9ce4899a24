"""What a call visits is counted, and the page shows what was stored."""

import json

from benchmarks import walks


def test_a_call_is_counted_with_what_it_reads_and_makes():
    found = walks.walks(["`Study.tell`", "`Study.load`", "POST ask"])
    told, loaded, posted = found.values()
    assert 3 < told.files < loaded.files
    assert told.files < told.functions
    assert told.readings == 0
    assert loaded.readings >= 1
    assert told.selects >= 1
    assert (told.spaces, told.compositions) == (0, 0)
    assert loaded.spaces >= 1
    assert posted.files > told.files  # the server's own threads are counted


def test_the_package_is_measured():
    found = walks.sizes()
    assert 100 < found["modules"] < found["lines"]
    assert 1 <= found["longest chain of base classes of `Study`"] <= 3


def test_the_page_shows_columns_beside_each_other():
    walked = {"walks": {"`Study.ask`": {"files": 51, "functions": 274}}, "sizes": {"modules": 334}, "commit": "a"}
    after = {"walks": {"`Study.ask`": {"files": 40, "functions": 180}}, "sizes": {"modules": 290}, "commit": "b"}
    found = walks.tables({"before": walked, "after": after})
    assert found["walks"][1][:3] == ["`Study.ask`", "51 → 40", "274 → 180"]
    assert found["sizes"] == [["", "before", "after"], ["modules", "334", "290"], ["commit", "a", "b"]]


def test_the_committed_page_is_that_of_the_committed_counts(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(walks.PAGE.read_text())
    walks.write_page(json.loads(walks.RESULTS.read_text()), page)
    assert page.read_text() == walks.PAGE.read_text()
