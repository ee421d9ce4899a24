"""True laws of the contexts on the unit cube: sampling and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from torch import Tensor

from allweather.contexts import Reference
from allweather.errors import require, require_number

Marginal = Callable[[np.ndarray], np.ndarray]
"""Uniforms (n,) to draws (n,) of one context."""


@dataclass(frozen=True)
class Independent:
    """Independent contexts, each clipped to [0, 1] as in kde App. B.2.

    Example:
        >>> law = Independent((Normal(0.5, 0.1), Uniform()))
        >>> law.quantile(np.array([[0.5, 0.25], [1.0, 1.0]])).tolist()
        [[0.5, 0.25], [1.0, 1.0]]
    """

    marginals: tuple[Marginal, ...]

    def quantile(self, uniforms: np.ndarray) -> np.ndarray:
        """Return contexts (n, d_c) from uniforms (n, d_c)."""
        columns = [marginal(uniforms[:, i]) for i, marginal in enumerate(self.marginals)]
        return np.asarray(np.clip(np.stack(columns, axis=1), 0.0, 1.0))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw `n` contexts (n, d_c)."""
        return self.quantile(rng.random((n, len(self.marginals))))


@dataclass(frozen=True, eq=False)
class Discrete:
    """Finitely many contexts with given probabilities."""

    points: Tensor
    weights: Tensor

    @property
    def reference(self) -> Reference:
        """The law as points and weights."""
        return Reference(self.points, self.weights)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw `n` contexts (n, d_c)."""
        weights = self.weights.numpy()
        chosen: np.ndarray = self.points.numpy()[rng.choice(len(weights), size=n, p=weights / weights.sum())]
        return chosen


@dataclass(frozen=True)
class Normal:
    """A normal law."""

    mean: float
    sd: float

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the quantiles."""
        return self.mean + self.sd * np.asarray(ndtri(uniforms))


@dataclass(frozen=True)
class Uniform:
    """The uniform law on [0, 1]."""

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the quantiles."""
        return uniforms


@dataclass(frozen=True)
class BurrXII:
    """Burr's law of type XII, whose distribution function is `1 - (1 + c^alpha)^-beta`.

    Example:
        >>> BurrXII(2, 20)(np.array([0.5])).round(4).tolist()
        [0.1878]
    """

    alpha: float
    beta: float

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the quantiles, from the logarithm of the tail for accuracy near 0."""
        with np.errstate(divide="ignore"):  # the quantile of 1 is infinite
            return np.asarray(np.expm1(-np.log1p(-uniforms) / self.beta) ** (1 / self.alpha))


@dataclass(frozen=True)
class Mixture:
    """Normal and Cauchy laws, each equally likely; quantiles are those of the mixture clipped to [0, 1].

    Example:
        >>> law = Mixture(normals=((0.2, 0.01),), cauchys=((0.8, 0.01),))
        >>> law(np.array([0.25, 0.75])).round(2).tolist()
        [0.2, 0.8]
    """

    normals: tuple[tuple[float, float], ...]
    """Mean and standard deviation of each."""
    cauchys: tuple[tuple[float, float], ...] = ()
    """Centre and half width of each."""

    def cumulative(self, contexts: np.ndarray) -> np.ndarray:
        """Return the distribution function."""
        parts = [ndtr((contexts - mean) / sd) for mean, sd in self.normals]
        parts += [0.5 + np.arctan((contexts - centre) / half) / np.pi for centre, half in self.cauchys]
        return np.asarray(np.mean(parts, axis=0))

    def density(self, contexts: np.ndarray) -> np.ndarray:
        """Return the density before clipping."""
        parts = [np.exp(-0.5 * ((contexts - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for m, s in self.normals]
        parts += [half / (np.pi * (half**2 + (contexts - centre) ** 2)) for centre, half in self.cauchys]
        return np.asarray(np.mean(parts, axis=0))

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the quantiles by bisection on [0, 1], which clips them."""
        low, high = np.zeros_like(uniforms), np.ones_like(uniforms)
        for _ in range(50):
            middle = (low + high) / 2
            below = self.cumulative(middle) < uniforms
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(uniforms > self.cumulative(np.ones(1)), 1.0, low)


def normals(count: int, sd: float, where: str) -> Independent:
    """Return the law of `count` independent contexts from N(0.5, sd^2), clipped; `where` is the name of the problem."""
    require_number(sd, f"problem({where!r}, sd=...)", above=0)
    return Independent((Normal(0.5, sd),) * count)


def chosen(law: str, laws: Sequence[str], where: str) -> None:
    """Raise `InvalidInput` unless `law` is one of `laws`."""
    require(law in laws, f"problem({where!r}, law=...)", f"be one of {list(laws)}", law)
