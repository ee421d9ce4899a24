"""The papers' radii: how far the context distribution may be from the reference, as data come in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from allweather.errors import require, require_number
from allweather.schedules.base import Progress, Schedule, require_failure


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
        require_failure(self)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        return (2 + math.sqrt(2 * math.log(1 / self.failure))) / math.sqrt(progress.step)


@dataclass(frozen=True)
class TransportRadius(Schedule):
    """wasserstein, Sec. 5: `scale / sqrt(t)`; the paper only says O(1/sqrt(t)), its code 0.3 (errata E16)."""

    scale: float = 0.3

    def __post_init__(self) -> None:
        require_number(self.scale, "TransportRadius(scale=...)", low=0)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        return self.scale / math.sqrt(progress.step)


@dataclass(frozen=True)
class CoveringRadius(Schedule):
    """wasserstein, Lemma 20 with Lemma 23: the Wasserstein radius with a guarantee for squared-exponential kernels.

    With probability 1 - `failure`, the means of all upper bounds under the truth and under the data differ by at most
    the radius times their Lipschitz constant in the contexts, plus O(1/t). Eq. 16 multiplies only `log(1/failure)` by
    `2 D^2`, the lemmas and their proof the whole numerator, as here (errata E54).

    Unlike `TransportRadius` it is meant for reading, not for running: its constants make it large.

    Example:
        >>> [round(CoveringRadius(1.0)(Progress(step=t)), 3) for t in (100, 10_000)]
        [10.693, 4.734]
    """

    norm_bound: float
    """`B_bar`, a bound on the RKHS norm of the estimate; the paper's grows with t, this one is yours to choose."""
    failure: float = 0.1
    covering: float = 1.0
    """`kappa`, the unspecified constant of the covering number."""

    def __post_init__(self) -> None:
        require_failure(self)
        require_number(self.norm_bound, "CoveringRadius(norm_bound=...)", above=0)
        require_number(self.covering, "CoveringRadius(covering=...)", low=0)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step, on unit cubes of decisions and contexts."""
        t, d_x, d_c = progress.step, progress.decision_dim, progress.context_dim
        d = d_x + d_c
        # log(t B) can fall below -1 for a tiny bound at the first steps, where the covering number is one.
        first = max(1 + math.log(t * self.norm_bound), 0.0) ** (1 + d)
        log_covering = self.covering * (first + (1 + math.log(t)) ** (1 + 2 * d))
        union = math.log(1 / self.failure) + d_x * math.log(1 + 2 * t * math.sqrt(d_x)) + log_covering
        return math.sqrt(2 * d_c * union / t)  # d_c is the squared diameter of the unit cube of contexts


@dataclass(frozen=True)
class DivergenceRadius(Schedule):
    """phi, Sec. 4.2: the radius whose total variation is at most `1 / (sqrt(t) + sqrt(t + 1))`.

    `Gamma` bounds the total variation by the divergence: `b` for total variation, `2 sqrt(b / (1 + b))` for
    chi-squared, `1 - exp(-b)` for KL as the paper prints it. The KL bound is not a valid inequality for the L1
    distance (Pinsker has a square root); we keep the published schedule and say so (errata E27).

    Example:
        >>> [round(DivergenceRadius(d)(Progress(step=4)), 4) for d in ("total-variation", "chi-squared", "kl")]
        [0.2361, 0.0141, 0.2693]
    """

    divergence: str

    def __post_init__(self) -> None:
        _require_divergence(self, self.divergence)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        variation = 1 / (math.sqrt(progress.step) + math.sqrt(progress.step + 1))
        if self.divergence == "total-variation":
            return variation
        if self.divergence == "chi-squared":
            return variation**2 / (4 - variation**2)
        return -math.log1p(-variation)


@dataclass(frozen=True)
class SmoothedRadius(Schedule):
    """phi, Sec. 9.2: how far a smoothed empirical distribution is from the smoothed law of the contexts.

    The contexts seen and their law are both smoothed with a normal kernel: `KDE(bandwidth=...)` with the same bandwidth
    is that reference distribution. The paper refers to the rates of Goldfeld et al. (2020); the constants are ours.
    For t contexts of the unit cube the expected chi-squared divergence of the estimate from the law is at most `C / t`,
    `C = (1 + 1 / (bandwidth sqrt(2 pi)))**d_c - 1`, whatever the law. At one step, with a probability of at least
    `1 - failure`:

    - the total variation (L1 norm) is at most `(sqrt(C) + sqrt(2 log(1 / failure))) / sqrt(t)`: the smoothed law is in
      the ball;
    - the chi-squared divergence of the estimate from the law is at most `C / (failure t)`, that of KL at most
      `log(1 + C / (failure t))`. The ball of the paper has the divergence of the law from the estimate, of which these
      rates say nothing (errata E56).

    Example:
        >>> radius = SmoothedRadius("total-variation", bandwidth=0.2)
        >>> [round(radius(Progress(step=t)), 3) for t in (25, 400)]
        [0.712, 0.178]
    """

    divergence: str
    bandwidth: float = 0.2
    """Standard deviation of the normal kernel, in the unit cube."""
    failure: float = 0.1

    def __post_init__(self) -> None:
        _require_divergence(self, self.divergence)
        require_failure(self)
        require_number(self.bandwidth, "SmoothedRadius(bandwidth=...)", above=0)

    def __call__(self, progress: Progress) -> float:
        """The radius at this step."""
        constant = (1 + 1 / (self.bandwidth * math.sqrt(2 * math.pi))) ** progress.context_dim - 1
        if self.divergence == "total-variation":
            reach = math.sqrt(constant) + math.sqrt(2 * math.log(1 / self.failure))
            return min(reach / math.sqrt(progress.step), 2.0)
        squared = constant / (self.failure * progress.step)
        return squared if self.divergence == "chi-squared" else math.log1p(squared)


def _require_divergence(schedule: Schedule, divergence: str) -> None:
    known = ("total-variation", "chi-squared", "kl")
    require(divergence in known, f"{type(schedule).__name__}(divergence=...)", f"be one of {known}", divergence)
