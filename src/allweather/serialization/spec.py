"""A study as a short TOML file says it: variables, what is wanted, and by which method."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, require
from allweather.serialization.checks import (
    LIST,
    NUMBER,
    PART,
    TABLE,
    WHOLE,
    WORD,
    below,
    explained,
    read,
    require_plain,
)
from allweather.serialization.parts import chosen_control, chosen_method, part
from allweather.serialization.variables import variable
from allweather.space import Space
from allweather.space.constraints import LinearConstraint

LARGEST = 200_000
"""Characters of a file, at most."""
REQUIRED = {"variables": TABLE}
PARTS = ("context", "objective", "acquisition", "surrogate")
OPTIONAL = {
    "name": WORD,
    "direction": WORD,
    "seed": WHOLE,
    "initial": WHOLE,
    "method": PART,
    "constraints": LIST,
    "candidates": LIST,
    "control": TABLE,
    "storage": WORD,
    "expire": NUMBER,
    **dict.fromkeys(PARTS, PART),
}


@dataclass(frozen=True)
class Spec:
    """What a study is made of, as plain data.

    Example:
        >>> recipe = Spec.from_toml('''
        ... name = "kiosk"
        ... objective = { name = "cvar", level = 0.2 }
        ...
        ... [variables]
        ... order = { lower = 0, upper = 100 }
        ... demand = { lower = 0, upper = 100, context = true }
        ... ''')
        >>> recipe.space
        Space(order=Real(lower=0, upper=100, log=False), demand=Context(variable=Real(lower=0, upper=100, log=False)))
    """

    fields: Mapping[str, Any]
    """Numbers, texts, truth values, and lists and tables of them; without the database's address."""
    where: str = "recipe"
    """What errors call it: the file's name."""
    storage: str | None = field(default=None, repr=False)
    """The database the file names, if it names one."""

    def __post_init__(self) -> None:
        given = dict(self.fields) if isinstance(self.fields, Mapping) else self.fields
        read(given, self.where, REQUIRED, OPTIONAL)
        require_plain(given, self.where)
        if "storage" in given:
            object.__setattr__(self, "storage", given.pop("storage"))
        object.__setattr__(self, "fields", given)
        self.arguments()

    @classmethod
    def from_toml(cls, text: str, where: str = "recipe") -> Self:
        """The recipe that a TOML file holds.

        Args:
            text: of the file.
            where: what errors call it.
        """
        require(len(text) <= LARGEST, where, f"have at most {LARGEST} characters", f"{len(text)}")
        try:
            return cls(tomllib.loads(text), where)
        except tomllib.TOMLDecodeError as mistake:
            raise InvalidInput(f"`{where}` is no TOML: {mistake}") from None
        except RecursionError:
            raise InvalidInput(f"`{where}` is nested too deeply") from None

    @property
    def name(self) -> str | None:
        """The study's name, if the recipe gives one."""
        found = self.fields.get("name")
        return None if found is None else str(found)

    @property
    def space(self) -> Space:
        """The variables."""
        tables = self.fields["variables"]
        return Space(**{name: variable(name, table, self._at(f"variables.{name}")) for name, table in tables.items()})

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the study."""
        given = self.fields
        found: dict[str, Any] = {key: given[key] for key in ("direction", "seed", "initial") if key in given}
        found |= {key: part(key, given[key], self._at(key)) for key in PARTS if key in given}
        if "method" in given:
            found["method"] = chosen_method(given["method"], self._at("method"))
        if "control" in given:
            found["control"] = chosen_control(given["control"], self._at("control"))
        if "candidates" in given:
            found["candidates"] = given["candidates"]
        found["constraints"] = [self._constraint(place) for place in range(len(given.get("constraints", [])))]
        _ = self.space
        return found

    def _constraint(self, place: int) -> LinearConstraint:
        where, table = self._at(f"constraints[{place}]"), self.fields["constraints"][place]
        read(table, where, {"coefficients": TABLE}, {"lower": NUMBER, "upper": NUMBER})
        for name in table["coefficients"]:
            if name not in self.fields["variables"]:
                raise unknown(f"{where}.coefficients", name, self.fields["variables"])
        with explained(where):
            return LinearConstraint(**table)

    def _at(self, key: str) -> str:
        return below(self.where, key)
