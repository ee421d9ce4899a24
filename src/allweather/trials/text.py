"""Trials as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from allweather._utils.formatting import brief, clean
from allweather.trials.results import encode_results
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
