"""Tables of benchmarks are kept with what they were measured with, and the pages show those that are kept."""

import json
from pathlib import Path

import pytest
from benchmarks import speed_page, stored_tables
from benchmarks.evidence import filled
from rich.table import Table


def shown(name: str, columns: list[str], rows: list[list[str]]) -> None:
    table = Table(title=f"table of {name}")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    stored_tables.show(name, table, 200)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored_tables.Stored, "folder", tmp_path)
    shown(
        "asks", ["objective", "data", "ratio", "lean"], [["DRO(TV)", "50", "9x", "8x"], ["DRO(TV)", "100", "7x", "6x"]]
    )
    shown("worst_cases", ["distance", "ratio"], [["KL", "250x"], ["KL", "310x"], ["MMD", "40x"]])
    return tmp_path


def test_a_table_is_kept_with_commit_and_versions(folder, capsys):
    kept = json.loads((folder / "asks.json").read_text())
    assert kept["rows"][1] == ["DRO(TV)", "100", "7x", "6x"]
    assert {"commit", "date", "machine"} <= kept.keys()
    assert {"botorch", "cvxpy"} <= kept["libraries"].keys()


def test_nothing_is_kept_unless_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stored_tables, "FOLDER", tmp_path)
    shown("asks", ["objective"], [["DRO(TV)"]])
    assert "DRO(TV)" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_pages_show_what_is_kept(folder):
    found = speed_page.tables(folder)
    assert "| DRO(TV) | 50 | 9x | 8x |" in found["asks"]
    assert found["methods"] == "Not run yet."
    assert "| `DRO(TV)` | 7x | 6x |" in found["speed"]
    assert "| KL | 250x to 310x |" in found["speed"]
    assert "9x" not in found["speed"]  # of 50 observations


def test_the_committed_pages_are_those_of_the_committed_tables():
    for page in speed_page.PAGES:
        assert filled(page.read_text(), speed_page.tables()) == page.read_text()
