"""What looks wrong in a history: outcomes far from what all others say, equal rows, contexts that disagree.

Outcomes are judged by a Gaussian process of their own, which one wrong value cannot mislead: on a scale that is linear
around the median and logarithmic beyond some deviations, with a robust scale, and for each value that stands out by a
fit without it and its likes. It needs no torch, so that tables are looked at when they are added.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from allweather.space import Box
from allweather.space.variables import Value
from allweather.trials.occasions import by_occasion
from allweather.trials.trial import Trial

if TYPE_CHECKING:
    from allweather.trials.history import History

MIN_EXAMINED_OUTCOMES = 8
"""Below this many outcomes none is far from the others."""
MAX_EXAMINED_OUTCOMES = 1000
"""Above this many outcomes, examine the newest."""
MAX_FIT_OUTCOMES = 150
"""Above this many outcomes, fit the model of the examination to a random subset of this size."""
FALSE_ALARM = 1e-3
"""Probability that any of the outcomes is named where the model is right."""
MIN_DISTANCE = 2.5
"""Least distance from what is expected, in robust standard deviations, logarithmic beyond the first."""
MIN_KNOWN_ERRORS = 3.0
"""Least distance in standard errors of an outcome, where they are known."""
STANDS_OUT = 6.0
"""Robust standard deviations from the median, from which on an outcome is judged by a fit without it."""
MAX_SHARE = 0.1
"""If a larger share of the outcomes looks wrong, the model of the examination is, and none is named."""
LENGTHSCALES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""In the unit cube, times the root of the number of columns."""
NOISE = (1e-4, 1e-3, 1e-2, 0.1, 0.5)
"""Variances of the noise, as shares of that of the function."""


@dataclass(frozen=True)
class Suspicion:
    """A trial that looks wrong, and why."""

    trial: int
    """Its number."""
    kind: Literal["outcome", "repeated", "context"]
    """An outcome far from what is expected, a trial equal to another, or a context unlike that of its occasion."""
    name: str = ""
    """The outcome, where there are several, or the variable of the context."""
    value: Value | None = None
    """What was told."""
    expected: Value | None = None
    """What all other trials say."""
    interval: tuple[float, float] | None = None
    """Where an outcome is expected with 95% probability."""
    other: int | None = None
    """The trial that it equals."""
    occasion: str | None = None
    """The occasion whose context it does not share."""
    set_aside: bool = False
    """Whether the model leaves the outcome out as an outlier."""

    def __str__(self) -> str:
        from allweather.trials.text import in_python, suspicion

        return f"{suspicion(self)}; {in_python(self)}"


def find_suspicious(history: History) -> tuple[Suspicion, ...]:
    """Return what looks wrong in a history, by trial.

    Args:
        history: of a study.
    """
    complete = history.complete
    found = [*_repeated(complete), *_disagreeing(complete)]
    repeated = {each.trial for each in found if each.kind == "repeated"}
    single = [trial for trial in complete if trial.number not in repeated]
    box = history.space.joint
    for name in history.outcome_names or ("",):
        own = [trial.of_outcome(name) for trial in single] if name else single
        found += _far_outcomes([trial for trial in own if trial.values], box, name)
    return tuple(sorted(found, key=lambda each: each.trial))


def _repeated(trials: Sequence[Trial]) -> Iterable[Suspicion]:
    """Rows of tables that equal an earlier trial in every value; none where that is usual."""
    from allweather.trials.additions import content

    first: dict[str, int] = {}
    found = []
    for trial in trials:
        earlier = first.setdefault(content(trial), trial.number)
        if earlier != trial.number and not trial.asked:
            found.append(Suspicion(trial.number, "repeated", other=earlier))
    return found if len(found) <= max(1, MAX_SHARE * len(trials)) else []


def _disagreeing(trials: Sequence[Trial]) -> Iterable[Suspicion]:
    """Trials whose context is not that of most trials of their occasion."""
    for group in by_occasion(trials):
        if len(group) < 2:
            continue
        told = defaultdict[str, list[tuple[Trial, Value]]](list)
        for trial in group:
            for name, value in (trial.context or {}).items():
                told[name].append((trial, value))
        for name, values in told.items():
            usual = statistics.mode([value for _, value in values])
            for trial, value in values:
                if value != usual:
                    yield Suspicion(trial.number, "context", name, value, usual, occasion=trial.occasion)


class _Fit(NamedTuple):
    """A Gaussian process on standardised outcomes."""

    lengthscale: float
    noise: float


