"""Values of settings as plain data: what JSON and TOML can both hold, exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from allweather.serialization.checks import no_plain_form


def encode_value(key: str, value: Any) -> Any:
    """Return a value as numbers, texts, truth values, lists and tables.

    Args:
        key: what errors call it.
        value: to write.

    Raises:
        NoPlainForm: for functions, numbers that are not finite, and objects.

    Example:
        >>> import torch
        >>> encode_value("points", torch.tensor([[0.5], [1.0]]))
        [[0.5], [1.0]]
    """
    if hasattr(value, "tolist"):  # a tensor, or an array or number of NumPy
        value = value.tolist()
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: encode_value(key, inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [encode_value(key, inner) for inner in value]
    raise no_plain_form(key, value)
