"""Occasions: trials that share their context, such as the runs of one day, and say no more about its law than one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from allweather.space.variables import Choice, Context, Integer, Value, Variable
from allweather.trials.trial import Row, Trial


def by_occasion(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Return trials in groups that share an occasion, in the order of their first; a trial without one is alone.

    Example:
        >>> monday = [Trial(0, {"x": 0.1}, occasion="Monday"), Trial(2, {"x": 0.2}, occasion="Monday")]
        >>> [[trial.number for trial in group] for group in by_occasion([monday[0], Trial(1, {"x": 0.3}), monday[1]])]
        [[0, 2], [1]]
    """
    groups: dict[str | int, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.number if trial.occasion is None else trial.occasion, []).append(trial)
    return list(groups.values())


def contexts_of_occasions(trials: Sequence[Trial], variables: Mapping[str, Variable]) -> list[Row]:
    """Return one context for each occasion of trials that are not withdrawn and whose context is known.

    Where the trials of an occasion differ, it is the mean of numbers and the most frequent option of choices.

    Args:
        trials: all trials.
        variables: by name.
    """
    known = [trial for trial in trials if trial.context is not None and not trial.withdrawn]
    return [_merged([trial.context or {} for trial in group], variables) for group in by_occasion(known)]


def _merged(rows: Sequence[Row], variables: Mapping[str, Variable]) -> Row:
    if len(rows) == 1:
        return rows[0]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _middle([row[name] for row in rows if name in row], variables[name]) for name in names}


def _middle(values: Sequence[Value], variable: Variable) -> Value:
    inner = variable.variable if isinstance(variable, Context) else variable
    if isinstance(inner, Choice) or len(set(values)) == 1:
        return statistics.mode(values)
    mean = statistics.fmean(float(value) for value in values)
    return round(mean) if isinstance(inner, Integer) else mean
