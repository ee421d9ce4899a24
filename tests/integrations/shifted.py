"""A decision that pays in the weather seen so far, another that pays in any, and a shift of the weather."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import scipy.stats

import allweather as aw

SEEN, SHIFTED = scipy.stats.beta(2.5, 1.5), scipy.stats.beta(1.5, 2.5)
SPACE = aw.Space(speed=aw.Real(0, 1), grip=aw.Context(0, 1))
OBJECTIVE = aw.DRO(aw.TotalVariation(0.8))
SEEDS = range(int(os.environ.get("ALLWEATHER_SHIFT_SEEDS", "1")))
"""One for the suite; `make integrations` takes five, and looks at standard errors."""
TRIALS = 15


def outcome(speed: float | np.ndarray, grip: float | np.ndarray) -> np.ndarray:
    """Slow is steady at 0.85; fast earns 1.08 on average in the grip seen, and little where there is none."""
    steady = 0.85 * np.exp(-(((speed - 0.2) / 0.25) ** 2))
    return np.asarray(steady + np.exp(-(((speed - 0.8) / 0.25) ** 2)) * (3 * grip - 0.8))


def days(seed: int, n: int = TRIALS) -> tuple[np.ndarray, np.ndarray]:
    """The grip of each day, and its luck."""
    rng = np.random.default_rng([seed, 99])
    return SEEN.rvs(n, random_state=rng), 0.05 * rng.standard_normal(n)


def under_shift(speed: float) -> float:
    """The mean outcome once the weather has shifted."""
    grip = SHIFTED.ppf((np.arange(512) + 0.5) / 512)
    return float(outcome(speed, grip).mean())


Arm = Callable[[int], float]
"""A speed chosen after fifteen days, by seed."""


def paired(
    name: str,
    robust: Arm,
    mean: Arm | None,
    default: Arm,
    record: Callable[[str, str], None],
    seeds: range = SEEDS,
) -> None:
    """Asserts that the robust choice earns more under the shift than both others, by two standard errors if known.

    The others are the same tool of ours with the mean for its objective, and the host's own default.
    """
    ours = np.array([under_shift(robust(seed)) for seed in seeds])
    others = {"default": np.array([under_shift(default(seed)) for seed in seeds])}
    if mean is not None:
        others["mean"] = np.array([under_shift(mean(seed)) for seed in seeds])
    said, good = f"{name}, under the shift: DRO {ours.mean():.3f}", True
    for label, theirs in others.items():
        gains = ours[: len(theirs)] - theirs
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
        said += f"; {label} {theirs.mean():.3f}, DRO better by {gains.mean():+.3f} +- {error:.3f} ({len(gains)} seeds)"
        good = good and gains.mean() > max(2 * error, 0.1)
    record("shifted", said)
    assert good, said
