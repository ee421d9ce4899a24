"""Normal laws cut off at the ends of a box, by the variance they have after the cut."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from allweather.errors import require, require_number


def truncated_normal(mean: float, variance: float, lower: float = 0.0, upper: float = 1.0) -> Any:
    """The normal law centred at `mean`, cut off at `lower` and `upper`, whose variance is `variance` after the cut.

    The uniform law on the box, with a variance of a twelfth of its squared width, is the limit of wide normals.

    Example:
        >>> law = truncated_normal(0.5, 0.04)
        >>> round(float(law.var()), 6), round(law.kwds["scale"], 3)
        (0.04, 0.214)
    """
    import scipy.stats

    for number, name in ((mean, "mean"), (lower, "lower"), (upper, "upper")):
        require_number(number, f"truncated_normal({name}=...)")
    require(lower < upper, "truncated_normal(lower=..., upper=...)", "be a range", (lower, upper))
    require(lower <= mean <= upper, "truncated_normal(mean=...)", f"lie between {lower:g} and {upper:g}", mean)
    require_number(variance, "truncated_normal(variance=...)", above=0)
    width = upper - lower
    widest = scipy.stats.uniform(0, width).var()
    require(variance < widest, "truncated_normal(variance=...)", f"be below {widest:g}, the uniform law's", variance)

    enough = _law(mean, 1e3 * width, lower, upper).var() > variance
    require(bool(enough), "truncated_normal(variance=...)", f"be clearly below {widest:g}, the uniform law's", variance)
    return _law(mean, _scale(mean, variance, lower, upper), lower, upper)


@lru_cache(maxsize=1024)
def _scale(mean: float, variance: float, lower: float, upper: float) -> float:
    """The scale before the cut; kept, since a campaign builds the same problem many times."""
    from scipy.optimize import brentq

    narrow, wide = 0.5 * variance**0.5, 1e3 * (upper - lower)
    return float(brentq(lambda scale: _law(mean, scale, lower, upper).var() - variance, narrow, wide, xtol=1e-14))


def _law(mean: float, scale: float, lower: float, upper: float) -> Any:
    import scipy.stats

    return scipy.stats.truncnorm(a=(lower - mean) / scale, b=(upper - mean) / scale, loc=mean, scale=scale)
