"""Spaces of named variables, decisions and contexts. Encoded points are float64 tensors in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allweather.errors import InvalidInput, name_mismatch, require
from allweather.space.variables import Choice, Context, Integer, Real, Value, Variable

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Box", "Choice", "Context", "Integer", "Real", "Space", "Variable"]

Row = Mapping[str, Any]
MAX_NAME_CHARACTERS = 200
"""Characters of a variable's name."""


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

    def encode(self, rows: Row | Sequence[Row], outside: bool = False) -> Tensor:
        """Encode rows of named values in the user's units as points (b, columns).

        Args:
            rows: dictionaries or a DataFrame.
            outside: whether values of earlier bounds or options are encoded too, outside the unit cube.
        """
        import torch  # here and below, since values are checked without it

        quick = self._encode_quickly(rows, outside) if isinstance(rows, list) else None
        if quick is not None:
            return torch.from_numpy(quick)
        encoded = self.check(rows, outside)
        return torch.tensor(encoded, dtype=torch.float64).reshape(len(encoded), self.columns)

    def encode_partly(self, row: Row, outside: bool = False) -> Tensor:
        """Encode some of the variables as a point (columns,), NaN where nothing is given.

        Example:
            >>> Space(heat=Real(0, 4), wood=Choice("oak", "ash")).decisions.encode_partly({"heat": 1})
            tensor([0.2500,    nan,    nan], dtype=torch.float64)
        """
        import torch

        units = [
            unit
            for name, variable in self.variables
            for unit in (
                variable.encode(row[name], f"{self.role} {name}", outside)
                if name in row
                else [math.nan] * variable.columns
            )
        ]
        return torch.tensor(units, dtype=torch.float64)

    def check(self, rows: Row | Sequence[Row], outside: bool = False) -> list[list[float]]:
        """Refuse rows that do not fit the variables; return their points as lists."""
        if hasattr(rows, "to_dict"):  # a pandas DataFrame, or one row of it
            rows = rows.to_dict("records") if getattr(rows, "ndim", 2) == 2 else rows.to_dict()
        named = isinstance(rows, Mapping | Sequence) and not isinstance(rows, str)
        require(named, f"{self.role}", f"be given by name ({', '.join(self)})", rows)
        rows = [rows] if isinstance(rows, Mapping) else list(rows)
        for row in rows:
            require(isinstance(row, Mapping), f"{self.role}", f"be given by name ({', '.join(self)})", row)
        return [self._encode_row(row, outside) for row in rows]

    def decode(self, points: Tensor) -> list[dict[str, Value]]:
        """Decode points (b, columns) of the unit cube to rows of named values in the user's units."""
        columns = self.decode_columns(points)
        if not columns:
            return [{} for _ in points]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def decode_columns(self, points: Tensor) -> dict[str, list[Value]]:
        """Decode points (b, columns) of the unit cube to one list of values for each variable."""
        self._require_points(points, "Box.decode(points=...)")
        decoded, units, start = {}, points.detach().cpu().numpy(), 0
        for name, variable in self.variables:
            decoded[name] = variable.decode_all(units[:, start : start + variable.columns])
            start += variable.columns
        return decoded

    def snap(self, points: Tensor) -> Tensor:
        """Return the legal points (b, columns) of the unit cube that are nearest to the given ones.

        Example:
            >>> import torch
            >>> box = Space(size=Integer(0, 4), wood=Choice("oak", "ash")).decisions
            >>> box.snap(torch.tensor([[0.3, 0.2, 0.4]]))
            tensor([[0.2500, 0.0000, 1.0000]])
        """
        import torch

        self._require_points(points, "Box.snap(points=...)")
        parts = points.split([variable.columns for _, variable in self.variables], dim=1)
        snapped = [variable.snap(part) for (_, variable), part in zip(self.variables, parts, strict=True)]
        return torch.cat([points[:, :0], *snapped], dim=1)

    def _encode_quickly(self, rows: Sequence[Row], outside: bool) -> np.ndarray | None:
        """Points (b, columns) of rows that are certainly legal, column by column; None where they may not be."""
        names = {name for name, _ in self.variables}
        if not names or not all(isinstance(row, dict) and row.keys() == names for row in rows):
            return None
        parts = []
        for name, variable in self.variables:
            part = variable.encode_all([row[name] for row in rows], outside)
            if part is None:  # one at a time, where nothing is wrong; otherwise the first row that is wrong is named
                return None
            parts.append(part)
        return np.concatenate(parts, axis=1)

    def _require_points(self, points: Tensor, where: str) -> None:
        fits = points.ndim == 2 and points.shape[1] == self.columns
        require(fits, where, f"have shape (b, {self.columns})", tuple(points.shape))
        require(bool(points.isfinite().all()), where, "be finite", "NaN or infinity")

    def _encode_row(self, row: Row, outside: bool) -> list[float]:
        mismatch = name_mismatch(self, row)
        if mismatch:
            variables = f"its variables are {', '.join(self) or 'none'}"
            raise InvalidInput(mismatch, where=self.role, received=dict(row), remedy=variables)
        return [
            unit
            for name, variable in self.variables
            for unit in variable.encode(row[name], f"{self.role} {name}", outside)
        ]


