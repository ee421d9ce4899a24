"""`verify`: whether all that a database holds can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from allweather.cli.app import STORAGE, app, print_error, print_line
from allweather.cli.options import JsonOption, SharedOptions, StorageOption

if TYPE_CHECKING:
    from allweather.storage import Journal


@app.command()
def verify(storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """Verify a database: read all of it, and name the events of each study that cannot be used.

    Every event and every spec has a checksum, by which other values in their place are noticed. The exit code is 3 if
    something is damaged.

    Example: allweather verify
    """
    from allweather.storage.journal import journals

    shared = SharedOptions(storage, None, as_json)
    database = shared.database()
    found = [_verified(journal) for journal in journals(database)]
    shared.print({"storage": database.address, "studies": found}, lambda: _print_studies(found))
    damaged = [study["name"] for study in found if not study["whole"]]
    if damaged:
        print_error(
            f"Damaged: {', '.join(damaged)}. Restore a backup, or save what can be read with `allweather backup`, "
            "which leaves out what is damaged."
        )
        raise typer.Exit(STORAGE)


def _verified(journal: Journal) -> dict[str, Any]:
    """Return what was found of a study, as plain data."""
    from allweather.storage.salvage import salvage_lines

    found = salvage_lines(journal)
    events = len(found.lines) - 1 + len(found.lost)
    whole = found.spec and not found.lost
    about = {"events": events, "damaged": found.lost, "said": found.said}
    return {"name": journal.name, "whole": whole, "spec": found.spec, **about}


def _print_studies(found: list[dict[str, Any]]) -> None:
    if not found:
        print_line("There is no study.")
    for study in found:
        print_line(f"{study['name']}: {study['events']} events, {study['said'] or 'all whole'}")
