"""Outcomes that count as outliers: gross errors, which a GP is not fitted to.

An outcome is an outlier with a small probability, and then of any order of magnitude. Candidates are taken out one
after the other, those that the rest predicts worst first (relevance pursuit, Ament et al. 2024, NeurIPS, in reverse);
whatever the rest does not clearly contradict comes back, and none is left out unless leave-one-out densities gain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from allweather.surrogates.base import Posterior
from allweather.surrogates.gp.outcome_transform import DEVIATIONS_PER_MAD
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.kernel_average import KernelAveragePosterior
from allweather.surrogates.posteriors.leave_one_out import Predictions, leave_one_out
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior

MIN_EXAMINED_OUTCOMES = 5
"""Below this many outcomes none is an outlier."""
MAX_SHARE = 0.2
"""Largest share of the outcomes that may be outliers; one always may."""
CHANCE_OF_EXAMINATION = 0.3
"""Examine outcomes if the largest residual of a model that is right is as large with this probability."""
EXAMINATION_PERIOD, NEWEST_OUTCOMES = 5, 3
"""While there are no outliers, examine at multiples of this many outcomes, and where one of the newest stands out."""
NEARLY_LARGEST = 0.8
"""Residuals of at least this share of the largest are taken out with it."""
MAX_ROUNDS = 6
"""Limit on how often candidates are taken out."""
FAR_OUT = 4.0
"""Candidates from the start: outcomes so far from the median, in robust standard deviations, logarithmic beyond one."""
FALSE_ALARM = 1e-3
"""Probability that any outcome exceeds the limit on residuals where the model is right."""
MIN_LIMIT = 5.0
"""Least limit on residuals, in standard deviations."""
USUAL_RANGE, LIMIT_IN_USUAL_RANGE = 2.5, 4.0
"""Outcomes closer to the median than the first, on the scale of FAR_OUT, must exceed the limit so many times."""
SAME_POINT, AGREEMENT = 0.01, 0.5
"""Two candidates confirm each other that are as close in every column of the unit cube, and differ by no more than this
share of their distance from the median."""
PROBABILITY, ORDERS = 0.02, 10.0
"""Probability of an outlier, and the range of the logarithm of its size on either side."""


def find_outliers(
    observations: Observations,
    posterior: Posterior,
    fit: Callable[[Observations], Posterior],
    start: Hyperparameters | None = None,
) -> tuple[tuple[int, ...], Posterior]:
    """Places of the outcomes that are outliers, and the posterior of all others.

    Args:
        observations: the outcomes.
        posterior: of all of them.
        fit: from some of the outcomes to their posterior.
        start: hyperparameters of the fit before, if there was one.
    """
    t = len(observations)
    if t < MIN_EXAMINED_OUTCOMES:
        return (), posterior
    apart = _distances(observations.values)
    found, current = _candidates(observations, posterior, fit, apart, start)
    alone = [place for place in found if not _confirmed(observations, place, found)]
    if len(alone) < len(found):
        found, current = alone, fit(observations.without(alone)) if alone else posterior
    while found:
        shares = np.abs(_residuals(current, observations, found)) / _limits(apart[found], t)
        if shares.max() < 1:  # fewer candidates would be contradicted even less
            return (), posterior
        if shares.min() >= 1:
            break
        found.pop(int(shares.argmin()))
        current = fit(observations.without(found)) if found else posterior
    sound = bool(found) and _gain(observations, found, posterior, current) > 0
    return (tuple(found), current) if sound else ((), posterior)


def predicted(posterior: Posterior, rows: Observations) -> Predictions:
    """What outcomes a posterior expects that it was not fitted to, on the scale where predictions are Gaussian.

    Args:
        posterior: of other outcomes.
        rows: what was observed.
    """
    transform, inner = None, posterior
    if isinstance(posterior, TransformedPosterior):  # whose scale goes on to bend, other than for predictions
        transform, inner = replace(posterior.transform, low=-math.inf, high=math.inf), posterior.inner
    best = inner.best if isinstance(inner, MixturePosterior | KernelAveragePosterior) else inner
    assert isinstance(best, ProductPosterior)  # what a GP is fitted to
    noise = best.data.scale**2 * (rows.values.new_zeros(len(rows)) + best.data.noise_at(rows.joint))
    if rows.sds is not None:
        known = rows.sds if transform is None else rows.sds * transform.log_jacobian(rows.values).exp()
        noise = torch.where(known.isnan(), noise, known.square())
    with torch.no_grad():
        mean, sd = best.field(rows.contexts)(rows.decisions)
    observed = rows.values if transform is None else transform(rows.values)
    return Predictions(observed, mean.diagonal(), (sd.diagonal().square() + noise).sqrt())


def _candidates(
    observations: Observations,
    posterior: Posterior,
    fit: Callable[[Observations], Posterior],
    apart: np.ndarray,
    start: Hyperparameters | None,
) -> tuple[list[int], Posterior]:
    """Outcomes that may be outliers, and the posterior of all others.

    Args:
        observations: the outcomes.
        posterior: of all of them.
        fit: from some of the outcomes to their posterior.
        apart: (t,) distances from the median.
        start: hyperparameters of the fit before.
    """
    from scipy.stats import norm  # here, since it takes time to import

    t = len(observations)
    most, least = max(1, math.floor(MAX_SHARE * t)), float(norm.isf(CHANCE_OF_EXAMINATION / (2 * t)))
    far = set(np.flatnonzero(apart > FAR_OUT).tolist())
    out: set[int] = far if len(far) <= most else set()
    current, inside = posterior, np.arange(t)
    seldom = start is not None and not start.outliers and t % EXAMINATION_PERIOD > 0
    for number in range(MAX_ROUNDS):
        residuals = _left_out(current).residuals.abs().cpu().numpy()
        order = np.argsort(-residuals, kind="stable")
        large = inside[order[residuals[order] > max(least, NEARLY_LARGEST * residuals.max())]].tolist()
        new = [each for each in large if each not in out][: most - len(out)]
        chosen = out.union(new)
        if not chosen or (number and not new):
            break
        if not number and seldom and max(chosen) < t - NEWEST_OUTCOMES:
            return [], posterior
        out, inside = chosen, np.setdiff1d(np.arange(t), list(chosen))
        current = fit(observations.without(sorted(out)))
    return sorted(out), current


def _residuals(posterior: Posterior, observations: Observations, places: list[int]) -> np.ndarray:
    """Standardised residuals of the outcomes at some places, which the posterior is not fitted to."""
    found: np.ndarray = predicted(posterior, observations.rows(np.array(places))).residuals.cpu().numpy()
    return found


def _confirmed(observations: Observations, place: int, candidates: list[int]) -> bool:
    """Whether another candidate was measured at the same point and agrees.

    Args:
        observations: the outcomes.
        place: of the candidate.
        candidates: places of all of them.
    """
    others = [each for each in candidates if each != place]
    points, values = observations.joint, observations.values
    same = (points[others] - points[place]).abs().amax(-1) <= SAME_POINT
    agree = (values[others] - values[place]).abs() <= AGREEMENT * (values[place] - values.median()).abs()
    return bool((same & agree).any())


def _limits(apart: np.ndarray, t: int) -> np.ndarray:
    """From which residual on each of some outcomes counts as an outlier.

    Args:
        apart: their distances from the median.
        t: how many outcomes there are.
    """
    from scipy.special import stdtrit  # here, since it takes time to import

    free = max(t - len(apart) - 3, 2)
    limit = max(float(stdtrit(free, 1 - FALSE_ALARM / (2 * t))), MIN_LIMIT)
    return np.where(apart > USUAL_RANGE, limit, LIMIT_IN_USUAL_RANGE * limit)


def _gain(observations: Observations, found: list[int], posterior: Posterior, without: Posterior) -> float:
    """What leave-one-out log densities gain if some outcomes count as outliers.

    Args:
        observations: the outcomes.
        found: places of the outliers.
        posterior: of all outcomes.
        without: of those that are no outliers.
    """
    values = observations.values.cpu().numpy()
    kept = np.setdiff1d(np.arange(len(values)), found)
    away, scale = _away(values)
    law = math.log(PROBABILITY / (2 * ORDERS)) - np.log(np.hypot(scale, away[found]))
    before = _log_densities(posterior, observations.values)
    after = _log_densities(without, observations.values[torch.from_numpy(kept)])
    return float((after - before[kept]).sum() + (law - before[found]).sum())


def _log_densities(posterior: Posterior, values: Tensor) -> np.ndarray:
    """Leave-one-out log densities (t,) of the outcomes that a posterior was fitted to, in their own units."""
    found = _left_out(posterior).log_density
    if isinstance(posterior, TransformedPosterior):
        found = found + posterior.transform.log_jacobian(values)
    densities: np.ndarray = np.nan_to_num(found.cpu().numpy(), nan=-1e300)
    return densities


def _left_out(posterior: Posterior) -> Predictions:
    found = leave_one_out(posterior)
    assert found is not None  # a GP has a closed form
    return found


def _away(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Outcomes (t,) less their median, and the robust standard deviation."""
    away = values - np.median(values)
    return away, DEVIATIONS_PER_MAD * float(np.median(np.abs(away)))


def _distances(values: Tensor) -> np.ndarray:
    """Distances (t,) from the median in robust standard deviations, logarithmic beyond one; 0 without a scale."""
    away, scale = _away(values.cpu().numpy())
    return np.abs(np.arcsinh(away / scale)) if scale > 0 else np.zeros(len(away))
