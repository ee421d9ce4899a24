"""Backups: all studies of a database in one file of JSON lines, checked before anything is restored from it."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterable, Iterator

from allweather.errors import InvalidInput, StorageError, require
from allweather.storage.database import Database
from allweather.storage.export import FORMAT, export_lines, import_lines
from allweather.storage.journal import journals, names
from allweather.storage.salvage import Salvaged, salvage_lines

log = logging.getLogger("allweather")


def backup_lines(database: Database, damaged: dict[str, Salvaged] | None = None) -> Iterator[str]:
    """Return all studies of a database as lines of JSON, while they are in use; each study as it is at one moment.

    Of a damaged study it is what can be read.

    Args:
        database: holds the studies.
        damaged: receives the names of damaged studies, with what was saved of them and what was not; without it a
            warning is logged.
    """
    for journal in journals(database):
        try:
            yield from list(export_lines(journal))
        except StorageError:
            saved = salvage_lines(journal)
            if damaged is None:
                log.warning("the study %r is damaged; events left out: %s", journal.name, saved.lost)
            else:
                damaged[journal.name] = saved
            yield from saved.lines


def restore_lines(database: Database, lines: Iterable[str]) -> list[str]:
    """Restore the studies of a backup into a database that has none of these names; all of them or none.

    The whole backup is read and checked in a temporary database first.

    Args:
        database: receives the studies.
        lines: of a backup.

    Returns:
        The names of the studies.
    """
    studies = list(_studies(lines))
    require(len(studies) > 0, "restore", f"read a backup, which begins with a header of format {FORMAT!r}", "no study")
    with tempfile.TemporaryDirectory() as folder:
        trial = Database(f"sqlite:///{folder}/check.db")
        try:
            found = [import_lines(trial, study) for study in studies]
        finally:
            trial.close()
    taken = sorted(set(found) & set(names(database)))
    new = "restore into a new database with --storage, or rename the studies that are there"
    require(not taken, "restore", f"find no study of the same name in {database.address}", taken, new)
    restored: list[str] = []
    for study in studies:
        try:
            restored.append(import_lines(database, study))
        except (InvalidInput, StorageError) as error:
            done = f"; restored before: {', '.join(restored)}" if restored else ""
            raise StorageError(f"{error}{done}") from error
    return restored


def _studies(lines: Iterable[str]) -> Iterator[list[str]]:
    """Divide the lines of a backup into those of each study."""
    study: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if study and _is_header(line):
            yield study
            study = []
        study.append(line)
    if study:
        yield study


def _is_header(line: str) -> bool:
    try:
        row = json.loads(line) if line.startswith('{"format"') else None
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and row.get("format") == FORMAT
