"""The tables of docs/constraints.md, from the stored results of `constraints`, `cautious` and `mars_tutorial`."""

from __future__ import annotations

from pathlib import Path

from benchmarks import cautious, constraints, mars_tutorial
from benchmarks.evidence import filled

PAGE = Path(__file__).parents[1] / "docs" / "constraints.md"


def tables(
    runs: Path = constraints.RESULTS, asked: Path = cautious.RESULTS, mars: Path = mars_tutorial.RESULTS
) -> dict[str, str]:
    """The tables by the name of their place on the page.

    Args:
        runs: stored results of `python -m benchmarks constraints`.
        asked: stored results of `python -m benchmarks cautious`.
        mars: stored results of `python -m benchmarks mars_tutorial`.
    """
    return {
        "constraints": constraints.page_table(constraints.stored(runs)) if runs.is_file() else "Not run yet.",
        "cautious": cautious.table(asked) if asked.is_file() else "Not run yet.",
        "mars": mars_tutorial.table(mars) if mars.is_file() else "Not run yet.",
    }


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(), tables()))
    print(PAGE.name)
