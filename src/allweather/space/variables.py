"""Variables: their legal values, and the way between the user's units and columns of the unit cube.

A choice among options becomes one column per option (one-hot); every other variable is one column in [0, 1].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from allweather.errors import is_number, require

if TYPE_CHECKING:
    from torch import Tensor

Value = float | int | str | bool
MAX_NUMBER = 1.7e308
MAX_ORDERS_OF_MAGNITUDE = 300
"""Of magnitude, on a logarithmic scale: the ratio of the bounds is a finite number."""
MAX_OPTION_CHARACTERS = 1000
"""Characters of an option."""
MAX_UNIT_CHARACTERS = 30


class Variable(ABC):
    """One named quantity: its legal values and its columns in the unit cube."""

    @property
    def columns(self) -> int:
        """How many columns of the unit cube it fills."""
        return 1

    @abstractmethod
    def encode(self, value: Any, where: str, outside: bool = False) -> list[float]:
        """A legal value as unit-cube columns; an illegal one is refused by name.

        Args:
            value: in the user's units.
            where: what errors call it.
            outside: whether it may be a value of earlier bounds or options, which lies outside the unit cube.
        """

    def encode_all(self, values: Sequence[Any], outside: bool = False) -> np.ndarray | None:
        """Many values as columns (b, columns) at once; None where that takes a look at each, for it may be illegal.

        Args:
            values: in the user's units.
            outside: as for `encode`.
        """
        return None

    @abstractmethod
    def decode(self, unit: Sequence[float]) -> Value:
        """The legal value nearest to the given columns."""

    def decode_all(self, units: np.ndarray) -> list[Value]:
        """The legal values nearest to columns (b, columns)."""
        return [self.decode(unit) for unit in units.tolist()]

    @abstractmethod
    def snap(self, units: Tensor) -> Tensor:
        """The legal columns (b, columns) nearest to the given ones."""


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
    unit: str = field(default="", repr=False, compare=False)
    """Shown beside the name in tables, figures and texts; a study may be opened with another one."""

    def __post_init__(self) -> None:
        _require_bounds(self)
        require(not self.log or self.lower > 0, "Real(log=True, lower=...)", "be positive", self.lower)
        orders = math.log10(self.upper) - math.log10(self.lower) if self.log else 0.0
        require(
            orders <= MAX_ORDERS_OF_MAGNITUDE,
            "Real(log=True)",
            f"span at most {MAX_ORDERS_OF_MAGNITUDE} orders of magnitude",
            orders,
        )

    def encode(self, value: Any, where: str, outside: bool = False) -> list[float]:
        """Position between the bounds."""
        if not outside:
            _require_inside(self, value, where)
        low, high, at = (math.log(v) if self.log else float(v) for v in (self.lower, self.upper, value))
        position = (at - low) / (high - low)
        return [position if outside else min(max(position, 0.0), 1.0)]

    def encode_all(self, values: Sequence[Any], outside: bool = False) -> np.ndarray | None:
        """Positions between the bounds, of numbers on a linear scale that are all within them."""
        if self.log or outside or not set(map(type, values)) <= {float, int}:
            return None
        numbers = np.array(values, dtype=np.float64)
        if not bool(((numbers >= self.lower) & (numbers <= self.upper)).all()):
            return None
        low, high = float(self.lower), float(self.upper)
        return np.asarray(((numbers - low) / (high - low)).clip(0.0, 1.0)[:, None])

    def decode_all(self, units: np.ndarray) -> list[Value]:
        """The numbers at these positions; those on a linear scale at once."""
        if self.log:
            return super().decode_all(units)
        values = self.lower + units[:, 0] * (self.upper - self.lower)
        return values.clip(self.lower, self.upper).astype(np.float64).tolist()  # type: ignore[no-any-return]

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

    def snap(self, units: Tensor) -> Tensor:
        """Positions between the bounds stay."""
        return units.clamp(0.0, 1.0)


@dataclass(frozen=True)
class Integer(Variable):
    """A whole number between two bounds, both included."""

    lower: int
    upper: int
    unit: str = field(default="", repr=False, compare=False)
    """Shown beside the name in tables, figures and texts."""

    def __post_init__(self) -> None:
        _require_bounds(self)
        whole = isinstance(self.lower, Integral) and isinstance(self.upper, Integral)
        bounds = (self.lower, self.upper)
        require(whole, "Integer(lower=..., upper=...)", "be whole numbers", bounds)
        exact = all(abs(bound) <= 2**53 for bound in bounds)
        require(exact, "Integer(lower=..., upper=...)", "be between -2**53 and 2**53", bounds, "shift or rescale it")

    def encode(self, value: Any, where: str, outside: bool = False) -> list[float]:
        """Position between the bounds."""
        if not outside:
            _require_inside(self, value, where)
        require(value == int(value), where, "be a whole number", value)
        return [(int(value) - self.lower) / (self.upper - self.lower)]

    def decode(self, unit: Sequence[float]) -> int:
        """The nearest whole number."""
        (position,) = unit
        value = round(self.lower + position * (self.upper - self.lower))
        return min(max(value, self.lower), self.upper)

    def snap(self, units: Tensor) -> Tensor:
        """The positions of the nearest whole numbers."""
        steps = self.upper - self.lower
        return (units * steps).round().clamp(0, steps) / steps


@dataclass(frozen=True, init=False)
class Choice(Variable):
    """One of several options.

    Example:
        >>> Choice("oak", "pine").encode("pine", "wood")
        [0.0, 1.0]
    """

    options: tuple[Value, ...]
    former: tuple[Value, ...] = field(default=(), repr=False, compare=False)
    """Options that were removed from a study: trials with them inform the model, and none is proposed."""

    def __init__(self, *options: Value) -> None:
        object.__setattr__(self, "former", ())
        options = tuple(own_type(option) for option in options)
        object.__setattr__(self, "options", options)
        for option in options:
            named = isinstance(option, (str, Integral)) or (is_number(option) and math.isfinite(option))
            require(named, "Choice(...)", "name its options by text, numbers or truth values", option)
        distinct = len(set(options)) == len(options)
        require(len(options) >= 2 and distinct, "Choice(...)", "name two or more distinct options", options)
        longest = max(len(str(option)) for option in options)
        fits = longest <= MAX_OPTION_CHARACTERS
        require(
            fits, "Choice(...)", f"name options of up to {MAX_OPTION_CHARACTERS} characters", f"{longest} characters"
        )

    @property
    def columns(self) -> int:
        """One column per option, removed ones included."""
        return len(self.options) + len(self.former)

    def encode(self, value: Any, where: str, outside: bool = False) -> list[float]:
        """One-hot; -1 in the column of an option that was removed, which is as far from all others."""
        known = np.ndim(value) == 0 and value in (*self.options, *(self.former if outside else ()))
        require(known, where, f"be one of {self.options}", value)
        removed = [-1.0 if option == value else 0.0 for option in self.former]
        return [float(option == value) for option in self.options] + removed

    def decode(self, unit: Sequence[float]) -> Value:
        """The option with the largest column."""
        return self.options[max(range(len(self.options)), key=lambda i: unit[i])]

    def snap(self, units: Tensor) -> Tensor:
        """One-hot, at the largest column."""
        present = units[..., : len(self.options)]
        largest = present.max(dim=-1, keepdim=True).indices  # the first among equals, as in `decode`
        return units.new_zeros(units.shape).scatter(-1, largest, 1)

    def without(self, former: Sequence[Value]) -> Choice:
        """The same choice after options were removed, which keep their columns.

        Example:
            >>> Choice("oak", "pine").without(["elm"]).encode("elm", "wood", outside=True)
            [0.0, 0.0, -1.0]
        """
        made = Choice(*self.options)
        object.__setattr__(made, "former", tuple(each for each in former if each not in self.options))
        return made


@dataclass(frozen=True, init=False)
class Context(Variable):
    """A variable that is not controlled: `Context(0, 1)`, or any variable, `Context(Choice("dry", "wet"))`."""

    variable: Variable

    def __init__(self, lower: float | Variable, upper: float | None = None, unit: str = "") -> None:
        if isinstance(lower, Variable):
            alone = upper is None and not isinstance(lower, Context) and not unit
            require(alone, "Context(...)", "wrap one variable, which has the unit", lower)
            variable = lower
        else:
            require(upper is not None, "Context(lower, upper)", "have two bounds", (lower, upper))
            variable = Real(lower, upper, unit=unit)  # type: ignore[arg-type]
        object.__setattr__(self, "variable", variable)

    @property
    def columns(self) -> int:
        """The wrapped variable's columns."""
        return self.variable.columns

    def encode(self, value: Any, where: str, outside: bool = False) -> list[float]:
        """The wrapped variable's encoding."""
        return self.variable.encode(value, where, outside)

    def encode_all(self, values: Sequence[Any], outside: bool = False) -> np.ndarray | None:
        """The wrapped variable's encoding."""
        return self.variable.encode_all(values, outside)

    def decode(self, unit: Sequence[float]) -> Value:
        """The wrapped variable's value."""
        return self.variable.decode(unit)

    def decode_all(self, units: np.ndarray) -> list[Value]:
        """The wrapped variable's values."""
        return self.variable.decode_all(units)

    def snap(self, units: Tensor) -> Tensor:
        """The wrapped variable's legal columns."""
        return self.variable.snap(units)


