"""A whole study as plain data: variables, what is wanted, and by which method."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from allweather._utils.registry import unknown
from allweather.errors import require
from allweather.methods.composition import Composition
from allweather.methods.control import Control
from allweather.objectives import Outcome
from allweather.serialization.checks import NUMBER, TABLE, NoPlainForm, below, explained, read
from allweather.serialization.compositions import decode_control, decode_method, encode_composition, encode_control
from allweather.serialization.fields import PARTS, VERSION, check_fields
from allweather.serialization.parts import decode_part, encode_part, encode_settings
from allweather.serialization.spaces import decode_space, encode_space
from allweather.serialization.toml import LARGEST, parse_toml
from allweather.serialization.values import encode_value
from allweather.space import LinearConstraint, Space
from allweather.trials import rows_of


class Arguments(NamedTuple):
    """The arguments of a study, as they were given."""

    space: Space
    composition: Composition
    direction: str = "maximize"
    seed: int = 0
    initial: int | None = None
    constraints: tuple[LinearConstraint, ...] = ()
    candidates: Any = None
    control: Control | None = None
    outcomes: Mapping[str, Outcome] | None = None
    cautious: float | None = None


@dataclass(frozen=True)
class Spec:
    """What a study is made of, as plain data.

    Example:
        >>> spec = Spec.from_toml('''
        ... name = "kiosk"
        ... objective = { name = "cvar", level = 0.2 }
        ...
        ... [variables]
        ... order = { lower = 0, upper = 100 }
        ... demand = { lower = 0, upper = 100, context = true }
        ... ''')
        >>> spec.space
        Space(order=Real(lower=0, upper=100, log=False), demand=Context(variable=Real(lower=0, upper=100, log=False)))
    """

    fields: Mapping[str, Any]
    """Numbers, texts, truth values, and lists and tables of them; without the version and the database's address."""
    where: str = "spec"
    """What errors call it: the file's name."""
    storage: str | None = field(default=None, repr=False)
    """The database the file names, if it names one."""

    def __post_init__(self) -> None:
        given = check_fields(self.fields, self.where)
        if "storage" in given:
            object.__setattr__(self, "storage", given.pop("storage"))
        object.__setattr__(self, "fields", given)
        self.arguments()

    @classmethod
    def from_toml(cls, text: str, where: str = "spec") -> Self:
        """Return the spec in a TOML file.

        Args:
            text: of the file.
            where: what errors call it.
        """
        fields = parse_toml(text, where)
        variables = fields.get("variables")
        for name in variables if isinstance(variables, dict) else ():  # whoever types names types them again elsewhere
            place = below(below(where, "variables"), name)
            require(name.isidentifier(), place, "be named by letters, digits and _, a letter first", name)
        return cls(fields, where)

    @classmethod
    def of(cls, arguments: Arguments) -> Self:
        """Return the spec of a study.

        Args:
            arguments: of the study.

        Raises:
            NoPlainForm: where parts are functions, or classes of the user's own.
        """
        return cls(encode_study(arguments))

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as it is stored, with its version."""
        return {"version": VERSION, **self.fields}

    @property
    def name(self) -> str | None:
        """The study's name, if the spec gives one."""
        found = self.fields.get("name")
        return None if found is None else str(found)

    @property
    def space(self) -> Space:
        """The variables."""
        return decode_space(self.fields["variables"], self._at("variables"))

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the study."""
        given = self.fields
        plain = ("direction", "seed", "initial", "cautious")
        found: dict[str, Any] = {key: given[key] for key in plain if key in given}
        found |= {key: decode_part(key, given[key], self._at(key)) for key in PARTS if key in given}
        if "method" in given or "goal" in given:
            with explained(self.where):
                base = decode_method(given.get("method", {}), self._at("method"))
                found["method"] = base.with_parts(goal=given.get("goal"))
        if "goal" in given:
            found["goal"] = given["goal"]
        if "control" in given:
            found["control"] = decode_control(given["control"], self._at("control"))
        if "outcomes" in given:
            where = self._at("outcomes")
            found["outcomes"] = {
                name: decode_part("outcomes", each, below(where, name)) for name, each in given["outcomes"].items()
            }
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


def spec_of(arguments: Arguments) -> dict[str, Any] | None:
    """Return the spec of a study as it is stored, or None where parts have no plain form, or it would be too large.

    Args:
        arguments: of the study.

    Example:
        >>> from allweather import DRO, Context, Real, Space, TotalVariation
        >>> space = Space(order=Real(0, 1), demand=Context(0, 1))
        >>> spec_of(Arguments(space, Composition(objective=DRO(TotalVariation(0.2)))))["objective"]
        {'name': 'dro', 'distance': {'name': 'total-variation', 'radius': 0.2}}
    """
    try:
        fields = encode_study(arguments)
    except NoPlainForm:
        return None
    return fields if len(json.dumps(fields, allow_nan=False)) <= LARGEST else None


def encode_study(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments of a study as plain data, with the version of the format; see `Spec.of`."""
    space, composition, control = arguments.space, arguments.composition, arguments.control
    fields: dict[str, Any] = {
        "version": VERSION,
        "direction": arguments.direction,
        "seed": int(arguments.seed),
    }
    if arguments.initial is not None:
        fields["initial"] = int(arguments.initial)
    parts = encode_composition(composition, list(space.contexts if control is None else space.variables))
    parts.pop("rule", None)  # said with the control sets
    fields |= parts
    if arguments.outcomes is not None:
        fields["outcomes"] = {name: encode_part(name, each) for name, each in arguments.outcomes.items()}
    if arguments.cautious is not None:
        fields["cautious"] = float(arguments.cautious)
    if arguments.constraints:
        fields["constraints"] = [encode_settings(limit) for limit in arguments.constraints]
    if arguments.candidates is not None:
        fields["candidates"] = encode_value("candidates", rows_of(arguments.candidates))
    if control is not None:
        fields["control"] = encode_control(control, composition.rule)
    fields["variables"] = encode_space(space)
    return fields
