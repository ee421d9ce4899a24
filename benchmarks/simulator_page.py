"""The tables of docs/botorch_risk.md, from the stored results of `simulator` and `botorch_tutorial`."""

from __future__ import annotations

from pathlib import Path

from benchmarks import botorch_tutorial, simulator
from benchmarks.evidence import filled
from benchmarks.paired import read

PAGE = Path(__file__).parents[1] / "docs" / "botorch_risk.md"


def tables(regrets: Path = simulator.RESULTS, tutorial: Path = botorch_tutorial.RESULTS) -> dict[str, str]:
    """The tables by the name of their place on the page.

    Args:
        regrets: stored results of `python -m benchmarks simulator`.
        tutorial: stored results of `python -m benchmarks botorch_tutorial`.
    """
    results = read(regrets)
    said = "\n".join(f"- {line}" for line in simulator.verdicts(results))
    return {
        "simulator": f"{simulator.table(results)}\n\n{said}" if results else "Not run yet.",
        "botorch": "\n".join(botorch_tutorial.table(tutorial)) if tutorial.is_file() else "Not run yet.",
    }


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(), tables()))
    print(PAGE.name)
