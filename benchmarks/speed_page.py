"""The tables of docs/speed.md and of README, from stored tables: `python -m benchmarks speed_page`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.evidence import filled, markdown
from benchmarks.stored_tables import FOLDER

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "speed.md", ROOT / "README.md")
NAMES = ("objectives", "asks", "methods", "worst_cases", "mmd_paths", "trials", "regret")


def tables(folder: Path = FOLDER) -> dict[str, str]:
    """The tables by the name of their place on the pages.

    Args:
        folder: of the stored tables.
    """
    stored = {name: json.loads(path.read_text()) for name in NAMES if (path := folder / f"{name}.json").is_file()}
    found = {name: _whole(stored[name]) if name in stored else "Not run yet." for name in NAMES}
    if "asks" in stored and "worst_cases" in stored:
        found["speed"] = f"{_asks(stored['asks'])}\n\n{_worst_cases(stored['worst_cases'])}"
    return found


def _whole(table: dict[str, Any]) -> str:
    said = ", ".join(f"{name} {number}" for name, number in table["libraries"].items())
    title = table["title"][0].upper() + table["title"][1:]
    note = f"{title}. Commit {table['commit']}, {table['date']}, {table['machine']}; {said}."
    return f"{markdown([table['columns'], *table['rows']])}\n\n{note}"


def _asks(table: dict[str, Any]) -> str:
    """One ask after 100 observations."""
    columns = ["one `ask`, 100 observations, 1024 contexts", "speed-up", "speed-up, raw samples in small batches"]
    place = {name: number for number, name in enumerate(table["columns"])}
    rows = [
        [f"`{row[place['objective']]}`", row[place["ratio"]], row[place["lean"]]]
        for row in table["rows"]
        if row[place["data"]] == "100"
    ]
    return f"{markdown([columns, *rows])}\n\n{_measured(table, 'botorch', 'cvxpy')}"


def _worst_cases(table: dict[str, Any]) -> str:
    """The range of ratios of each distance."""
    ratios: dict[str, list[int]] = {}
    for row in table["rows"]:
        ratios.setdefault(row[0], []).append(int(row[table["columns"].index("ratio")].rstrip("x")))
    columns = ["worst cases, 1024 decisions x 64 contexts", "speed-up over a compiled cvxpy program per decision"]
    rows = [[name, f"{min(each)}x to {max(each)}x"] for name, each in ratios.items()]
    return f"{markdown([columns, *rows])}\n\n{_measured(table, 'cvxpy', 'clarabel')}"


def _measured(table: dict[str, Any], *against: str) -> str:
    said = " and ".join(f"{name} {table['libraries'][name]}" for name in against)
    return f"Measured on {table['date']} at commit {table['commit']} against {said} ({table['machine']})."


def main() -> None:
    """Write the tables into the pages."""
    found = tables()
    for page in PAGES:
        page.write_text(filled(page.read_text(), found))
        print(page.name)
