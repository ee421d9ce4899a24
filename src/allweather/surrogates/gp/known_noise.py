"""Known standard errors of outcomes: their centre and spread without noise, and their variances in a model's units."""

from __future__ import annotations

import torch
from torch import Tensor

MIN_SIGNAL_SHARE = 0.25
"""Lower limit on the share of the outcomes' variance that is not noise: stated errors may be too large."""
MIN_NOISE_VARIANCE = 1e-6
"""Noise variance of an exact outcome, in units of the variance without noise: keeps factorisations stable."""


def centre_and_scale(values: Tensor, sds: Tensor | None = None) -> tuple[float, float]:
    """Mean and standard deviation of the outcomes, without known noise; their size where they do not differ.

    Args:
        values: (t,) outcomes.
        sds: (t,) their standard errors, NaN where not known.

    Example:
        >>> centre_and_scale(torch.tensor([3.0, 3.0]))
        (3.0, 3.0)
    """
    size = float(values.abs().max()) or 1.0
    shares = values / size  # squares of tiny or huge numbers are none
    scale = float(shares.std()) if len(values) > 1 else 0.0
    if sds is not None and scale > 1e-12:
        centre, scale = centre_and_scale_without_noise(shares, sds / size)
        return size * centre, size * scale
    return size * float(shares.mean()), size * scale if scale > 1e-12 else size


def centre_and_scale_without_noise(values: Tensor, sds: Tensor) -> tuple[float, float]:
    """Mean and standard deviation of what was measured, its noise taken out (Paule and Mandel 1982).

    The variance v solves `sum (y_i - m)^2 / (v + sd_i^2) = t - 1` with m the mean weighted by `1 / (v + sd_i^2)`.

    Args:
        values: (t,) outcomes, at least two that differ.
        sds: (t,) their standard errors; NaN where it is not known, which counts as no noise here.

    Example:
        >>> values = torch.tensor([0.0, 1.0, 2.0, 9.0], dtype=torch.float64)
        >>> _, scale = centre_and_scale_without_noise(values, torch.tensor([0.0, 0.0, 0.0, 5.0], dtype=torch.float64))
        >>> round(scale, 1), round(float(values.std()), 1)
        (2.0, 4.1)
    """
    noise = sds.nan_to_num(0.0).square()
    most = float(values.var())
    low, high = MIN_SIGNAL_SHARE * most, most

    def centre(variance: float) -> tuple[float, float]:
        weights = 1 / (variance + noise)
        mean = (weights * values).sum() / weights.sum()
        return float(mean), float((weights * (values - mean).square()).sum()) - (len(values) - 1)

    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if centre(middle)[1] > 0 else (low, middle)
    return centre(high)[0], high**0.5


def known_variances(sds: Tensor | None, scale: float, inflation: float = 1.0) -> Tensor | None:
    """Variances (t,) of noise in units of the scale, NaN where it is not known; None where none is known.

    Args:
        sds: (t,) standard errors in the outcome's units.
        scale: of the standardised outcomes.
        inflation: what they are multiplied by.
    """
    return None if sds is None else inflation * (sds / scale).square().clamp_min(MIN_NOISE_VARIANCE)


def filled(variances: Tensor | None, noise: float | Tensor, count: int) -> Tensor | None:
    """Variances of `count` outcomes, with `noise` where they are not known; None where noise is the same for all.

    Args:
        variances: of the first outcomes, NaN where not known.
        noise: one for all outcomes, or (count,).
        count: of outcomes.
    """
    if variances is None:
        return noise if isinstance(noise, Tensor) else None
    joint = torch.cat([variances, variances.new_full((count - len(variances),), torch.nan)])
    return torch.where(joint.isnan(), noise, joint)
