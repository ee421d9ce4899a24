"""Variables with names, bounds and roles, and the way between the user's units and the unit cube.

Decisions are chosen, contexts happen. A choice among options becomes one column per option (one-hot); every other
variable is one column. Encoded points are float64 tensors in [0, 1].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from allweather.errors import InvalidInput, is_number, require, shown

Value = float | int | str | bool
Row = Mapping[str, Any]


class Variable(ABC):
    """One named quantity: its legal values and its columns in the unit cube."""

    @property
    def columns(self) -> int:
        """How many columns of the unit cube it fills."""
        return 1

    @abstractmethod
    def encode(self, value: Any, where: str) -> list[float]:
        """A legal value as unit-cube columns; an illegal one is refused by name."""

    @abstractmethod
    def decode(self, unit: Sequence[float]) -> Value:
        """The legal value nearest to the given columns."""


@dataclass(frozen=True)
class Real(Variable):
    """A number between two bounds, on a logarithmic scale if `log`.

    Example:
        >>> Real(1, 100, log=True).decode([0.5])
        10.0
    """

    lower: float
    upper: float
    log: bool = False

    def __post_init__(self) -> None:
        _require_bounds(self)
        require(not self.log or self.lower > 0, "Real(log=True, lower=...)", "be positive", self.lower)

    def encode(self, value: Any, where: str) -> list[float]:
        """Position between the bounds."""
        _require_inside(self, value, where)
        return [float(self.to_unit(np.array(float(value))))]

    def to_unit(self, values: np.ndarray) -> np.ndarray:
        """Positions between the bounds, of numbers that are clipped to them."""
        clipped = np.clip(values, self.lower, self.upper)
        low, high, at = (np.log(v) if self.log else np.asarray(v) for v in (self.lower, self.upper, clipped))
        return np.asarray(np.clip((at - low) / (high - low), 0.0, 1.0))

    def decode(self, unit: Sequence[float]) -> float:
        """The number at this position."""
        (position,) = unit
        if self.log:
            value = self.lower * (self.upper / self.lower) ** position
        else:
            value = self.lower + position * (self.upper - self.lower)
        return float(min(max(value, self.lower), self.upper))


@dataclass(frozen=True)
class Integer(Variable):
    """A whole number between two bounds, both included."""

    lower: int
    upper: int

    def __post_init__(self) -> None:
        _require_bounds(self)
        whole = isinstance(self.lower, Integral) and isinstance(self.upper, Integral)
        require(whole, "Integer(lower=..., upper=...)", "be whole numbers", (self.lower, self.upper))

    def encode(self, value: Any, where: str) -> list[float]:
        """Position between the bounds."""
        _require_inside(self, value, where)
        require(float(value).is_integer(), where, "be a whole number", value)
        return [(int(value) - self.lower) / (self.upper - self.lower)]

    def decode(self, unit: Sequence[float]) -> int:
        """The nearest whole number."""
        (position,) = unit
        value = round(self.lower + position * (self.upper - self.lower))
        return min(max(value, self.lower), self.upper)


@dataclass(frozen=True, init=False)
class Choice(Variable):
    """One of several options.

    Example:
        >>> Choice("oak", "pine").encode("pine", "wood")
        [0.0, 1.0]
    """

    options: tuple[Value, ...]

    def __init__(self, *options: Value) -> None:
        object.__setattr__(self, "options", options)
        for option in options:
            named = isinstance(option, (str, Integral)) or (is_number(option) and math.isfinite(option))
            require(named, "Choice(...)", "name its options by words, numbers or truth values", option)
        distinct = len(set(options)) == len(options)
        require(len(options) >= 2 and distinct, "Choice(...)", "name two or more distinct options", options)

    @property
    def columns(self) -> int:
        """One column per option."""
        return len(self.options)

    def encode(self, value: Any, where: str) -> list[float]:
        """One-hot."""
        known = np.ndim(value) == 0 and value in self.options
        require(known, where, f"be one of {self.options}", value)
        return [float(option == value) for option in self.options]

    def decode(self, unit: Sequence[float]) -> Value:
        """The option with the largest column."""
        return self.options[max(range(len(self.options)), key=lambda i: unit[i])]


@dataclass(frozen=True, init=False)
class Context(Variable):
    """A variable that is not chosen but happens: `Context(0, 1)`, or any variable, `Context(Choice("dry", "wet"))`."""

    variable: Variable

    def __init__(self, lower: float | Variable, upper: float | None = None) -> None:
        if isinstance(lower, Variable):
            require(upper is None and not isinstance(lower, Context), "Context(...)", "wrap one variable", lower)
            variable = lower
        else:
            require(upper is not None, "Context(lower, upper)", "have two bounds", (lower, upper))
            variable = Real(lower, upper)  # type: ignore[arg-type]
        object.__setattr__(self, "variable", variable)

    @property
    def columns(self) -> int:
        """The wrapped variable's columns."""
        return self.variable.columns

    def encode(self, value: Any, where: str) -> list[float]:
        """The wrapped variable's encoding."""
        return self.variable.encode(value, where)

    def decode(self, unit: Sequence[float]) -> Value:
        """The wrapped variable's value."""
        return self.variable.decode(unit)


