"""`backup` and `restore`: all studies of a database as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allweather.cli.app import STORAGE, app, print_error, print_line
from allweather.cli.export import MAX_FILE
from allweather.cli.files import read_file, write_new_file
from allweather.cli.options import JsonOption, SharedOptions, StorageOption


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="a new file")],
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all studies of a database to one file, also while they are in use.

    Of a damaged study what can be read is written, what cannot is named, and the exit code is 3.

    Example: allweather backup kiosk-backup.jsonl
    """
    from allweather.storage.backup import backup_lines
    from allweather.storage.salvage import Salvaged

    shared = SharedOptions(storage, None, as_json)
    database = shared.database()
    damaged: dict[str, Salvaged] = {}
    text = "".join(f"{line}\n" for line in backup_lines(database, damaged))
    write_new_file(file, text, private=True)
    lost = {name: saved.lost for name, saved in damaged.items()}
    document = {"storage": database.address, "file": str(file), "lines": text.count("\n"), "damaged": lost}
    shared.print(document, lambda: print_line(f"Saved the studies of {database.address} in {file}"))
    for name, saved in damaged.items():
        print_error(f"The study {name!r} is damaged: {saved.said}.")
    if damaged:
        raise typer.Exit(STORAGE)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="a file written by `backup`")],
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore the studies of a backup, after all of it was checked; no study that exists is changed.

    Example: allweather restore kiosk-backup.jsonl --storage sqlite:///restored.db
    """
    from allweather.storage import Database
    from allweather.storage.backup import restore_lines

    shared = SharedOptions(storage, None, as_json)
    lines = read_file(file, MAX_FILE).split("\n")
    database = Database(shared.url)
    names = restore_lines(database, lines)
    document = {"studies": names, "storage": database.address}
    shared.print(document, lambda: print_line(f"Restored {', '.join(names)} into {database.address}"))