def _far_outcomes(trials: Sequence[Trial], box: Box, name: str) -> Iterable[Suspicion]:
    """Outcomes that all others contradict."""
    rows = [(trial, value, sd) for trial in trials for value, sd in zip(trial.values, trial.noise(), strict=True)]
    rows = rows[-MAX_EXAMINED_OUTCOMES:]
    if len(rows) < MIN_EXAMINED_OUTCOMES:
        return
    values = np.array([value for _, value, _ in rows])
    centre = float(np.median(values))
    spread = np.abs(values - centre)
    usual = np.median(spread) or np.median(spread[spread > 0]) if spread.any() else 0.0
    scale = 1.4826 * float(usual)
    if not scale > 0:
        return
    points = np.array(box.check([{**trial.decision, **(trial.context or {})} for trial, _, _ in rows], outside=True))
    errors = np.nan_to_num(np.array([sd for _, _, sd in rows])) / scale
    targets = np.arcsinh((values - centre) / scale)
    known = errors / np.sqrt(1 + ((values - centre) / scale) ** 2)  # on the scale of the targets
    mean, sd, limit = _predicted(points, targets, known)
    far = (np.abs(targets - mean) > limit * sd) & (np.abs(targets - mean) > MIN_DISTANCE)
    if far.sum() > max(1, MAX_SHARE * len(rows)):
        return
    for place in np.flatnonzero(far):
        trial, value, _ = rows[place]
        low, middle, high = (
            float(centre + scale * math.sinh(each)) for each in mean[place] + sd[place] * np.array([-1.96, 0, 1.96])
        )
        if abs(value - middle) < MIN_KNOWN_ERRORS * errors[place] * scale:
            continue
        yield Suspicion(trial.number, "outcome", name, value, middle, (low, high))


def _predicted(points: np.ndarray, targets: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and standard deviation of each outcome from all others that do not stand out, and the limit of residuals.

    Args:
        points: (t, d)
        targets: (t,) standardised.
        known: (t,) standard deviations of the noise, where they are known.
    """
    from scipy.special import stdtrit  # here, since it takes time to import

    t = len(targets)
    out = np.abs(targets) > math.asinh(STANDS_OUT)
    mean, sd = _from_others(points, targets, known, out)
    residuals = np.abs(targets - mean) / sd
    most = max(1, round(MAX_SHARE * t))
    out |= residuals >= np.sort(residuals)[-most]  # a fit without those that stand out cannot have adapted to them
    mean, sd = _from_others(points, targets, known, out)
    free = max(t - int(out.sum()) - 3, 2)
    return mean, sd, float(stdtrit(free, 1 - FALSE_ALARM / (2 * t)))


def _from_others(
    points: np.ndarray, targets: np.ndarray, known: np.ndarray, out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions (t,) of each outcome from all others that are not out."""
    inside = np.flatnonzero(~out)
    squared = _squared_distances(points)
    centre = float(targets[inside].mean())
    fit, variance = _fitted(squared, targets - centre, known, inside)
    kernel = np.exp(-0.5 * squared / fit.lengthscale**2)
    covariance = variance * kernel[np.ix_(inside, inside)]
    covariance[np.diag_indices(len(inside))] += variance * fit.noise + known[inside] ** 2
    precision = np.linalg.inv(covariance)
    weights = precision @ (targets[inside] - centre)
    mean, sd = np.empty_like(targets), np.empty_like(targets)
    mean[inside] = targets[inside] - weights / precision.diagonal()
    sd[inside] = precision.diagonal() ** -0.5
    rest = np.flatnonzero(out)
    cross = variance * kernel[np.ix_(rest, inside)]
    mean[rest] = centre + cross @ weights
    explained = np.einsum("ij,jk,ik->i", cross, precision, cross)
    sd[rest] = np.sqrt(np.maximum(variance - explained, 0) + variance * fit.noise + known[rest] ** 2)
    return mean, sd


def _fitted(squared: np.ndarray, targets: np.ndarray, known: np.ndarray, inside: np.ndarray) -> tuple[_Fit, float]:
    """The likeliest lengthscale and noise of a grid, with the variance that is likeliest then."""
    some = inside
    if len(inside) > MAX_FIT_OUTCOMES:
        some = np.sort(np.random.default_rng(len(inside)).permutation(inside)[:MAX_FIT_OUTCOMES])
    y, distances = targets[some], squared[np.ix_(some, some)]
    best, reached, variance = _Fit(LENGTHSCALES[-1], NOISE[-1]), -math.inf, max(float(y.var()), 1e-12)
    for lengthscale in LENGTHSCALES:
        roots, vectors = np.linalg.eigh(np.exp(-0.5 * distances / lengthscale**2))
        rotated = (vectors.T @ y) ** 2
        for noise in NOISE:
            spectrum = np.maximum(roots, 0) + noise
            scale = max(float((rotated / spectrum).mean()), 1e-12)
            likelihood = -0.5 * (len(y) * math.log(scale) + float(np.log(spectrum).sum()))
            if likelihood > reached:
                best, reached, variance = _Fit(lengthscale, noise), likelihood, scale
    return best, variance


def _squared_distances(points: np.ndarray) -> np.ndarray:
    """(t, t) in units in which points of the unit cube have a distance of about one, whatever its dimension."""
    norms = (points**2).sum(1)
    return np.asarray(np.maximum(norms[:, None] + norms - 2 * points @ points.T, 0) / points.shape[1])
