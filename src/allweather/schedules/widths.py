"""The papers' confidence widths: multipliers of the posterior standard deviation, never of its square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from allweather.errors import InvalidInput, require, require_count, require_number
from allweather.schedules.base import Progress, Schedule, require_failure

Theorem = Literal["4.1", "4.4"]


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
    """subsets, Thm. 4.1 and 4.4 (Chowdhury and Gopalan 2017): the width for a choice among control sets.

    The paper's width is `B + noise sqrt(2 (gain + 1 + log(events / failure)))` of the posterior with lambda = 1 + 2 / T
    in the place of the noise variance; for the usual posterior it is too small (errata E53). The noise is therefore
    divided by sqrt(lambda) of the posterior at hand, as in `SelfNormalisedWidth`, and the gain is that of the data.
    The events of the union bound are `sets + 1` (Thm. 4.1; one in Lemma A.4, `sets=0`) or `2 sets` (Thm. 4.4).

    Example:
        >>> now = Progress(step=5, information_gain=2.0)
        >>> width = InformationGainWidth(norm_bound=1.0, noise=0.1, sets=7)
        >>> round(width(now), 4), round(InformationGainWidth(1.0, 0.1, sets=7, theorem="4.4")(now), 4)
        (4.8424, 4.9854)
    """

    norm_bound: float
    """`B`, a bound on the RKHS norm of the function."""
    noise: float
    """`R`, the sub-Gaussian constant of the noise."""
    failure: float = 0.1
    sets: int = 0
    """Number of control sets; 0 gives the plain bound (Lemma A.4)."""
    regularisation: float | None = None
    """`lambda` of the posterior; the noise variance if not given."""
    theorem: Theorem = "4.1"
    """Whose union bound it is."""

    def __post_init__(self) -> None:
        require_failure(self)
        require_number(self.norm_bound, "InformationGainWidth(norm_bound=...)", low=0)
        require_number(self.noise, "InformationGainWidth(noise=...)", above=0)
        require_count(self.sets, "InformationGainWidth(sets=...)")
        if self.regularisation is not None:
            require_number(self.regularisation, "InformationGainWidth(regularisation=...)", above=0)
        where = "InformationGainWidth(theorem=...)"
        require(self.theorem in get_args(Theorem), where, "be '4.1' or '4.4'", self.theorem)
        require(self.theorem == "4.1" or self.sets > 0, where, "be '4.1' without control sets", self.theorem)

    def __call__(self, progress: Progress) -> float:
        """The width at this step; the information gain must have been taken at the same regularisation."""
        gain = _gain(self, progress)
        events = self.sets + 1 if self.theorem == "4.1" else 2 * self.sets
        scale = self.noise if self.regularisation is None else math.sqrt(self.regularisation)
        return self.norm_bound + self.noise / scale * math.sqrt(2 * (gain + 1 + math.log(events / self.failure)))


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
    """bocu, App. A.2: `sqrt(2 log((t^2 + 1) decisions contexts / sqrt(2 pi)))` for finite decisions and contexts.

    A function drawn from the prior is outside the band at step t with probability at most `2 sqrt(2 pi) / (t^2 + 1)`.
    """

    decisions: int
    contexts: int

    def __post_init__(self) -> None:
        require_count(self.decisions, "FiniteWidth(decisions=...)", low=1)
        require_count(self.contexts, "FiniteWidth(contexts=...)", low=1)

    def __call__(self, progress: Progress) -> float:
        """The width at this step."""
        return _of_pairs(progress.step, math.log(self.decisions) + math.log(self.contexts))


@dataclass(frozen=True)
class GrowingWidth(Schedule):
    """bocu, App. A.2: `FiniteWidth` for a box of decisions, on the paper's grid that grows with the step.

    The grid has `t^2 d_x a b sqrt(pi)` decisions along each dimension; Thm. 4.1 has it without sqrt(pi) (errata E55).

    Example:
        >>> width = GrowingWidth(contexts=64)
        >>> [round(width(Progress(step=t, decision_dim=2)), 3) for t in (1, 10, 100)]
        [3.596, 6.26, 8.173]
    """

    contexts: int
    smoothness: float = 1.0
    """The product `a b` of the kernel's constants, on a unit cube of decisions."""

    def __post_init__(self) -> None:
        require_count(self.contexts, "GrowingWidth(contexts=...)", low=1)
        require_number(self.smoothness, "GrowingWidth(smoothness=...)", above=0)

    def __call__(self, progress: Progress) -> float:
        """The width at this step."""
        t, d_x = progress.step, progress.decision_dim
        along = math.log(max(t**2 * d_x * self.smoothness * math.sqrt(math.pi), 1.0))
        return _of_pairs(t, d_x * along + math.log(self.contexts))


def _of_pairs(step: int, log_pairs: float) -> float:
    """Return bocu's width for so many pairs of a decision and a context."""
    return math.sqrt(max(2 * (math.log(step**2 + 1) + log_pairs - 0.5 * math.log(2 * math.pi)), 0.0))


def _gain(schedule: Schedule, progress: Progress) -> float:
    if progress.information_gain is None:
        name = type(schedule).__name__
        raise InvalidInput(f"`{name}` must be given the data's information gain: `Progress(information_gain=...)`")
    return progress.information_gain
