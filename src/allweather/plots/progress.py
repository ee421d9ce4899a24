"""Figure of the progress of a study: outcomes, objective of the recommendation, regret and cost."""

from __future__ import annotations

import numpy as np
import pandas as pd

from allweather.benchmark.regret import Judge, Measure
from allweather.engine.outlook import Outlook
from allweather.errors import InvalidInput, require
from allweather.objectives import Objective
from allweather.plots.axes import complete_trials
from allweather.plots.labels import format_row, format_value, noted, objective_label
from allweather.plots.marks import BLUE, GREEN, GREY, PURPLE, VERMILLION, Dots, Line, Mark, Panel, Ribbon
from allweather.plots.picture import Picture
from allweather.problems import Problem
from allweather.study import Study

MAX_PAST_RECOMMENDATIONS = 12
"""Past recommendations that are computed, at most."""
MAX_PAST_WITH_LIMITS = 6
"""Past recommendations of a study with several outcomes: each is searched for among decisions that keep the limits."""
MAX_SHOWN_OUTCOMES = 2000
"""Outcomes that are drawn, at most."""
MAX_BAND_RATIO = 2
"""Range of all intervals, as a multiple of that of estimates and later intervals, beyond which early ones are cut."""
MAX_TRIALS_TO_RECOMPUTE = 1024
"""Complete trials up to which past recommendations are computed; beyond, it would take too long."""


def progress(
    study: Study, objective: Objective | None = None, problem: Problem | None = None, measure: Measure | None = None
) -> Picture:
    """Plot the outcomes, the objective of the decision recommended after each trial, and the cost spent.

    The objective is estimated twice: with the data at the time, with 90% credible bands, and with all data.

    Args:
        study: with at least one complete trial.
        objective: instead of that of the study.
        problem: the test problem of the study; adds the true regret.
        measure: of the regret; by default the mean outcome under the true distribution.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> [panel.title for panel in progress(study).panels]
        ['Outcomes', 'Objective of the recommended decision']
    """
    table = study.trials()
    complete = complete_trials(study)
    if complete.empty:
        raise InvalidInput("needs at least one complete trial (context and value)", where="plots.progress(study=...)")
    now = study.outlook(objective=objective)
    recent = min(len(complete), MAX_TRIALS_TO_RECOMPUTE)
    most = MAX_PAST_WITH_LIMITS if now.views else MAX_PAST_RECOMMENDATIONS
    known = np.unique(np.linspace(1, recent, min(most, recent)).round().astype(int))
    past = [study.outlook(objective=objective, after=int(each)) for each in known if each < len(complete)]
    past += [now] * (len(known) - len(past))
    if len(complete) > recent:
        known, past = np.append(known, len(complete)), [*past, now]
    panels = [_outcomes(complete), _objective(now, past, known)]
    if problem is not None:
        panels.append(_regret(past, known, problem, measure or Measure()))
    if "cost" in table:
        panels.append(_spent(table))
    reached = now.chosen_objective[1]
    says = (
        f"After {len(complete)} complete trials the recommended decision is {format_row(now.decision, now.space)}; its "
        f"{objective_label(now.belief.objective)} is {format_value(float(reached))}."
        f"{' Early intervals are wider than the figure.' if panels[1].limits else ''}"
    )
    return Picture("Progress", noted(says, now), tuple(panels))


def _outcomes(complete: pd.DataFrame) -> Panel:
    places = np.linspace(0, len(complete) - 1, min(MAX_SHOWN_OUTCOMES, len(complete)))
    shown = complete.iloc[np.unique(places.round().astype(int))]
    texts = [f"trial {number}: {format_value(float(value))}" for number, value in shown["value"].items()]
    return Panel(
        "Outcomes",
        "trial",
        "outcome",
        (Dots(shown.index.to_numpy(), shown["value"].to_numpy(), "outcome", GREY, texts=texts),),
        whole_x=True,
    )


def _objective(now: Outlook, past: list[Outlook], times: np.ndarray) -> Panel:
    then = np.array([outlook.chosen_objective for outlook in past])
    then = np.where(np.isfinite(then), then, np.nan)
    low, middle, high = then.T
    marks: tuple[Mark, ...] = (
        Ribbon(times, low, high, "90% credible interval at the time", BLUE),
        Line(times, middle, "estimate at the time", BLUE, "dash"),
    )
    if len({outlook.control for outlook in [now, *past]}) == 1:  # otherwise decisions have different variables
        judged = now.objectives([outlook.decision for outlook in past]).middle
        marks = (*marks, Line(times, judged, "estimate with all data", VERMILLION))
    wanted, limits = objective_label(now.belief.objective), readable_limits(marks)
    return Panel("Objective of the recommended decision", "complete trials", wanted, marks, limits=limits, whole_x=True)


def readable_limits(marks: tuple[Mark, ...]) -> tuple[float, float] | None:
    """Return the ends of the axis where early intervals are so wide that nothing else could be seen; else None.

    Args:
        marks: the estimates, and one ribbon of intervals.
    """
    lines = [np.asarray(mark.y, dtype=float) for mark in marks if isinstance(mark, Line)]
    (band,) = (np.asarray([mark.low, mark.high], dtype=float) for mark in marks if isinstance(mark, Ribbon))
    shown = np.concatenate([*lines, band[:, band.shape[1] // 2 :].ravel()])
    if not np.isfinite(shown).any():
        return None
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    room = 0.1 * (high - low)
    wide = np.nanmax(band) - np.nanmin(band) > MAX_BAND_RATIO * (high - low)
    return (low - room, high + room) if wide and room > 0 else None


def _regret(past: list[Outlook], times: np.ndarray, problem: Problem, measure: Measure) -> Panel:
    require(isinstance(problem, Problem), "plots.progress(problem=...)", "be a test problem", problem)
    same = all(outlook.space == problem.space for outlook in past)
    require(same, "plots.progress(problem=...)", "have the study's variables", problem.space)
    judge = Judge.of(problem, measure)
    lost = [max(judge.regret(outlook.chosen), 1e-9) for outlook in past]
    line = Line(times, lost, "regret", GREEN)
    title, up = "Regret of the recommended decision", f"regret ({measure.name})"
    return Panel(title, "complete trials", up, (line,), log_y=True, whole_x=True)


def _spent(table: pd.DataFrame) -> Panel:
    spent = table["cost"].fillna(0.0).cumsum()
    return Panel(
        "Cost",
        "trial",
        "cost spent",
        (Line(table.index.to_numpy(), spent.to_numpy(), "cost spent", PURPLE, steps=True),),
        whole_x=True,
    )
