"""`verify`: whether all that a database holds can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from allweather.cli.app import STORAGE, app, print_error, print_line
from allweather.cli.options import JsonOption, SharedOptions, StorageOption
from allweather.errors import StorageError

if TYPE_CHECKING:
    from allweather.storage import Journal


@app.command()
def verify(storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """Verify a database: read all of it, and name the events of each study that cannot be used.

    The exit code is 3 if something is damaged. Values that were replaced by other valid ones are not noticed.

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

    try:
        _ = journal.spec
        described = True
    except StorageError:
        described = False
    lines, lost = salvage_lines(journal)
    events = len(lines) - 1 + len(lost)
    return {
        "name": journal.name,
        "whole": described and not lost,
        "spec": described,
        "events": events,
        "damaged": lost,
    }


def _print_studies(found: list[dict[str, Any]]) -> None:
    if not found:
        print_line("There is no study.")
    for study in found:
        shown = ", ".join(map(str, study["damaged"][:20])) + (", ..." if len(study["damaged"]) > 20 else "")
        problems = [f"cannot be used: {shown}"] if shown else []
        problems += [] if study["spec"] else ["what it is made of cannot be read"]
        print_line(f"{study['name']}: {study['events']} events, {'; '.join(problems) or 'all whole'}")