class Space:
    """All variables of a problem by name; those wrapped in `Context` are uncontrolled, the others are decisions.

    Example:
        >>> space = Space(order=Real(0, 10), demand=Context(0, 1))
        >>> list(space.decisions), list(space.contexts)
        (['order'], ['demand'])
    """

    def __init__(self, /, **variables: Variable) -> None:
        for name, variable in variables.items():
            fits = name.isprintable() and 0 < len(name) <= MAX_NAME_CHARACTERS and name == name.strip()
            require(fits, "Space(...)", f"name variables by up to {MAX_NAME_CHARACTERS} printable characters", name)
            require(
                isinstance(variable, Variable),
                f"Space({name}=...)",
                "be Real, Integer, Choice or Context",
                variable,
            )
        self._variables = dict(variables)
        decided = tuple((n, v) for n, v in variables.items() if not isinstance(v, Context))
        uncontrolled = tuple((n, v) for n, v in variables.items() if isinstance(v, Context))
        self.decisions = Box("decision", decided)
        self.contexts = Box("context", uncontrolled)

    @classmethod
    def from_table(
        cls, table: Any, contexts: Sequence[str] = (), outcome: str | None = None, decimal: str = ""
    ) -> Space:
        """Return the space that is proposed for a table: look at it, and write what you want different.

        Names are headers without units; kinds, bounds and options follow from the cells. `Proposal.of` of the same
        arguments says why, column by column.

        Args:
            table: a DataFrame, a CSV or .xlsx file, or rows.
            contexts: the columns that are not controlled.
            outcome: the column of the outcome; by default one that is called `value` or the like.
            decimal: the decimal mark of numbers in text, "." or ",", where it is known.

        Example:
            >>> days = [{"order (kg)": o, "demand": d, "profit": 1.0} for o, d in [(0.5, 3), (2.5, 8), (1.25, 5)]]
            >>> Space.from_table(days, contexts=["demand"], outcome="profit")
            Space(order=Real(lower=0.5, upper=2.5, log=False), demand=Context(variable=Integer(lower=2, upper=9)))
        """
        from allweather.space.proposal import Proposal  # which is made of spaces

        return Proposal.of(table, contexts, outcome, decimal).space

    @property
    def variables(self) -> dict[str, Variable]:
        """Every variable, in the order given."""
        return dict(self._variables)

    @property
    def joint(self) -> Box:
        """All variables side by side, as if all were decisions."""
        plain = [(n, v.variable if isinstance(v, Context) else v) for n, v in self._variables.items()]
        return Box("variable", tuple(plain))

    def controlling(self, names: Collection[str]) -> Space:
        """Return the same variables with exactly `names` as decisions and all others as contexts.

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
