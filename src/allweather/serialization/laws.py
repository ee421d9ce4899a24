"""SciPy's laws of contexts as plain data, and back: a name and parameters, and nothing else of SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from allweather._utils.registry import unknown
from allweather.contexts import truncated_normal
from allweather.contexts.known import Shares
from allweather.errors import is_number, require
from allweather.serialization.checks import LIST, WORD, explained, read
from allweather.serialization.values import code_mark, encode_value, is_code, only_code

SHARES = "shares"
"""The law of a choice."""
OURS = {"truncated_normal": truncated_normal}


@cache
def known_laws() -> tuple[str, ...]:
    """Return the names of the laws that plain data may use."""
    import scipy.stats  # here and below, since it takes longer than the rest of the library

    kinds = (scipy.stats.rv_continuous, scipy.stats.rv_discrete)
    theirs = [name for name in dir(scipy.stats) if isinstance(getattr(scipy.stats, name), kinds)]
    return tuple(sorted([*theirs, *OURS]))


def encode_laws(laws: Any) -> dict[str, Any]:
    """Return frozen SciPy laws, by variable, as plain data.

    Example:
        >>> import scipy.stats
        >>> encode_laws({"demand": scipy.stats.gamma(4, scale=20)})
        {'demand': {'name': 'gamma', 'a': 4, 'scale': 20}}
    """
    if not isinstance(laws, Mapping):
        return code_mark(laws)
    return {name: encode_law(law) for name, law in laws.items()}


def encode_law(law: Any) -> dict[str, Any]:
    """Return a frozen SciPy law as its name and parameters."""
    if isinstance(law, Shares):
        return {"name": SHARES, "options": list(law.options), "weights": list(law.weights)}
    import scipy.stats

    kind: Any = getattr(law, "dist", law)
    named: Any = getattr(scipy.stats, str(getattr(kind, "name", None)), None)
    if named is None or type(named) is not type(kind):  # a law of the user's own may have a name of SciPy's
        return code_mark(law)
    parameters = law_parameters(kind, law.args, law.kwds)
    if any(np.ndim(value) for value in parameters.values()):
        return code_mark(law)
    return {"name": kind.name, **{key: encode_value(value) for key, value in parameters.items()}}


def law_parameters(kind: Any, args: Sequence[Any], kwds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a SciPy law by name.

    Args:
        kind: the distribution, such as `scipy.stats.norm`.
        args: parameters given by position.
        kwds: parameters given by name.
    """
    order = [*(kind.shapes or "").replace(" ", "").split(","), "loc", "scale"]
    return dict(zip(filter(None, order), args, strict=False)) | dict(kwds)


def decode_law(table: Any, where: str) -> Any:
    """Return the law that a table names, with its parameters.

    Args:
        table: a name and numbers.
        where: what errors call it.

    Example:
        >>> round(float(decode_law({"name": "gamma", "a": 4, "scale": 20}, "kiosk.toml: context.law.demand").mean()), 6)
        80.0
    """
    import scipy.stats

    if is_code(table):
        raise only_code(where, table)
    require(isinstance(table, dict) and isinstance(table.get("name"), str), where, "be a table with a name", table)
    parameters = {key: value for key, value in table.items() if key != "name"}
    name = table["name"]
    if name == SHARES:
        read(table, where, {"name": WORD, "options": LIST, "weights": LIST})
        with explained(where):
            return Shares.of(dict(zip(table["options"], table["weights"], strict=True)))
    if name not in known_laws():
        raise unknown(f"{where}.name", name, known_laws())
    for key, value in parameters.items():
        require(is_number(value), f"{where}.{key}", "be a number", value)
    with explained(where):
        frozen = OURS[name](**parameters) if name in OURS else getattr(scipy.stats, name)(**parameters)
        middle = np.asarray(frozen.ppf([0.01, 0.5, 0.99]), dtype=np.float64)
    require(bool(np.isfinite(middle).all()), where, f"be parameters that {name} allows", parameters)
    return frozen


def decode_laws(table: Any, where: str) -> dict[str, Any]:
    """Return a law for each variable, by its name."""
    if is_code(table):
        raise only_code(where, table)
    require(isinstance(table, dict) and len(table) > 0, where, "be a table with a law for each variable", table)
    return {name: decode_law(inner, f"{where}.{name}") for name, inner in table.items()}
