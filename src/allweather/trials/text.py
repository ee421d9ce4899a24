"""Trials as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from allweather._utils.formatting import brief, clean
from allweather.trials.results import encode_results
from allweather.trials.suspicious import Suspicion
from allweather.trials.trial import Trial


def outcome(trial: Trial) -> str:
    """Return the outcomes of a trial as text."""
    if trial.results is not None:
        named = {name: trial.of_outcome(name) for name in trial.results}
        said = {name: "failed" if each.failed else outcome(each) for name, each in named.items()}
        return ", ".join(f"{clean(name)} {each}" for name, each in said.items() if each != "no outcome") or "no outcome"
    errors = ["" if sd is None else f" ± {brief(sd)}" for sd in trial.sds] or [""] * len(trial.values)
    listed = ", ".join(brief(value) + sd for value, sd in zip(trial.values[:5], errors, strict=False)) or "no outcome"
    return listed if len(trial.values) <= 5 else f"{listed}, ... ({len(trial.values)} in all)"


def fields(trial: Trial) -> dict[str, Any]:
    """Return a trial as plain data for programs and scripts: its state, and what is known of it.

    Example:
        >>> fields(Trial(0, {"order": 0.3}))
        {'number': 0, 'state': 'pending', 'decision': {'order': 0.3}, 'context': None, 'values': []}
    """
    data = {"context": None, "values": (), "left": (), **trial.to_dict()}
    said = {"number": trial.number, "state": trial.state, "decision": data["decision"]}
    said |= {"context": data["context"], "values": list(data["values"])}
    said |= {"sds": list(trial.sds)} if trial.sds else {}
    if trial.results is not None:
        said["results"] = encode_results({name: replace(each, fitted=None) for name, each in trial.results.items()})
    said |= {} if trial.occasion is None else {"occasion": trial.occasion}
    said |= {} if trial.partial is None else {"partial": dict(trial.partial)}
    said |= {"reason": trial.reason} if trial.reason else {}
    return said if trial.cost is None else {**said, "left": list(data["left"]), "cost": trial.cost}


def still_missing(trial: Trial, contexts: Iterable[str]) -> list[str]:
    """Return what has not been told of a pending trial: context variables and outcomes.

    Args:
        trial: that is pending.
        contexts: the variables of its context.

    Example:
        >>> still_missing(Trial(0, {"dose": 1.0}, partial={"lot": "A"}), ["lot", "heat"])
        ['heat', 'outcome']
    """
    known, results = trial.context or trial.partial or {}, trial.results or {}
    waiting = [name for name, each in results.items() if not each.resolved]
    outcome = [] if trial.values or results else ["outcome"]
    return [*(name for name in contexts if name not in known), *(waiting or outcome)]


MAX_SUSPICIONS_IN_WARNING = 3
"""Trials that a warning names, at most."""


def suspicion(each: Suspicion) -> str:
    """Return what looks wrong with a trial.

    Example:
        >>> print(suspicion(Suspicion(7, "outcome", value=1480.0, expected=14.2, interval=(10.1, 18.3))))
        trial 7: outcome 1480, where all others say 14.2 (10.1 to 18.3), about 100 times too large
        >>> print(suspicion(Suspicion(9, "repeated", other=4)))
        trial 9: equal to trial 4 in every value
        >>> print(suspicion(Suspicion(5, "context", "humidity", 40.0, 35.0, occasion="Monday")))
        trial 5: humidity 40, where the occasion Monday has 35
    """
    said = f"trial {each.trial}: "
    if each.kind == "repeated":
        return f"{said}equal to trial {each.other} in every value"
    said += f"{clean(each.name) or 'outcome'} {_digits(each.value)}, where "
    if each.kind == "context":
        return f"{said}the occasion {clean(str(each.occasion))} has {_digits(each.expected)}"
    low, high = each.interval or (math.nan, math.nan)
    said += f"all others say {_digits(each.expected)} ({_digits(low)} to {_digits(high)})"
    said += _misplaced(each.value, each.expected)
    return f"{said}: set aside as an outlier" if each.set_aside else said


def suspicion_fields(each: Suspicion) -> dict[str, Any]:
    """Return what looks wrong with a trial as plain data, and as text."""
    told = {name: value for name, value in asdict(each).items() if value not in (None, "")}
    told |= {} if told.pop("set_aside") is False else {"set_aside": True}
    return {**told, "text": suspicion(each)}


def in_terminal(each: Suspicion, options: str = "") -> str:
    """Return the commands that correct or withdraw a trial that looks wrong.

    Args:
        each: what looks wrong.
        options: that choose the study.

    Example:
        >>> print(in_terminal(Suspicion(7, "outcome", "yield", 1480.0, 14.2)))
        correct it with `allweather correct 7 yield=VALUE`, or leave it out with `allweather correct 7 --withdraw`
    """
    withdraw = f"leave it out with `allweather correct {each.trial} --withdraw{options}`"
    if each.kind == "repeated":
        return withdraw
    name = f"{each.name}=" if each.name else ""
    right = f"--context {name}{brief(each.expected)}" if each.kind == "context" else f"{name}VALUE"
    return f"correct it with `allweather correct {each.trial} {right}{options}`, or {withdraw}"


def in_python(each: Suspicion) -> str:
    """Return the calls that correct or withdraw a trial that looks wrong.

    Example:
        >>> print(in_python(Suspicion(9, "repeated", other=4)))
        leave it out with `study.withdraw(9)`
    """
    withdraw = f"leave it out with `study.withdraw({each.trial})`"
    if each.kind == "repeated":
        return withdraw
    right = f"context={{{each.name!r}: {each.expected!r}}}" if each.kind == "context" else "..."
    return f"correct it with `study.correct({each.trial}, {right})`, or {withdraw}"


def suspicion_warning(found: Iterable[Suspicion]) -> str:
    """Return a warning that names the trials that look wrong; empty where there are none."""
    listed = list(found)
    if not listed:
        return ""
    said = [suspicion(each) for each in listed[:MAX_SUSPICIONS_IN_WARNING]]
    more = [f"and {len(listed) - len(said)} more"] if len(listed) > len(said) else []
    one = len(listed) == 1
    count, object_ = ("a trial looks", "it") if one else (f"{len(listed)} trials look", "them")
    return f"{count} wrong ({'; '.join([*said, *more])}): correct or withdraw {object_}"


def _digits(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else brief(value)


def _misplaced(value: Any, expected: Any) -> str:
    """How many times too large or small a value is, where a power of ten explains it."""
    if not value or not expected or value * expected < 0:
        return ""
    order = math.log10(value / expected)
    power = round(order)
    if power == 0 or abs(order - power) > 0.2:
        return ""
    return f", about {10 ** abs(power)} times too {'large' if power > 0 else 'small'}"
