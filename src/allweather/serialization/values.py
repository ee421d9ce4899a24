"""Values of settings as plain data: what JSON and TOML can both hold, exactly, and marks for what only code can say."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from allweather.errors import InvalidInput

CODE = "code"
"""The key of a mark: `{"code": "my_function"}` stands for what cannot be serialized."""
LONGEST_VALUE = 100_000
"""Characters of a setting as JSON, at most; a longer one, such as a large table of candidates, is marked as code."""


def encode_value(value: Any) -> Any:
    """Return a value as numbers, texts, truth values, lists and tables; functions and objects as marks.

    Args:
        value: to write.

    Example:
        >>> import torch
        >>> encode_value(torch.tensor([[0.5], [1.0]])), encode_value([print])
        ([[0.5], [1.0]], [{'code': 'print'}])
    """
    found = _encoded(value)
    if isinstance(found, list | dict):
        text = json.dumps(found)
        if len(text) > LONGEST_VALUE:
            return {CODE: f"{len(found)} rows ({hashlib.sha256(text.encode()).hexdigest()[:12]})"}
    return found


def _encoded(value: Any) -> Any:
    if hasattr(value, "tolist"):  # a tensor, or an array or number of NumPy
        value = value.tolist()
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _encoded(inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_encoded(inner) for inner in value]
    return code_mark(value)


def code_mark(value: Any) -> dict[str, str]:
    """Return the mark for what cannot be serialized: the name of a function or class.

    Example:
        >>> code_mark(print), code_mark(object())
        ({'code': 'print'}, {'code': 'object'})
    """
    if isinstance(value, float):
        return {CODE: repr(value)}
    return {CODE: str(getattr(value, "__name__", type(value).__name__))[:200]}


def is_code(data: Any) -> bool:
    """Return whether plain data are a mark for what cannot be serialized."""
    return isinstance(data, Mapping) and set(data) == {CODE}


def marks(data: Any) -> Iterator[str]:
    """Yield the names of what cannot be serialized within plain data.

    Example:
        >>> list(marks({"objective": {"name": "dro", "distance": {"code": "MyDistance"}}}))
        ['MyDistance']
    """
    if is_code(data):
        yield data[CODE]
    elif isinstance(data, Mapping | list):
        for inner in data.values() if isinstance(data, Mapping) else data:
            yield from marks(inner)


def only_code(where: str, mark: Mapping[str, Any]) -> InvalidInput:
    """Return the error for a mark that cannot be decoded.

    Args:
        where: what errors call it.
        mark: `{"code": name}`.
    """
    problem = f"is {mark[CODE]!r} of the program that made it, and cannot be read without that code"
    return InvalidInput(problem, where=where)
