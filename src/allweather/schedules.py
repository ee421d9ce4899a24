"""Radii, widths and other numbers that change as a study goes on.

A schedule maps the progress of a study to one number. The papers' choices are here by name; their keys are those
of `papers/`: kde (Huang et al. 2024), wasserstein (Micheli et al. 2025), phi (Husain et al. 2023), bocu (Tay et
al. 2024), subsets (Tay et al. 2023). Widths multiply the posterior standard deviation, never its square.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from allweather.errors import InvalidInput, is_number, require, require_count, require_number
from allweather.registry import Named


@dataclass(frozen=True)
class Progress:
    """How far a study has come: all that a schedule may look at.

    Example:
        >>> PowerLaw(0.3, 0.5)(Progress(step=9))
        0.09999999999999999
    """

    step: int
    """Observations so far, initial ones included; at least 1."""
    decision_dim: int = 1
    context_dim: int = 1
    information_gain: float | None = None
    """0.5 * log det(I + K / noise variance) of the data under the current surrogate."""
    contexts: int | None = None
    """Number of points the reference distribution lives on."""

    def __post_init__(self) -> None:
        for name in ("step", "decision_dim", "context_dim"):
            require_count(getattr(self, name), f"Progress({name}=...)", low=1)
        if self.information_gain is not None:
            require_number(self.information_gain, "Progress(information_gain=...)", low=0)


class Schedule(Named, ABC):
    """A number for every step of a study."""

    @abstractmethod
    def __call__(self, progress: Progress) -> float:
        """The number to use now."""


def as_schedule(value: float | Schedule | Callable[[int], float], where: str) -> Schedule:
    """A number, a schedule, or a function of the step alone, as a schedule.

    Example:
        >>> as_schedule(lambda t: 1 / t, "UCB(width=...)")(Progress(step=4))
        0.25
    """
    if isinstance(value, Schedule):
        return value
    if callable(value):
        return Custom(value)
    require_number(value, where)
    return Constant(float(value))


@dataclass(frozen=True)
class Constant(Schedule):
    """The same number at every step."""

    value: float

    def __post_init__(self) -> None:
        require_number(self.value, "Constant(value=...)")

    def __call__(self, progress: Progress) -> float:
        """The constant."""
        return self.value


@dataclass(frozen=True)
class PowerLaw(Schedule):
    """`scale * t**-exponent`."""

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        require_number(self.scale, "PowerLaw(scale=...)")
        require_number(self.exponent, "PowerLaw(exponent=...)")

    def __call__(self, progress: Progress) -> float:
        """The power law at this step."""
        power = -self.exponent * math.log(progress.step)
        require(power < 700, f"PowerLaw(exponent={self.exponent:g})", "stay finite", f"t**{-self.exponent:g}")
        return self.scale * math.exp(power)


@dataclass(frozen=True)
class Custom(Schedule):
    """Any function of the step."""

    function: Callable[[int], float]

    def __call__(self, progress: Progress) -> float:
        """The function's number, checked."""
        value = self.function(progress.step)
        require_number(value, f"Custom(function=...)({progress.step})")
        return float(value)


