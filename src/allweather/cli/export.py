"""`export` and `import`: a study as a file."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from allweather._utils.formatting import tame
from allweather.cli.app import app, print_error, print_line
from allweather.cli.files import read_file, write_new_file
from allweather.cli.options import SharedOptions, with_study_options
from allweather.errors import InvalidInput, require
from allweather.storage import export_lines, import_lines

MAX_FILE = 1_000_000_000
"""Characters of an exported study."""


@app.command()
@with_study_options
def export(
    shared: SharedOptions,
    file: Annotated[Path | None, typer.Argument(help="a new file; default: standard output")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="only the trials, as a table")] = False,
    salvage: Annotated[bool, typer.Option("--salvage", help="what can be read of a damaged study")] = False,
) -> None:
    """Write a study as JSON lines, which `import` reads, or its trials as a CSV table.

    Example: allweather export kiosk.jsonl
    """
    require(file is not None or not shared.as_json, "export --json", "name a file for the study", "no file name")
    require(not (csv and salvage), "export --salvage", "be given without --csv", "both")
    if salvage:
        from allweather.storage.salvage import salvage_lines

        journal = shared.journal()
        saved = salvage_lines(journal)
        text = "".join(f"{line}\n" for line in saved.lines)
        damaged = f"The study {journal.name!r} is damaged: {saved.said}."
        print_error(damaged if saved.said else "Nothing is damaged: all events can be used.")
    elif csv:
        log = shared.log()
        journal, text = log.journal, log.trials().map(tame).rename(columns=tame).to_csv()
    else:
        journal = shared.journal()
        text = "".join(f"{line}\n" for line in export_lines(journal))
    if file is None:
        typer.echo(text, nl=False)
        return
    write_new_file(file, text)
    document = {"study": journal.name, "file": str(file), "lines": text.count("\n")}
    shared.print(document, lambda: print_line(f"Exported {journal.name} to {file}"))


@app.command(name="import")
@with_study_options
def import_study(
    shared: SharedOptions,
    file: Annotated[Path, typer.Argument(help="a file written by `export`; - for standard input")],
) -> None:
    """Read a study that `export` wrote, under its own name or the one given by --study.

    Example: allweather import kiosk.jsonl --study kiosk-copy
    """
    from allweather.storage import Database

    lines = (sys.stdin.read() if str(file) == "-" else read_file(file, MAX_FILE)).split("\n")
    _check(lines, shared.study_name)
    database = Database(shared.url)
    name = import_lines(database, lines, shared.study_name)
    document = {"study": name, "storage": database.address}
    shared.print(document, lambda: print_line(f"Imported {name} into {database.address}"))


def _check(lines: list[str], name: str | None) -> None:
    """Read the study into a temporary database first, so that an invalid file changes nothing."""
    from allweather.storage import Database, Journal
    from allweather.study import StudyLog

    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/check.db")
        try:
            log = StudyLog.of(Journal.open(database, import_lines(database, lines, name)))
            log.trials()
            if not log.spec.code:
                log.spec.decoded()
        except InvalidInput:
            raise
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InvalidInput(f"the file does not hold a valid study: {type(error).__name__} {error}") from None
        finally:
            database.close()
