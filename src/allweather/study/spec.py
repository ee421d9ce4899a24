"""What a study is: frozen, checked, compared, and written and read as plain data and TOML.

A spec holds plain fields, and decodes parts when they are asked for: variables, names and numbers are read without
torch. What cannot be serialized (functions, classes of the user's own, huge tables of candidates) stands in the fields
as a mark `{"code": name}`; the objects themselves are kept beside the fields as long as the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, is_number, require, require_count
from allweather.serialization.changes import Difference, differences, merge_fields
from allweather.serialization.checks import NUMBER, TABLE, below, explained, read
from allweather.serialization.fields import PARTS, VERSION, check_fields
from allweather.serialization.spaces import decode_space, encode_space
from allweather.serialization.toml import parse_toml, to_toml
from allweather.serialization.values import encode_value, is_code, marks
from allweather.space import LinearConstraint, Space
from allweather.space.changes import changed_space
from allweather.trials import History, rows_of

if TYPE_CHECKING:
    from botorch.models.model import Model
    from torch import Tensor

    from allweather.acquisition import Acquisition, ContextRule
    from allweather.contexts import ContextModel
    from allweather.methods.composition import Composition
    from allweather.methods.control import Control
    from allweather.objectives import Objective, Outcome
    from allweather.surrogates import Surrogate

MAX_INITIAL = 10_000
"""Decisions that are spread over the space before the surrogate is used, at most: more are a design, not a study."""
SIGNS = {"maximize": 1, "minimize": -1}
COLUMNS = ("value", "state", "trial", "believed", "worst", "left", "cost", "control", "frontier")
"""Columns of tables that have a column per variable too."""
VALUE = "value"
"""The name of the only outcome."""
UNCOMPARED = ("version", "name", "storage", "expire")
"""Fields that are no part of what a study is."""
OF_METHOD = ("method", *PARTS, "goal", "control")
"""Fields that a published method fills where they are left out."""


@dataclass(frozen=True)
class Spec:
    """What a study is.

    Example:
        >>> spec = Spec.from_toml('''
        ... name = "kiosk"
        ... objective = { name = "cvar", level = 0.2 }
        ...
        ... [variables]
        ... order = { lower = 0, upper = 100 }
        ... demand = { lower = 0, upper = 100, context = true }
        ... ''')
        >>> list(spec.space.decisions), spec.direction, spec.outcomes
        (['order'], 'maximize', {'value': Maximize(objective=CVaR(level=0.2), surrogate=None)})
    """

    fields: Mapping[str, Any]
    """Numbers, texts, truth values, and lists and tables of them; without the version and the database's address."""
    where: str = field(default="", compare=False)
    """What errors call it: the file's name."""
    storage: str | None = field(default=None, repr=False, compare=False)
    """The database the file names, if it names one."""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The space, and parts by field, as they were given in code: these are not decoded."""

    def __post_init__(self) -> None:
        fields = check_fields(self.fields, self.where)
        if "storage" in fields:
            object.__setattr__(self, "storage", fields.pop("storage"))
        object.__setattr__(self, "fields", fields)
        with explained(self.where):
            check_space(self.space)
            require(self.direction in SIGNS, "Study(direction=...)", f"be one of {list(SIGNS)}", self.direction)
            check_start(self.initial, self.seed)
            self._check_outcomes()

    @classmethod
    def of(
        cls,
        space: Space,
        *,
        method: str | Composition | None = None,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        goal: Literal["every-trial", "recommendation", "simulation"] | None = None,
        simulator: bool | Sequence[str] | ContextRule | None = None,
        outcomes: Mapping[str, Outcome] | None = None,
        cautious: float | None = None,
        direction: Literal["maximize", "minimize"] = "maximize",
        constraints: LinearConstraint | Sequence[LinearConstraint] = (),
        candidates: Any = None,
        control: Control | None = None,
        initial: int | None = None,
        seed: int = 0,
    ) -> Self:
        """Return the spec of the arguments of `Study`, which documents them.

        Example:
            >>> from allweather import DRO, Context, Real, TotalVariation
            >>> space = Space(order=Real(0, 1), demand=Context(0, 1))
            >>> Spec.of(space, objective=DRO(TotalVariation(0.2))).fields["objective"]
            {'name': 'dro', 'distance': {'name': 'total-variation', 'radius': 0.2}}
        """
        from allweather.methods.control import Control
        from allweather.objectives.outcomes import check_outcomes
        from allweather.serialization.compositions import encode_composition, encode_control
        from allweather.serialization.parts import encode_part

        check_space(space)
        composition = resolve_method(method).with_parts(
            context, objective, acquisition, surrogate, goal=goal, simulator=simulator
        )
        fits = control is None or isinstance(control, Control)
        require(fits, "Study(control=...)", "be a Control of sets and their costs", control)
        check_start(initial, seed)
        fields: dict[str, Any] = {"direction": direction, "seed": int(seed)}
        if initial is not None:
            fields["initial"] = int(initial)
        parts = encode_composition(composition, list(space.contexts if control is None else space.variables))
        parts.pop("rule", None)  # said with the control sets
        fields |= parts
        given = {key: getattr(composition, key) for key in (*PARTS, "rule")}
        if outcomes is not None:
            check_outcomes(outcomes, ["state", "trial", "occasion", *space.variables])
            fields["outcomes"] = {name: encode_part(name, each) for name, each in outcomes.items()}
            given["outcomes"] = dict(outcomes)
        if cautious is not None:
            check_cautious(cautious, outcomes is not None)
            fields["cautious"] = float(cautious)
        limits = (constraints,) if isinstance(constraints, LinearConstraint) else tuple(constraints)
        for limit in limits:
            linear = isinstance(limit, LinearConstraint)
            require(linear, "Study(constraints=...)", "be LinearConstraints", limit)
        if limits:
            given["constraints"] = limits
            fields["constraints"] = [written(limit) for limit in limits]
        if candidates is not None:
            space.decisions.encode(candidates)  # refuses what is no decision
            fields["candidates"] = encode_value(rows_of(candidates))
            given["candidates"] = candidates
        if control is not None:
            fields["control"] = encode_control(control, composition.rule)
            given["rule"] = control.rule or composition.rule
        fields["variables"] = encode_space(space)
        known = {key: each for key, each in given.items() if each is not None}
        return cls(fields, given={**known, "space": space})

    @classmethod
    def from_toml(cls, text: str, where: str = "spec") -> Self:
        """Return the spec in a TOML file.

        Args:
            text: of the file.
            where: what errors call it.
        """
        return cls(parse_toml(text, where), where)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], where: str = "spec") -> Self:
        """Return the spec that `to_dict` wrote.

        Args:
            fields: plain data.
            where: what errors call it.
        """
        return cls(fields, where)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as it is stored, with the version of its format."""
        return {"version": VERSION, **self.fields}

    def to_toml(self) -> str:
        """Return the spec as the text of a TOML file."""
        return to_toml(self.fields)

    def decoded(self) -> Self:
        """Return the spec once all of its parts are known to be valid."""
        _ = self.composition, self.outcomes, self.control, self.constraints, self.candidates
        return self

    @property
    def name(self) -> str | None:
        """The study's name, if the spec gives one."""
        found = self.fields.get("name")
        return None if found is None else str(found)

    @cached_property
    def space(self) -> Space:
        """The variables."""
        return self.given.get("space") or decode_space(self.fields["variables"], self._at("variables"))

    @property
    def direction(self) -> str:
        """Whether larger or smaller values of the only outcome are better: `maximize` or `minimize`."""
        return str(self.fields.get("direction", "maximize"))

    @property
    def sign(self) -> int:
        """1 where larger values of the only outcome are better, -1 where smaller ones are."""
        return SIGNS[self.direction]

    @property
    def seed(self) -> int:
        """Of all random numbers."""
        return int(self.fields.get("seed", 0))

    @property
    def initial(self) -> int | None:
        """How many decisions are spread over the space before the surrogate is used; None for the default."""
        return self.fields.get("initial")

    @property
    def cautious(self) -> float | None:
        """The probability with which every decision asked for keeps all limits, where it must."""
        return self.fields.get("cautious")

    @property
    def expire(self) -> float | None:
        """Seconds after which a pending trial is given up; None for the default."""
        return self.fields.get("expire")

    @property
    def controlled(self) -> bool:
        """Whether control sets decide which variables are decisions."""
        return "control" in self.fields

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """The names of several outcomes; empty where there is one, which needs no name."""
        return tuple(self.fields.get("outcomes", ()))

    @property
    def code(self) -> list[str]:
        """The names of what cannot be serialized."""
        return list(marks({key: each for key, each in self.fields.items() if key != "variables"}))

    @cached_property
    def composition(self) -> Composition:
        """The parts of the method."""
        from allweather.serialization.compositions import decode_composition

        return decode_composition(self.fields, self.where, self.given)

    @cached_property
    def wanted_texts(self) -> tuple[str, ...]:
        """What the study wants, in words: its objective, or what is wanted of each of several outcomes."""
        from allweather.methods.defaults import DEFAULTS
        from allweather.objectives.labels import objective_label

        if self.outcome_names:
            return tuple(outcome.describe(name) for name, outcome in self.outcomes.items())
        objective = self.composition.objective or DEFAULTS[self.composition.goal](self.space).objective
        return (f"{self.direction} the {objective_label(objective, 'the outcome')}",)

    @cached_property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What is wanted of each outcome; where there is one, its name is `value`."""
        from allweather.objectives import Maximize, Minimize
        from allweather.objectives.outcomes import check_outcomes
        from allweather.serialization.parts import decode_part

        if "outcomes" in self.given:
            return dict(self.given["outcomes"])
        if "outcomes" not in self.fields:
            wanted = Maximize if self.sign > 0 else Minimize
            return {VALUE: wanted(self.composition.objective)}
        where = self._at("outcomes")
        listed = self.fields["outcomes"].items()
        found = {name: decode_part("outcomes", each, below(where, name)) for name, each in listed}
        with explained(self.where):
            check_outcomes(found, ["state", "trial", "occasion", *self.space.variables])
            check_combination(self.composition.objective, self.direction)
        return found

    @cached_property
    def control(self) -> Control | None:
        """Sets of variables that can be controlled; None where all decisions are free."""
        from allweather.serialization.compositions import decode_control

        if not self.controlled:
            return None
        return decode_control(self.fields["control"], self._at("control"), self.given.get("rule"))

    @cached_property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """Linear inequalities that decisions must meet."""
        if "constraints" in self.given:
            return tuple(self.given["constraints"])
        return tuple(self._constraint(place) for place in range(len(self.fields.get("constraints", []))))

    @property
    def candidates(self) -> Any:
        """The only decisions that may be chosen, as rows; None for all."""
        if "candidates" in self.given:
            return self.given["candidates"]
        found = self.fields.get("candidates")
        if is_code(found):
            raise InvalidInput("is a table of the program that made it", where=self._at("candidates"))
        return found

    def history(self) -> History:
        """Return the history of the study before any event."""
        whole = self.space.joint if self.controlled else None
        return History(self.space, self.sign, whole=whole, outcome_names=self.outcome_names)

    def changed(self, fields: Mapping[str, Any]) -> Self:
        """Return the spec after a change.

        Args:
            fields: those that are different, and of each variable what is; None removes a field.
        """
        space = changed_space(self.space, fields.get("variables", {}), self.where or "change")
        kept = {key: each for key, each in self.given.items() if key not in fields}
        if "control" in fields and _rule(fields) != _rule(self.fields):
            kept.pop("rule", None)
        return replace(self, fields=merge_fields(self.fields, [fields]), given={**kept, "space": space})

    def with_code_of(self, other: Spec) -> Self:
        """Return the spec with the parts of another that has the same plain form where these are.

        Args:
            other: given by a program.
        """
        own, theirs = ({**each.fields, "rule": _rule(each.fields)} for each in (self, other))
        same = {key: each for key, each in other.given.items() if own.get(key) == theirs.get(key)}
        return replace(self, given={**same, "space": self.space})

    def diff(self, other: Spec) -> list[Difference]:
        """Return where two specs differ, setting by setting; how they are written does not count.

        Args:
            other: the later one.

        Example:
            >>> one, two = (Spec({"objective": each, "variables": {"x": {"lower": 0, "upper": 1}}}) for each in (
            ...     {"name": "cvar", "level": 0.1}, {"name": "cvar", "level": 0.2}))
            >>> [str(each) for each in one.diff(two)]
            ['objective level: 0.1 -> 0.2']
        """
        keys = dict.fromkeys([*self.fields, *other.fields])
        said = [key for key in keys if key not in UNCOMPARED and self.fields.get(key) != other.fields.get(key)]
        if "method" in keys:  # which may say what is left out, or said in other words
            said = list(dict.fromkeys([*said, *OF_METHOD]))
        before, after = ({key: each.settled(key) for key in said} for each in (self, other))
        return differences(before, after)

    def settled(self, key: str) -> Any:
        """Return a field as `Spec.of` writes it, whatever a person wrote; None where it is left out.

        Args:
            key: of the field.
        """
        value, named = self.fields.get(key), "method" in self.fields
        if key in ("direction", "seed"):
            return getattr(self, key)
        if key == "variables":
            return encode_space(self.space)
        by_program = key in self.given or any(marks(value))  # which wrote it in full
        if key == "method" or by_program or (value is None and not named):
            return None if key == "method" else value
        if key == "control" and value is not None and not named:
            return _in_full(value)
        return self._encoded(key, value, named)

    def _encoded(self, key: str, value: Any, named: bool) -> Any:
        """A field that a person may have written in short, decoded and encoded again."""
        from allweather.serialization.compositions import encode_composition, encode_control
        from allweather.serialization.parts import encode_part

        if key in (*PARTS, "goal") and named:
            return encode_composition(self.composition, self.law_names).get(key)
        if key == "goal":
            return None if value == ("simulation" if "simulator" in self.fields else "every-trial") else value
        if key in PARTS:
            return encode_composition(self.decoded_part(key), self.law_names)[key]
        if key == "control" and value is not None and self.control is not None:
            return encode_control(self.control, self.composition.rule if named else None)
        if key == "outcomes":
            return {name: encode_part(name, each) for name, each in self.outcomes.items()}
        if key == "constraints":
            return [written(limit) for limit in self.constraints]
        return value

    def decoded_part(self, key: str) -> Composition:
        """Return a composition of one part only.

        Args:
            key: the field of the part.
        """
        from allweather.serialization.compositions import decode_composition

        return decode_composition({key: self.fields[key]}, self.where)

    @property
    def law_names(self) -> list[str]:
        """The variables that laws given by order are about."""
        return list(self.space.variables if self.controlled else self.space.contexts)

    def _check_outcomes(self) -> None:
        """Refuse what does not go with several outcomes."""
        if self.cautious is not None:
            check_cautious(self.cautious, bool(self.outcome_names))
        if not self.outcome_names:
            return
        check_combination(self.fields.get("objective"), self.direction)

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


def written(limit: LinearConstraint) -> dict[str, Any]:
    """A constraint as plain data; bounds that are not given are left out."""
    bounds = {"upper": limit.upper, "lower": limit.lower}
    return {"coefficients": encode_value(limit.coefficients)} | {
        key: encode_value(each) for key, each in bounds.items() if each is not None
    }


def _in_full(control: Mapping[str, Any]) -> dict[str, Any]:
    """Control sets as a program writes them."""
    rule = control.get("rule")
    sets = [{**each, "cost": float(each["cost"])} for each in control["sets"]]
    return {**control, "sets": sets, **({"rule": {"name": rule}} if isinstance(rule, str) else {})}


def _rule(fields: Mapping[str, Any]) -> Any:
    return (fields.get("control") or {}).get("rule")


def check_space(space: object) -> None:
    """Refuse variables that a study cannot be about."""
    require(isinstance(space, Space), "Study(space=...)", "be a Space", space)
    assert isinstance(space, Space)
    require(len(space.decisions) > 0, "Study(space=...)", "have a variable to decide", space)
    taken = [name for name in COLUMNS if name in space.variables]
    require(not taken, "Study(space=...)", "not name a variable like a column of the table of trials", taken)


def check_start(initial: Any, seed: Any, caller: str = "Study") -> None:
    """Refuse a number of initial decisions or a seed that is none.

    Args:
        initial: how many decisions are spread out first, or None.
        seed: of the random numbers.
        caller: what the user called, for errors.
    """
    require_count(seed, f"{caller}(seed=...)", high=2**63 - 1)
    if initial is not None:
        require_count(initial, f"{caller}(initial=...)", low=1, high=MAX_INITIAL)


def check_cautious(cautious: Any, several: bool) -> None:
    """Refuse a probability of keeping limits that is none, or comes without outcomes.

    Args:
        cautious: the probability.
        several: whether there are several outcomes.
    """
    fits = is_number(cautious) and 0.5 <= cautious < 1
    require(fits, "Study(cautious=...)", "be a probability of at least 0.5 and below 1", cautious)
    require(several, "Study(cautious=...)", "come with outcomes that have limits", cautious)


def check_combination(objective: Any, direction: str) -> None:
    """Refuse an objective or a direction for all of several outcomes.

    Args:
        objective: that of the study.
        direction: of the study.
    """
    remedy = "give each its own: `Maximize(objective)`, `AtLeast(threshold, objective)`"
    require(objective is None, "Study(outcomes=..., objective=...)", "not have an objective for all", objective, remedy)
    upwards, remedy = direction == "maximize", "use `Maximize` and `Minimize`"
    require(upwards, "Study(outcomes=..., direction=...)", "not both be given", direction, remedy)


def resolve_method(method: str | Composition | None, caller: str = "Study") -> Composition:
    """Return a method by name, or a composition as it is.

    Args:
        method: a name, a composition, or None for the default.
        caller: what the user called, for errors.
    """
    from allweather.methods import method as named_method
    from allweather.methods.composition import Composition

    if method is None:
        return Composition()
    if isinstance(method, str):
        return named_method(method)
    require(isinstance(method, Composition), f"{caller}(method=...)", "be a method's name or a composition", method)
    return method