@dataclass(frozen=True)
class DensityRadius(Schedule):
    """kde, Sec. 3.2: `t**(-2 / (4 + d_c))`, the rate at which a kernel density estimate improves (total variation).

    Example:
        >>> round(DensityRadius()(Progress(step=32, context_dim=1)), 12)
        0.25
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        require_number(self.scale, "DensityRadius(scale=...)", low=0)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        return float(self.scale * progress.step ** (-2 / (4 + progress.context_dim)))


@dataclass(frozen=True)
class SampleMMDRadius(Schedule):
    """kde, App. B.1 (Kirschner et al. 2020, Lemma 3): `(2 + sqrt(2 log(1/failure))) / sqrt(t)`, an MMD radius.

    Example:
        >>> round(SampleMMDRadius()(Progress(step=1)), 3)
        4.146
    """

    failure: float = 0.1

    def __post_init__(self) -> None:
        _require_failure(self)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        return (2 + math.sqrt(2 * math.log(1 / self.failure))) / math.sqrt(progress.step)


@dataclass(frozen=True)
class TransportRadius(Schedule):
    """wasserstein, Sec. 5: `scale / sqrt(t)`; the paper only says O(1/sqrt(t)), its code 0.3 (ERRATA)."""

    scale: float = 0.3

    def __post_init__(self) -> None:
        require_number(self.scale, "TransportRadius(scale=...)", low=0)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        return self.scale / math.sqrt(progress.step)


@dataclass(frozen=True)
class CoveringRadius(Schedule):
    """wasserstein, Eq. 16 with Lemma 23: the Wasserstein radius with a guarantee for squared-exponential kernels.

    Unlike `TransportRadius` it is meant for reading, not for running: its constants make it large.
    """

    norm_bound: float
    """`B_bar`, a bound on the RKHS norm of the estimate; the paper's grows with t, this one is yours to choose."""
    failure: float = 0.1
    covering: float = 1.0
    """`kappa`, the unspecified constant of the covering number."""

    def __post_init__(self) -> None:
        _require_failure(self)
        require_number(self.norm_bound, "CoveringRadius(norm_bound=...)", above=0)
        require_number(self.covering, "CoveringRadius(covering=...)", low=0)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step, on unit cubes of decisions and contexts."""
        t, d_x, d_c = progress.step, progress.decision_dim, progress.context_dim
        d = d_x + d_c
        # log(t B) can fall below -1 for a tiny bound at the first steps, where the covering number is one.
        first = max(1 + math.log(t * self.norm_bound), 0.0) ** (1 + d)
        log_covering = self.covering * (first + (1 + math.log(t)) ** (1 + 2 * d))
        return math.sqrt(
            (2 * d_c * math.log(1 / self.failure) + d_x * math.log(1 + 2 * t * math.sqrt(d_x)) + log_covering) / t
        )


@dataclass(frozen=True)
class DivergenceRadius(Schedule):
    """phi, Sec. 4.2: the radius whose total variation is at most `1 / (sqrt(t) + sqrt(t + 1))`.

    `Gamma` bounds the total variation by the divergence: `b` for total variation, `2 sqrt(b / (1 + b))` for
    chi-squared, `1 - exp(-b)` for KL as the paper prints it. The KL bound is not a valid inequality for the L1
    distance (Pinsker has a square root); we keep the published schedule and say so (ERRATA).

    Example:
        >>> [round(DivergenceRadius(d)(Progress(step=4)), 4) for d in ("total-variation", "chi-squared", "kl")]
        [0.2361, 0.0141, 0.2693]
    """

    divergence: str

    def __post_init__(self) -> None:
        known = ("total-variation", "chi-squared", "kl")
        require(
            self.divergence in known,
            "DivergenceRadius(divergence=...)",
            f"be one of {known}",
            self.divergence,
        )

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        variation = 1 / (math.sqrt(progress.step) + math.sqrt(progress.step + 1))
        if self.divergence == "total-variation":
            return variation
        if self.divergence == "chi-squared":
            return variation**2 / (4 - variation**2)
        return -math.log1p(-variation)


@dataclass(frozen=True)
class SelfNormalisedWidth(Schedule):
    """wasserstein, Eq. 7: the width from the data's own log-determinant.

    The paper's standard deviation is the posterior's divided by sqrt(lambda) (Eq. 5) and its width `R sqrt(2
    log(det(I + K/lambda)^(1/2) / failure)) + sqrt(lambda) B`; with lambda the noise variance this is the
    multiplier of the posterior standard deviation itself, so the width here is divided by sqrt(lambda).

    Example:
        >>> width = SelfNormalisedWidth(norm_bound=1.0, noise=0.1)
        >>> round(width(Progress(step=5, information_gain=2.0)), 4)
        3.9335
    """

    norm_bound: float
    """`B`, a bound on the RKHS norm of the function."""
    noise: float
    """`R`, the sub-Gaussian constant of the noise."""
    regularisation: float | None = None
    """`lambda`; the noise variance if not given."""
    failure: float = 0.1

    def __post_init__(self) -> None:
        _require_failure(self)
        require_number(self.norm_bound, "SelfNormalisedWidth(norm_bound=...)", low=0)
        require_number(self.noise, "SelfNormalisedWidth(noise=...)", above=0)
        if self.regularisation is not None:
            require_number(self.regularisation, "SelfNormalisedWidth(regularisation=...)", above=0)

    def __call__(self, progress: Progress) -> float:
        """The width at this step; the information gain must have been taken at the same regularisation."""
        gain = _gain(self, progress)
        scale = math.sqrt(self.noise**2 if self.regularisation is None else self.regularisation)
        return self.noise / scale * math.sqrt(2 * (gain + math.log(1 / self.failure))) + self.norm_bound


@dataclass(frozen=True)
class InformationGainWidth(Schedule):
    """subsets, Thm. 4.1 (Chowdhury and Gopalan 2017): `B + noise sqrt(2 (gain + 1 + log((sets + 1) / failure)))`."""

    norm_bound: float
    noise: float
    failure: float = 0.1
    sets: int = 0
    """Number of control sets; 0 gives the plain bound (Lemma A.4)."""

    def __post_init__(self) -> None:
        _require_failure(self)
        require_number(self.norm_bound, "InformationGainWidth(norm_bound=...)", low=0)
        require_number(self.noise, "InformationGainWidth(noise=...)", above=0)
        require_count(self.sets, "InformationGainWidth(sets=...)")

    def __call__(self, progress: Progress) -> float:
        """The width at this step."""
        gain = _gain(self, progress)
        return self.norm_bound + self.noise * math.sqrt(2 * (gain + 1 + math.log((self.sets + 1) / self.failure)))


@dataclass(frozen=True)
class RKHSWidth(Schedule):
    """phi, Thm. 4 (Srinivas et al. 2010, Thm. 6): `sqrt(2 B^2 + 300 gain log(t / failure)^3)`.

    The paper's `gamma` is the log-determinant itself, twice the information gain.
    """

    norm_bound: float
    failure: float = 0.1

    def __post_init__(self) -> None:
        _require_failure(self)
        require_number(self.norm_bound, "RKHSWidth(norm_bound=...)", low=0)

    def __call__(self, progress: Progress) -> float:
        """The width at this step."""
        gamma = 2 * _gain(self, progress)
        return math.sqrt(2 * self.norm_bound**2 + 300 * gamma * math.log(progress.step / self.failure) ** 3)


@dataclass(frozen=True)
class BayesianWidth(Schedule):
    """kde, Thm. 1: `sqrt(2 log(t^2 / sqrt(2 pi)) + 2 d_x log(t^2 d_x a b r sqrt(pi) / 2))`, at least 0."""

    smoothness: float = 1.0
    """The product `a b r` of the kernel's constants and the side of the box."""

    def __post_init__(self) -> None:
        require_number(self.smoothness, "BayesianWidth(smoothness=...)", above=0)

    def __call__(self, progress: Progress) -> float:
        """The width at this step."""
        t, d_x = progress.step, progress.decision_dim
        cells = t**2 * d_x * self.smoothness * math.sqrt(math.pi) / 2
        return math.sqrt(max(2 * math.log(t**2 / math.sqrt(2 * math.pi)) + 2 * d_x * math.log(cells), 0.0))


@dataclass(frozen=True)
class FiniteWidth(Schedule):
    """bocu, App. A.2: `sqrt(2 log((t^2 + 1) decisions contexts / sqrt(2 pi)))` for finite decisions and contexts."""

    decisions: int
    contexts: int

    def __post_init__(self) -> None:
        require_count(self.decisions, "FiniteWidth(decisions=...)", low=1)
        require_count(self.contexts, "FiniteWidth(contexts=...)", low=1)

    def __call__(self, progress: Progress) -> float:
        """The width at this step."""
        pairs = self.decisions * self.contexts
        return math.sqrt(max(2 * math.log((progress.step**2 + 1) * pairs / math.sqrt(2 * math.pi)), 0.0))


def _require_failure(schedule: Schedule) -> None:
    failure = schedule.failure  # type: ignore[attr-defined]
    where = f"{type(schedule).__name__}(failure=...)"
    require(is_number(failure) and 0 < failure < 1, where, "be a probability between 0 and 1", failure)


def _gain(schedule: Schedule, progress: Progress) -> float:
    if progress.information_gain is None:
        name = type(schedule).__name__
        raise InvalidInput(f"`{name}` must be given the data's information gain: `Progress(information_gain=...)`")
    return progress.information_gain
