"""Random problems for the conformance suites: values of one decision over weighted contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

from allweather.contexts import Reference

EXAMPLES = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)


def check_gradient(function: Callable[[Tensor], Tensor], values: Tensor) -> None:
    """Compare the gradient of a function (..., n) -> (...) at values (n,) with central differences, in one batch."""
    step = 1e-6
    inputs = values.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(inputs), inputs)
    nudges = step * torch.eye(len(values), dtype=values.dtype)
    with torch.no_grad():
        above, below = function(inputs + nudges), function(inputs - nudges)
    torch.testing.assert_close(gradient, (above - below) / (2 * step), atol=2e-4, rtol=1e-3)


class Problem(NamedTuple):
    """Values of one decision over the contexts, and the reference distribution."""

    values: Tensor
    reference: Reference

    def __repr__(self) -> str:
        n, d = self.reference.points.shape
        return f"Problem({n} contexts in {d} dimensions, values from {self.values.min():g} to {self.values.max():g})"


@st.composite
def problems(draw: st.DrawFn, distinct: bool = False, largest: int = 200) -> Problem:
    """Draw values over 1 to 200 contexts in one to three dimensions.

    Args:
        draw: of Hypothesis.
        distinct: without ties and zero weights.
        largest: number of contexts.
    """
    n = draw(st.sampled_from([1, 2, 3, 7, 20, 200]).filter(lambda size: size <= largest))
    source = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = source.normal(size=n) * draw(st.sampled_from([1e-3, 1.0, 1e4])) + draw(st.sampled_from([0.0, 7.0]))
    weights = source.dirichlet(np.full(n, draw(st.sampled_from([0.3, 1.0, 100.0]))))
    if not distinct:
        if draw(st.booleans()):
            values = np.round(values / np.abs(values).max(), draw(st.integers(0, 1)))
        if n > 2 and draw(st.booleans()):
            weights[source.permutation(n)[: n // 2]] = 0
    weights = np.where(weights < 1e-15, 0, weights)
    points = source.uniform(size=(n, draw(st.integers(1, 3))))
    if distinct:
        weights = (weights + 0.1 / n) / 1.1
    return Problem(torch.tensor(values), Reference.checked(points, weights / weights.sum()))
