"""Tables of benchmarks, printed, and with `--store` kept for the page about speed, with commit, machine and date."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.stored_runs import origin

FOLDER = Path(__file__).parent / "results" / "tables"
LIBRARIES = ("torch", "botorch", "gpytorch", "cvxpy", "clarabel")


class Stored:
    """Whether tables are kept, and where."""

    folder: Path | None = None


def show(name: str, table: Table, width: int) -> None:
    """Print a table, and keep it where that was asked for.

    Args:
        name: of the file.
        table: with plain text in its cells.
        width: of the console.
    """
    Console(width=width).print(table)
    if Stored.folder is not None:
        Stored.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(contents(table), indent=1, ensure_ascii=False)
        (Stored.folder / f"{name}.json").write_text(text + "\n")


def contents(table: Table) -> dict[str, Any]:
    """Return what a table says, with the versions it was measured with."""
    columns = [str(column.header) for column in table.columns]
    rows = [list(row) for row in zip(*([*column.cells] for column in table.columns), strict=True)]
    libraries = {name: version(name) for name in LIBRARIES}
    return {"title": str(table.title), "columns": columns, "rows": rows, **origin(), "libraries": libraries}
