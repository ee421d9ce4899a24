"""Journals: one line per trial of a run, from which a killed run goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allweather.trials import Trial

Entry = dict[str, Any]
"""A trial as plain data, under `trial`, and what was measured of it."""


@dataclass
class Journal:
    """The entries of a run, kept in a file if there is one."""

    path: Path | None = None
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path | None) -> Journal:
        """The entries so far; a last line that was cut off by a crash is taken back."""
        if path is None or not path.is_file():
            return cls(path)
        whole, _, torn = path.read_text().rpartition("\n")
        if torn:
            path.write_text(whole + "\n" if whole else "")
        return cls(path, [json.loads(line) for line in whole.splitlines()])

    def write(self, entry: Entry) -> None:
        """One more entry."""
        self.entries.append(entry)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def clear(self) -> None:
        """Start over."""
        self.entries.clear()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    @property
    def trials(self) -> list[Trial]:
        """The trials, as `Study.restore` takes them."""
        return [Trial.from_dict(entry["trial"]) for entry in self.entries]
