"""Failure rates of the schedules that state one, on functions and laws that meet their assumptions.

`python -m benchmarks schedules --repetitions 1000` prints them; `tests/schedules/test_guarantees.py` runs fewer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.special
import scipy.stats
import torch
from torch import Tensor

import allweather as aw
from allweather.contexts import Reference
from allweather.schedules import Progress, Schedule

FAILURE = 0.1
"""Stated by all widths and radii here."""
PLACES = 60
"""Points of the grid on which functions and bands are compared."""
LENGTHSCALE = 0.2
SETTINGS = ((0.01, 0.05), (0.1, 0.1), (0.1, 1.0))
"""Noise, and the RKHS norm of the functions."""


class Rate(NamedTuple):
    """How often a bound was broken."""

    schedule: str
    setting: str
    stated: float
    """The probability that the schedule states."""
    broken: int
    repetitions: int

    @property
    def rate(self) -> float:
        """The measured share."""
        return self.broken / self.repetitions

    @property
    def limit(self) -> float:
        """The upper end of the exact one-sided 95% interval of the rate."""
        return float(scipy.stats.beta.ppf(0.95, self.broken + 1, max(self.repetitions - self.broken, 1e-9)))


def widths(repetitions: int = 40, steps: int = 30) -> list[Rate]:
    """The widths for functions of a known RKHS norm: whether the band holds everywhere and at every step."""
    found = []
    for noise, norm in SETTINGS:
        schedules: list[Schedule] = [
            aw.SelfNormalisedWidth(norm, noise, failure=FAILURE),
            aw.InformationGainWidth(norm, noise, FAILURE),
            aw.InformationGainWidth(norm, noise, FAILURE, sets=7),
            aw.InformationGainWidth(norm, noise, FAILURE, sets=7, theorem="4.4"),
            aw.RKHSWidth(norm, FAILURE),
        ]
        for schedule in schedules:
            broken = broken_bands(schedule, norm, noise, repetitions, steps)
            found.append(Rate(repr(schedule), f"norm {norm:g}, noise {noise:g}", FAILURE, broken, repetitions))
    return found


def broken_bands(schedule: Schedule, norm: float, noise: float, repetitions: int, steps: int) -> int:
    """In how many runs a function leaves its band at any point and step, the band being that of the library's GP.

    Args:
        schedule: the width.
        norm: RKHS norm of the functions, which are random combinations of kernels.
        noise: standard deviation of the Gaussian noise; the posterior has its square as regularisation.
        repetitions: functions; each is observed where its upper bound is largest.
        steps: observations of each.
    """
    rng = np.random.default_rng(0)
    kernel = grid_kernel()
    weights = rng.standard_normal((repetitions, PLACES)) * (rng.random((repetitions, PLACES)) < 0.2)
    values = weights @ kernel
    values *= norm / np.sqrt(np.einsum("rp,rp->r", weights, values))[:, None]
    chosen = rng.integers(PLACES, size=(repetitions, 1))
    outcomes = np.take_along_axis(values, chosen, 1) + noise * rng.standard_normal((repetitions, 1))
    broken, runs = np.zeros(repetitions, dtype=bool), np.arange(repetitions)
    for step in range(1, steps + 1):
        mean, sd, gain = posteriors(kernel, chosen, outcomes, noise**2)
        width = np.array([schedule(Progress(step=step, information_gain=float(each))) for each in gain])[:, None]
        broken |= (np.abs(mean - values) > width * sd + 1e-9).any(1)
        place = (mean + width * sd).argmax(1)
        seen = values[runs, place] + noise * rng.standard_normal(repetitions)
        chosen, outcomes = np.column_stack([chosen, place]), np.column_stack([outcomes, seen])
    return int(broken.sum())


def posteriors(
    kernel: np.ndarray, chosen: np.ndarray, outcomes: np.ndarray, regularisation: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior means and deviations (runs, places) and information gains (runs,) of several runs at once.

    Args:
        kernel: (places, places) of the prior.
        chosen: (runs, t) places of the observations.
        outcomes: (runs, t).
        regularisation: the noise variance.
    """
    gram = kernel[chosen[:, :, None], chosen[:, None, :]] + regularisation * np.eye(chosen.shape[1])
    root = np.linalg.cholesky(gram)
    cross = np.linalg.solve(root, kernel[chosen])  # (runs, t, places)
    mean = np.einsum("rtp,rt->rp", cross, np.linalg.solve(root, outcomes[:, :, None])[:, :, 0])
    sd = np.sqrt(np.maximum(np.diag(kernel) - np.square(cross).sum(1), 0))
    gain = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1) - 0.5 * chosen.shape[1] * np.log(regularisation)
    return mean, sd, np.maximum(gain, 0)


def grid_kernel() -> np.ndarray:
    """The RBF kernel on a grid of the unit interval, (places, places)."""
    places = np.linspace(0, 1, PLACES)
    return np.asarray(np.exp(-0.5 * ((places[:, None] - places) / LENGTHSCALE) ** 2))


