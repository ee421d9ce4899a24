"""`export` and `import`: a whole study as a file."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from allweather.cli.app import app, speak
from allweather.cli.beginning import text_of, write_new
from allweather.cli.place import Place, studied
from allweather.errors import InvalidInput, require
from allweather.storage import Database, Journal, export_lines, import_lines
from allweather.storage.stored_study import StoredStudy

BIGGEST = 1_000_000_000
"""Characters of a study's file."""


@app.command()
@studied
def export(
    place: Place,
    file: Annotated[Path | None, typer.Argument(help="a new file; standard output if not given")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="the trials as a table for a spreadsheet")] = False,
) -> None:
    """Write a whole study as JSON lines, which `import` reads, or its trials as a table.

    Example: allweather export kiosk.jsonl
    """
    require(file is not None or not place.as_json, "export --json", "name a file for the study", "none")
    kept = place.kept() if csv else None
    journal = place.journal() if kept is None else kept.journal
    text = "".join(f"{line}\n" for line in export_lines(journal)) if kept is None else kept.history.table().to_csv()
    if file is None:
        typer.echo(text, nl=False)
        return
    write_new(file, text)
    document = {"study": journal.name, "file": str(file), "lines": text.count("\n")}
    place.say(document, lambda: speak(f"{journal.name} is in {file}"))


@app.command(name="import")
@studied
def bring_in(
    place: Place, file: Annotated[Path, typer.Argument(help="what `export` wrote; - for standard input")]
) -> None:
    """Read a study that `export` wrote, under its own name or another one given by --study.

    Example: allweather import kiosk.jsonl --study kiosk-copy
    """
    lines = (sys.stdin.read() if str(file) == "-" else text_of(file, BIGGEST)).split("\n")
    _rehearse(lines, place.study_name)
    database = Database(place.url)
    name = import_lines(database, lines, place.study_name)
    place.say({"study": name, "storage": database.address}, lambda: speak(f"{name} is in {database.address}"))


def _rehearse(lines: list[str], name: str | None) -> None:
    """Read the study aside first: what cannot be read is refused before anything is written."""
    with tempfile.TemporaryDirectory() as folder:
        aside = Database(f"sqlite:///{folder}/aside.db")
        try:
            StoredStudy.of(Journal.open(aside, import_lines(aside, lines, name))).history.table()
        except InvalidInput:
            raise
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as problem:
            raise InvalidInput(f"the file is no study that could go on: {type(problem).__name__} {problem}") from None
        finally:
            aside.close()
