"""Checks of events that were not made here: a file that was imported, trials that are restored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from allweather._utils.tables import Line
from allweather.errors import InvalidInput, is_number, require
from allweather.trials.events import Event
from allweather.trials.history import History
from allweather.trials.replay import apply_event, events_of
from allweather.trials.reported_values import occasion_name, outcomes, standard_errors
from allweather.trials.results import Results, decode_results
from allweather.trials.trial import Trial
from allweather.trials.validation import Validator


def check_events(events: Iterable[Event], validator: Validator, place: Callable[[Event], str]) -> None:
    """Refuse events that asking and telling could not have made.

    Args:
        events: in order, the first of a study.
        validator: of the study's variables.
        place: names where an event stands, for errors.
    """
    trials: list[Trial] = []
    for event in events:
        try:
            if event.kind == "changed":
                validator = _changed(event, trials, validator)
                continue
            _check(event, trials, validator)
        except InvalidInput as error:
            raise error.within(place(event)) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{place(event)} does not hold a valid event: {type(error).__name__} {error}") from None


def restored_events(trials: Sequence[Trial], validator: Validator) -> list[Event]:
    """Return the events of trials of an earlier study, once they fit the variables of this one.

    Args:
        trials: all of them, in order.
        validator: of the study's variables.
    """
    events = events_of(trials)
    check_events(events, validator, lambda event: "Study.restore(trials=...)")
    return events


def _changed(event: Event, trials: Sequence[Trial], validator: Validator) -> Validator:
    """Return the validator after a change of the study, whose variables must allow it."""
    require(event.trial is None, "trial", "not be named by a change of the study", event.trial)
    known = History(validator.space, 1, tuple(trials), outcome_names=validator.outcomes, changes=validator.changes)
    return Validator.of(known.changed(event.content), validator.controlled)


def _check(event: Event, trials: list[Trial], validator: Validator) -> None:
    if event.kind in ("asked", "added"):
        for trial in event.parsed():
            right = trial.number == len(trials) and event.trial in (None, len(trials))
            require(right, "trial", f"have number {len(trials)}", (trial.number, event.trial))
            _check_trial(trial, validator, event.kind == "asked")
            trials.append(trial)
        return
    if event.kind == "observed":
        require(event.trial is None, "trial", "not be named with contexts that were observed", event.trial)
        validator.observed([Line("row", dict(row)) for row in event.payload["contexts"]])
        return
    known = event.trial is not None and 0 <= event.trial < len(trials)
    require(known, "trial", f"be one of the {len(trials)} before", event.trial)
    place, data = event.trial or 0, event.payload
    trial = trials[place]
    validator.check_rows(trial, data.get("context") or data.get("partial"), data.get("decision"))
    if data.get("values"):
        values = outcomes(list(data["values"]), "values")
        standard_errors(data.get("sds") or None, values, "sds")
    if "results" in data:
        _check_results(decode_results(data["results"]), validator)
    occasion_name(data.get("occasion"), "occasion")
    require(isinstance(data.get("reason", ""), str), "reason", "be a text", data.get("reason"))
    for name in ("failed", "withdrawn"):
        require(isinstance(data.get(name, False), bool), name, "be true or false", data.get(name))
    trials[place] = apply_event(trial, event)


def _check_trial(trial: Trial, validator: Validator, asked: bool) -> None:
    require(trial.asked is asked, "asked", "be true for a trial that was asked for, and only then", trial.asked)
    validator.check_rows(trial, trial.context or trial.partial or None, trial.decision)
    told = asked or trial.context is not None or trial.partial is not None or not trial.values
    require(told, "context", "be given with past data", None)
    if trial.values:
        outcomes(list(trial.values), "values")
        standard_errors(list(trial.sds) or None, trial.values, "sds")
    named = tuple(trial.results or ()) == validator.outcomes
    require(named, "results", f"be those of {list(validator.outcomes) or 'one outcome'}", list(trial.results or ()))
    _check_results(trial.results or {}, validator)
    occasion_name(trial.occasion, "occasion")
    for name, text in (("reason", trial.reason), ("run", trial.run)):
        require(isinstance(text, str), name, "be a text", text)
    paid = trial.cost is None or (is_number(trial.cost) and math.isfinite(trial.cost) and trial.cost >= 0)
    require(paid, "cost", "be a number of at least 0", trial.cost)
    if trial.fitted is not None:
        fitted: Mapping[str, Any] = vars(trial.fitted)
        listed = [*trial.fitted.lengthscales, *trial.fitted.noise_slopes]
        numbers = [*listed, *(fitted[name] for name in ("outputscale", "noise", "mean"))]
        finite = all(is_number(each) and math.isfinite(each) for each in numbers)
        require(finite, "fitted", "hold finite numbers", numbers)
        places = all(isinstance(each, int) and each >= 0 for each in trial.fitted.outliers)
        require(places, "fitted", "have places of outliers, 0 or more", trial.fitted.outliers)
        fits = len(trial.fitted.noise_slopes) in (0, len(trial.fitted.lengthscales))
        require(fits, "fitted", "have one noise slope per lengthscale, or none", trial.fitted.noise_slopes)


def _check_results(results: Results, validator: Validator) -> None:
    """Refuse results of outcomes that the study does not have, or that are no numbers."""
    for name, result in results.items():
        require(name in validator.outcomes, "results", f"be of {list(validator.outcomes)}", name)
        require(isinstance(result.failed, bool), f"results.{name}", "say true or false for failed", result.failed)
        if result.values:
            outcomes(list(result.values), f"results.{name}")
            standard_errors(list(result.sds) or None, result.values, f"results.{name}")