def _require_bounds(variable: Real | Integer) -> None:
    where = f"{type(variable).__name__}(lower=..., upper=...)"
    for name in ("lower", "upper"):
        object.__setattr__(variable, name, own_type(getattr(variable, name)))
    bounds = (variable.lower, variable.upper)
    numbers = all(is_number(b) and abs(b) <= MAX_NUMBER and math.isfinite(b) for b in bounds)
    require(numbers and bounds[0] < bounds[1], where, "be finite, lower below upper", bounds)
    unit = variable.unit
    fits = isinstance(unit, str) and unit.isprintable() and unit == unit.strip() and len(unit) <= MAX_UNIT_CHARACTERS
    where_unit = f"{type(variable).__name__}(unit=...)"
    require(fits, where_unit, f"be up to {MAX_UNIT_CHARACTERS} characters, such as kg", unit)
    width = float(bounds[1]) - float(bounds[0])
    steps = math.isfinite(width) and width >= 1000 * math.ulp(max(abs(float(b)) for b in bounds))
    whole = isinstance(variable, Integer) and max(abs(b) for b in bounds) <= 2**53
    require(steps or whole, where, "be a range that floating-point numbers resolve", bounds, "shift or rescale it")


def own_type(value: Any) -> Any:
    """Return NumPy's scalars in Python's own types, and everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _require_inside(variable: Real | Integer, value: Any, where: str) -> None:
    inside = is_number(value) and variable.lower <= value <= variable.upper
    require(inside, where, f"be a number in [{variable.lower:g}, {variable.upper:g}]", value)
