"""The state of a node in Ax's files: a spec without decisions; nothing but parts is made, whatever a file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from allweather.errors import InvalidInput, shown
from allweather.integrations.ax.parameters import WHERE
from allweather.integrations.botorch import InputNoise
from allweather.integrations.options import StudyOptions
from allweather.methods.composition import Composition
from allweather.objectives import Outcome
from allweather.serialization import Arguments, NoPlainForm, Spec
from allweather.serialization.checks import explained
from allweather.serialization.compositions import encode_composition
from allweather.serialization.spec import encode_study
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
    try:
        parts = Composition().with_parts(
            options.context,
            options.objective,
            options.acquisition,
            None if noise else options.surrogate,
            simulator=options.simulator,
        )
        state = encode_study(Arguments(space, parts, seed=options.seed, initial=options.initial, outcomes=outcomes))
        if isinstance(method, Composition):
            state["method"] = encode_composition(method, list(space.contexts))
    except NoPlainForm as mistake:
        problem = "cannot be saved with " + shown(mistake.received) + " in it: functions have no plain form"
        raise InvalidInput(problem, where=WHERE) from None
    del state["direction"]  # the experiment's
    if isinstance(method, str):
        state["method"] = method
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
    spec = Spec(given, WHERE)
    arguments = spec.arguments()
    found |= {each.name: arguments[each.name] for each in fields(StudyOptions) if each.name in arguments}
    if isinstance(given.get("method"), str):
        found["method"] = given["method"]
    return {"space": spec.space, **found, "outcomes": arguments.get("outcomes")}
