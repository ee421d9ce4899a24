"""Decisions before demand or supply is known: the newsvendor (kde) and wind power (phi)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from allweather.contexts import Reference
from allweather.errors import require, require_count
from allweather.problems.base import Problem, registered
from allweather.problems.data import load
from allweather.problems.formula import Formula
from allweather.problems.grids import believed_and_true
from allweather.problems.laws import BurrXII, Independent
from allweather.space import Space
from allweather.space.variables import Context, Real


@registered("newsvendor")
def newsvendor() -> Problem:
    """Profit of an order under a demand from Burr XII(2, 20), clipped; the best order is the median demand."""
    law = Independent((BurrXII(2, 20),))
    return Problem(
        name="newsvendor",
        space=Space(order=Real(0, 1), demand=Context(0, 1)),
        function=Formula(profit, (0.0, 0.0), (1.0, 1.0)),
        sample=law.sample,
        quantile=law.quantile,
        source="kde App. B.2; errata E12",
    )


@registered("wind")
def wind(month: int | None = None) -> Problem:
    """Power is promised before the wind is known; the true law is one month (0 to 23) of the record, or all of it.

    The learner is told the histogram of earlier years. Contexts are the centres of its 50 bins.
    """
    data = load("wind")
    believed, monthly = torch.from_numpy(data["reference"]), data["monthly"]
    bins = len(believed)
    if month is None:
        true = torch.from_numpy(np.histogram(data["power"], bins, (0, 1))[0]).to(torch.float64)
    else:
        require_count(month, "problem('wind', month=...)")
        require(month < len(monthly), "problem('wind', month=...)", f"be below {len(monthly)}", month)
        true = torch.from_numpy(monthly[month])
    centres = (torch.arange(bins, dtype=torch.float64)[:, None] + 0.5) / bins
    space = Space(promise=Real(0, 1), power=Context(0, 1))
    # Empty bins were given one count each, so the histograms do not sum to 1.
    setting = believed_and_true(space, Reference(centres, believed / believed.sum()), true / true.sum())
    return Problem(
        name="wind",
        space=space,
        function=Formula(delivery, (0.0, 0.0), (1.0, 1.0)),
        sample=setting.law.sample,
        support=setting.law.reference,
        belief=setting.belief,
        margins=setting.margins,
        source="phi Sec. 5.3, Fig. 4; data/README",
    )


def profit(joint: Tensor) -> Tensor:
    """`9 min(x, c) + max(0, x - c) - 5 x`."""
    x, c = joint.unbind(-1)
    return 9 * torch.minimum(x, c) + (x - c).clamp_min(0) - 5 * x


def delivery(joint: Tensor) -> Tensor:
    """`0.1 max(c - x, 0) + min(x, c) - 5 max(x - c, 0)`."""
    x, c = joint.unbind(-1)
    return 0.1 * (c - x).clamp_min(0) + torch.minimum(x, c) - 5 * (x - c).clamp_min(0)
