"""Trials as text and as plain data."""

from __future__ import annotations

from typing import Any

from allweather._utils.formatting import brief
from allweather.trials.trial import Trial


def outcome(trial: Trial) -> str:
    """Return the outcomes of a trial as text."""
    listed = ", ".join(map(brief, trial.values[:5])) or "no outcome"
    return listed if len(trial.values) <= 5 else f"{listed}, ... ({len(trial.values)} in all)"


def fields(trial: Trial) -> dict[str, Any]:
    """Return a trial as plain data."""
    said: dict[str, Any] = {
        "number": trial.number,
        "state": trial.state,
        "decision": dict(trial.decision),
        "context": None if trial.context is None else dict(trial.context),
        "values": list(trial.values),
    }
    return said if trial.cost is None else {**said, "left": list(trial.left), "cost": trial.cost}
