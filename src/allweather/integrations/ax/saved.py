"""The state of a node in Ax's files: a spec without decisions; nothing but parts is made, whatever a file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather.errors import InvalidInput
from allweather.integrations.ax.parameters import WHERE
from allweather.integrations.botorch import InputNoise
from allweather.integrations.options import StudyOptions
from allweather.methods.composition import Composition
from allweather.objectives import Outcome
from allweather.serialization import decode_part, decode_space, encode_part, encode_space
from allweather.serialization.checks import below, explained
from allweather.serialization.compositions import decode_method, encode_composition
from allweather.serialization.fields import PARTS, VERSION, check_fields
from allweather.serialization.values import marks
from allweather.space import Space

NOISE = "input-noise"


def encode_state(space: Space, options: StudyOptions, outcomes: Mapping[str, Outcome] | None = None) -> dict[str, Any]:
    """Return the arguments of a node as plain data.

    Args:
        space: the contexts.
        options: the other arguments.
        outcomes: how contexts count in metrics.

    Example:
        >>> from allweather import CVaR, Context
        >>> encode_state(Space(demand=Context(0, 1)), StudyOptions("AllweatherNode", objective=CVaR(0.2)))["objective"]
        {'name': 'cvar', 'level': 0.2}
    """
    method = options.method
    noise = options.surrogate if isinstance(options.surrogate, InputNoise) else None
    surrogate = None if noise else options.surrogate
    parts = Composition().with_parts(
        options.context, options.objective, options.acquisition, surrogate, simulator=options.simulator
    )
    state: dict[str, Any] = {"version": VERSION, "seed": options.seed}
    if options.initial is not None:
        state["initial"] = options.initial
    state |= encode_composition(parts, list(space.contexts))
    if outcomes is not None:
        state["outcomes"] = {name: encode_part(name, each) for name, each in outcomes.items()}
    if isinstance(method, Composition):
        state["method"] = encode_composition(method, list(space.contexts))
    elif method is not None:
        state["method"] = method
    for name in marks(state):
        raise InvalidInput(f"cannot be saved with {name} in it: functions have no plain form", where=WHERE)
    state["variables"] = encode_space(space)
    return state if noise is None else {**state, "surrogate": {"name": NOISE, "errors": dict(noise.errors)}}


def decode_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a node that `encode_state` wrote.

    Args:
        state: as it was read from a file.

    Example:
        >>> decode_state({"variables": {"demand": {"lower": 0, "upper": 1, "context": True}}, "seed": 3})["seed"]
        3
    """
    given, found = dict(state), dict[str, Any]()
    surrogate = given.get("surrogate")
    if isinstance(surrogate, Mapping) and surrogate.get("name") == NOISE:
        given.pop("surrogate")
        with explained(WHERE):
            found["surrogate"] = InputNoise(surrogate.get("errors", {}))
    given = check_fields(given, WHERE)
    found |= {key: given[key] for key in ("seed", "initial") if key in given}
    found |= {key: decode_part(key, given[key], below(WHERE, key)) for key in PARTS if key in given}
    if "method" in given:
        named = isinstance(given["method"], str)
        found["method"] = given["method"] if named else decode_method(given["method"], below(WHERE, "method"))
    outcomes = None
    if "outcomes" in given:
        where = below(WHERE, "outcomes")
        outcomes = {name: decode_part("outcomes", each, below(where, name)) for name, each in given["outcomes"].items()}
    space = decode_space(given["variables"], below(WHERE, "variables"))
    return {"space": space, **found, "outcomes": outcomes}
