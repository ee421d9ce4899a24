"""What a journal says that a study is made of: as it was created, and after every change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from allweather.errors import InvalidInput, StorageError, require
from allweather.serialization.changes import Difference, differences, merge_fields
from allweather.serialization.checks import below
from allweather.serialization.fields import check_fields
from allweather.serialization.spaces import decode_space
from allweather.space import Space
from allweather.space.changes import changed_space


@dataclass(frozen=True, eq=False)
class Settings:
    """The document that a study was created with, and what was changed since."""

    document: Mapping[str, Any]
    name: str
    """Of the study."""
    changes: tuple[Mapping[str, Any], ...] = ()
    """What each event says that changed the study, in order."""

    @classmethod
    def of(cls, journal: Any, changes: Sequence[Mapping[str, Any]] | None = None) -> Settings:
        """Return the settings of a journal's study, unless somebody has written something else there.

        Args:
            journal: of the study.
            changes: what was changed, if it was read before.
        """
        try:
            made = journal.spec
        except (ValueError, TypeError, RecursionError):
            made = {"study": None}
        if not isinstance(made.get("study", {}), dict) or not isinstance(made.get("spec"), dict | None):
            said = "what it was made with must be a JSON object, and is not: restore a copy"
            raise StorageError(f"{journal.name}: {said}")
        if changes is None:
            changes = [event.content for event in journal.read(kind="changed")]
        return cls(made, journal.name, tuple(changes))

    @property
    def identity(self) -> Mapping[str, str]:
        """What the study was created with, part by part, as text."""
        return dict(self.document.get("study", {}))

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes, empty where there is one.

        Example:
            >>> Settings({"study": {"outcomes": '{"yield": "Maximize", "purity": "AtLeast"}'}}, "glue").outcomes
            ('yield', 'purity')
        """
        try:
            found = json.loads(self.identity.get("outcomes") or "{}")
        except (TypeError, ValueError, RecursionError):
            found = None
        require(isinstance(found, dict), "study: outcomes", "be an object of kinds by name", found)
        return tuple(map(str, found))

    @cached_property
    def fields(self) -> dict[str, Any] | None:
        """The fields of the study's spec after all changes; None where it has parts without plain form."""
        spec = self.document.get("spec")
        return None if spec is None else self._checked(merge_fields(spec, self.changes))

    @cached_property
    def first(self) -> Space:
        """The variables before any change."""
        spec = self.document.get("spec")
        variables = self.document.get("variables") if spec is None else self._checked(spec)["variables"]
        if not isinstance(variables, Mapping):
            raise InvalidInput("has variables that cannot be read: use the Python code that made it", where=self.name)
        return decode_space(variables, below(self.name, "variables"))

    @property
    def space(self) -> Space:
        """The present variables."""
        space = self.first
        for change in self.changes:
            space = changed_space(space, change.get("variables", {}), self.name)
        return space

    def differences(self) -> list[list[Difference]]:
        """Return what each change made different, in order."""
        spec = self.document.get("spec") or {"variables": self.document.get("variables", {})}
        stages = [merge_fields(spec, self.changes[:count]) for count in range(len(self.changes) + 1)]
        return [differences(before, after) for before, after in pairwise(stages)]

    def readable_space(self) -> Space | None:
        """Return the variables before any change; None where they cannot be read."""
        try:
            return self.first
        except (AttributeError, LookupError, TypeError, ValueError):
            return None

    def _checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of a spec without the database's address."""
        return {key: value for key, value in check_fields(fields, self.name).items() if key != "storage"}
