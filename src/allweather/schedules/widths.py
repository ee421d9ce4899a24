"""The papers' confidence widths: multipliers of the posterior standard deviation, never of its square."""

from __future__ import annotations

import math
from dataclasses import dataclass

from allweather.errors import InvalidInput, require_count, require_number
from allweather.schedules.base import Progress, Schedule, require_failure


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
        require_failure(self)
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
        require_failure(self)
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
        require_failure(self)
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


def _gain(schedule: Schedule, progress: Progress) -> float:
    if progress.information_gain is None:
        name = type(schedule).__name__
        raise InvalidInput(f"`{name}` must be given the data's information gain: `Progress(information_gain=...)`")
    return progress.information_gain
