"""A decision that pays in the weather seen so far, another that pays in any, and a shift of the weather."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.stats

import allweather as aw

SEEN, SHIFTED = scipy.stats.beta(2.5, 1.5), scipy.stats.beta(1.5, 2.5)
SPACE = aw.Space(speed=aw.Real(0, 1), grip=aw.Context(0, 1))
OBJECTIVE = aw.DRO(aw.TotalVariation(0.8))
SEEDS, TRIALS = range(8), 15


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


def paired(
    name: str,
    robust: Callable[[int], float],
    plain: Callable[[int], float],
    record: Callable[[str, str], None],
    seeds: Sequence[int] = SEEDS,
) -> None:
    """Asserts that the robust choice earns more under the shift, by more than two standard errors."""
    chosen = [(robust(seed), plain(seed)) for seed in seeds]
    gains = np.array([under_shift(ours) - under_shift(theirs) for ours, theirs in chosen])
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    said = f"{name}: robust minus default under the shift {gains.mean():+.3f} +- {error:.3f}, seeds {gains.round(3)}"
    record("shifted", said)
    assert gains.mean() > max(2 * error, 0.1), (said, chosen)