def prior_bands(repetitions: int = 200, step: int = 8) -> list[Rate]:
    """Bocu's widths for functions drawn from the prior, at one step: in the union bound both ends of each band."""
    rng = np.random.default_rng(0)
    kernel, noise = grid_kernel(), 0.1
    root = np.linalg.cholesky(kernel + 1e-10 * np.eye(PLACES))
    values = rng.standard_normal((repetitions, PLACES)) @ root.T
    chosen = rng.integers(PLACES, size=(repetitions, step))
    outcomes = np.take_along_axis(values, chosen, 1) + noise * rng.standard_normal((repetitions, step))
    mean, sd, _ = posteriors(kernel, chosen, outcomes, noise**2)
    stated, found = 2 * np.sqrt(2 * np.pi) / (step**2 + 1), []
    for schedule in (aw.FiniteWidth(PLACES // 4, 4), aw.GrowingWidth(4)):
        width = schedule(Progress(step=step))
        broken = int((np.abs(mean - values) > width * sd + 1e-9).any(1).sum())
        found.append(Rate(repr(schedule), f"prior draws, step {step}", stated, broken, repetitions))
    return found


def sample_radii(repetitions: int = 200, observed: Sequence[int] = (1, 10, 100)) -> list[Rate]:
    """The MMD radius: whether the true law is in the ball around the sample."""
    found = []
    schedule = aw.SampleMMDRadius(FAILURE)
    for name, law in _laws().items():
        for lengthscale in (0.02, 0.5):
            for count in observed:
                between = _distances(law, lengthscale, count, repetitions)
                broken = int((between > schedule(Progress(step=count))).sum())
                setting = f"{name}, lengthscale {lengthscale:g}, {count} contexts"
                found.append(Rate(repr(schedule), setting, FAILURE, broken, repetitions))
    return found


def _laws() -> dict[str, Tensor]:
    """Distributions over a grid of the unit interval."""
    uniform = torch.full((PLACES,), 1 / PLACES, dtype=torch.float64)
    ends = torch.zeros(PLACES, dtype=torch.float64)
    ends[[0, -1]] = 0.5
    return {"uniform": uniform, "two points": ends}


def _distances(law: Tensor, lengthscale: float, count: int, repetitions: int) -> Tensor:
    """MMD (repetitions,) of the law and samples of it."""
    generator = torch.Generator().manual_seed(count)
    drawn = torch.multinomial(law.expand(repetitions, -1), count, replacement=True, generator=generator)
    ones = torch.ones_like(drawn, dtype=torch.float64) / count
    weights = torch.zeros(repetitions, PLACES, dtype=torch.float64).scatter_add(1, drawn, ones)
    points = torch.linspace(0, 1, PLACES, dtype=torch.float64)[:, None]
    return aw.MMD(0.0, lengthscale=lengthscale).between(weights, Reference(points, law))


def covering_radii(repetitions: int = 100, observed: Sequence[int] = (1, 10, 100)) -> list[Rate]:
    """The covering radius: whether the true law is in the Wasserstein ball around the sample, which implies Lemma 20.

    The constant of the covering number is unspecified; here it is 0, the least that it could be.
    """
    rng = np.random.default_rng(0)
    found = []
    schedule = aw.CoveringRadius(1.0, FAILURE, covering=0.0)
    places = np.linspace(0, 1, PLACES)
    for name, law in _laws().items():
        for count in observed:
            radius = schedule(Progress(step=count))
            drawn = rng.choice(places, size=(repetitions, count), p=law.numpy())
            between = [scipy.stats.wasserstein_distance(each, places, v_weights=law.numpy()) for each in drawn]
            broken = int((np.array(between) > radius).sum())
            found.append(Rate(repr(schedule), f"{name}, {count} contexts", FAILURE, broken, repetitions))
    return found


def smoothed_radii(repetitions: int = 200, observed: Sequence[int] = (2, 10, 100)) -> list[Rate]:
    """The radii for smoothed distributions: of the sample from the law, which is symmetric for total variation."""
    rng = np.random.default_rng(0)
    places, line = np.linspace(0, 1, PLACES), np.linspace(-1.5, 2.5, 801)
    found = []
    for bandwidth in (0.05, 0.2):
        kernel = scipy.stats.norm.pdf(line, places[:, None], bandwidth) * (line[1] - line[0])
        for name, law in _laws().items():
            true = law.numpy() @ kernel
            for count in observed:
                seen = rng.multinomial(count, law.numpy(), size=repetitions) / count @ kernel
                ratio = np.divide(seen, true, out=np.ones_like(seen), where=true > 1e-300)
                between = {
                    "total-variation": np.abs(seen - true).sum(1),
                    "chi-squared": (true * (ratio - 1) ** 2).sum(1),
                    "kl": scipy.special.xlogy(seen, ratio).sum(1),
                }
                for divergence, distances in between.items():
                    schedule = aw.SmoothedRadius(divergence, bandwidth, FAILURE)
                    broken = int((distances > schedule(Progress(step=count)) + 1e-9).sum())
                    found.append(Rate(repr(schedule), f"{name}, {count} contexts", FAILURE, broken, repetitions))
    return found


MEASURED: tuple[Callable[[int], list[Rate]], ...] = (widths, prior_bands, sample_radii, covering_radii, smoothed_radii)


def main(arguments: Sequence[str] = ()) -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks schedules", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200, help="runs of each setting")
    repetitions = parser.parse_args(arguments).repetitions
    print("| schedule | setting | stated | measured | 95% limit | repetitions |")
    print("|---|---|---|---|---|---|")
    for measure in MEASURED:
        for each in measure(repetitions):
            numbers = f"{each.stated:.3g} | {each.rate:.3g} | {each.limit:.3g} | {each.repetitions}"
            print(f"| {each.schedule} | {each.setting} | {numbers} |")