@dataclass(frozen=True)
class Box(Mapping[str, Variable]):
    """Named variables side by side: one half of a space, decisions or contexts.

    Example:
        >>> box = Space(order=Real(0, 10), demand=Context(0, 1)).decisions
        >>> box.encode({"order": 2.5})
        tensor([[0.2500]], dtype=torch.float64)
        >>> box.decode(box.encode([{"order": 1}, {"order": 4}]))
        [{'order': 1.0}, {'order': 4.0}]
    """

    role: str
    variables: tuple[tuple[str, Variable], ...]

    def __getitem__(self, name: str) -> Variable:
        return dict(self.variables)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def columns(self) -> int:
        """The dimension of this half of the unit cube."""
        return sum(variable.columns for _, variable in self.variables)

    def encode(self, rows: Row | Sequence[Row]) -> Tensor:
        """Rows of named values in the user's units as points (b, columns) of the unit cube."""
        rows = [rows] if isinstance(rows, Mapping) else list(rows)
        for row in rows:
            require(isinstance(row, Mapping), f"{self.role}", f"be given by name ({', '.join(self)})", row)
        encoded = [self._encode_row(row) for row in rows]
        return torch.tensor(encoded, dtype=torch.float64).reshape(len(encoded), self.columns)

    def decode(self, points: Tensor) -> list[dict[str, Value]]:
        """Points (b, columns) of the unit cube as rows of named values in the user's units."""
        require(
            points.ndim == 2 and points.shape[1] == self.columns,
            "Box.decode(points=...)",
            f"have shape (b, {self.columns})",
            tuple(points.shape),
        )
        require(bool(torch.isfinite(points).all()), "Box.decode(points=...)", "be finite", "NaN or infinity")
        return [self._decode_row(row) for row in points.tolist()]

    def _encode_row(self, row: Row) -> list[float]:
        missing = [name for name in self if name not in row]
        unknown = [name for name in row if name not in self]
        if missing or unknown:
            told = " and ".join(
                f"{what} {', '.join(map(repr, names))}"
                for what, names in (("lacks", missing), ("has unknown", unknown))
                if names
            )
            raise InvalidInput(f"{self.role} {shown(dict(row))} {told}; its variables are {', '.join(self) or 'none'}")
        return [unit for name, variable in self.variables for unit in variable.encode(row[name], f"{self.role} {name}")]

    def _decode_row(self, row: list[float]) -> dict[str, Value]:
        decoded, start = {}, 0
        for name, variable in self.variables:
            decoded[name] = variable.decode(row[start : start + variable.columns])
            start += variable.columns
        return decoded


class Space:
    """All variables of a problem by name; those wrapped in `Context` happen, the others are decided.

    Example:
        >>> space = Space(order=Real(0, 10), demand=Context(0, 1))
        >>> list(space.decisions), list(space.contexts)
        (['order'], ['demand'])
    """

    def __init__(self, **variables: Variable) -> None:
        for name, variable in variables.items():
            require(
                isinstance(variable, Variable),
                f"Space({name}=...)",
                "be Real, Integer, Choice or Context",
                variable,
            )
        self._variables = dict(variables)
        decided = tuple((n, v) for n, v in variables.items() if not isinstance(v, Context))
        happening = tuple((n, v) for n, v in variables.items() if isinstance(v, Context))
        self.decisions = Box("decision", decided)
        self.contexts = Box("context", happening)

    @property
    def variables(self) -> dict[str, Variable]:
        """Every variable, in the order given."""
        return dict(self._variables)

    def controlling(self, names: Collection[str]) -> Space:
        """The same variables when exactly `names` are decided and all others happen.

        Example:
            >>> farm = Space(ph=Real(4, 9), nh3=Real(0, 1))
            >>> list(farm.controlling(["ph"]).contexts)
            ['nh3']
        """
        require(not isinstance(names, str), "Space.controlling(names=...)", "be a list of names", names)
        unknown = [name for name in names if name not in self._variables]
        require(not unknown, "Space.controlling(names=...)", f"be among {list(self._variables)}", unknown)
        plain = {n: v.variable if isinstance(v, Context) else v for n, v in self._variables.items()}
        return Space(**{n: v if n in names else Context(v) for n, v in plain.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self._variables.items()) == list(other._variables.items())

    def __hash__(self) -> int:
        return hash(tuple(self._variables.items()))

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={variable!r}' for name, variable in self._variables.items())})"


def _require_bounds(variable: Real | Integer) -> None:
    name = type(variable).__name__
    bounds = (variable.lower, variable.upper)
    numbers = all(is_number(b) and math.isfinite(b) for b in bounds)
    require(
        numbers and bounds[0] < bounds[1],
        f"{name}(lower=..., upper=...)",
        "be finite, lower below upper",
        bounds,
    )


def _require_inside(variable: Real | Integer, value: Any, where: str) -> None:
    inside = is_number(value) and variable.lower <= float(value) <= variable.upper
    require(inside, where, f"be a number in [{variable.lower:g}, {variable.upper:g}]", value)
