"""The campaign on wrong outcomes, in miniature."""

import json
from pathlib import Path

from benchmarks import outliers
from benchmarks.evidence import filled
from benchmarks.paired import read


def test_a_campaign_resumes_and_its_table_pairs_runs_of_a_seed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(outliers, "SHARE", 0.2)
    path = tmp_path / "outliers.jsonl"
    options = ["--problems", "newsvendor", "--seeds", "3", "--trials", "2", "--results", str(path)]
    outliers.main([*options, "--methods", "kept, clean", "set aside, wrong"])
    first = path.read_text()
    outliers.main(options)
    assert path.read_text().startswith(first)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["method"] for each in found] == ["kept, clean", "set aside, wrong", "set aside, clean", "kept, wrong"]
    assert found[1]["wrong"] == found[3]["wrong"] != []
    assert found[0]["recommended"] == found[2]["recommended"]
    assert not found[3]["set_aside"]
    printed = capsys.readouterr().out
    assert "| all | 1 | 1.00 (nan) |" in printed
    assert "clean: 1.00 (nan), target 1.03 met" in printed


def test_the_page_has_the_table_of_what_is_stored():
    text = (Path(__file__).parents[2] / "docs" / "messy_data.md").read_text()
    assert filled(text, {"outliers": "\n".join(outliers.page(read(outliers.RESULTS)))}) == text
