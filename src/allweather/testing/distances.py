"""Conformance suite of distances."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from torch import Tensor

from allweather.contexts import Reference
from allweather.distances import Distance
from allweather.errors import InvalidInput
from allweather.testing.problems import EXAMPLES, Problem, check_gradient, problems

RADII = st.sampled_from([0.0, 1e-9, 1e-3, 0.05, 0.3, 1.0, 2.5, 1e6])


class DistanceSuite:
    """Tests that every distance must pass; implement `make` and `convex`."""

    tolerance = 1e-6
    """Of the conic solver, relative to the range of the values."""
    smallest_radius_for_solver = 1e-3
    """For smaller radii the conic solver is not accurate."""

    def make(self, radius: float) -> Distance:
        """Return the distance with this radius."""
        raise NotImplementedError

    def convex(self, q: cp.Variable, reference: Reference) -> tuple[cp.Expression, list[Any]]:
        """Return d(q, p) as a convex expression, and its further constraints.

        Args:
            q: the variable distribution, over the points of the reference.
            reference: the distribution p.
        """
        raise NotImplementedError

    def _solver(self, problem: Problem, radius: float) -> tuple[float, float]:
        """Return value and slope by a conic solver, of values scaled to [0, 1]."""
        values, reference = problem
        q = cp.Variable(len(values), nonneg=True)
        distance, constraints = self.convex(q, reference)
        ball = distance <= radius
        low, scale = values.min().item(), (values.max() - values.min()).clamp_min(1e-300).item()
        unit = ((values - low) / scale).numpy()
        program = cp.Problem(cp.Minimize(unit @ q), [np.ones(len(unit)) @ q == 1, ball, *constraints])
        try:
            program.solve(solver=cp.CLARABEL)
        except cp.SolverError:
            assume(False)
        assume(program.status == cp.OPTIMAL)
        return low + scale * float(program.value), -scale * float(np.squeeze(ball.dual_value))

    @EXAMPLES
    @given(problem=problems(), radius=RADII)
    def test_agrees_with_the_conic_program(self, problem: Problem, radius: float) -> None:
        """Value to `tolerance`; the solver's multiplier between our slopes just before and at the radius."""
        assume(radius >= self.smallest_radius_for_solver)
        value, slope = self._solver(problem, radius)
        scale = (problem.values.max() - problem.values.min()).item() + 1e-9 * problem.values.abs().max().item()
        ours = self.make(radius).worst_case(*problem)
        before = self.make(radius * (1 - 1e-6)).worst_case(*problem)
        assert abs(ours.value.item() - value) <= self.tolerance * scale
        margin = 1e-3 * (scale + abs(slope))
        assert before.slope.item() - margin <= slope <= ours.slope.item() + margin

    @EXAMPLES
    @given(problem=problems(), radius=RADII)
    def test_the_weights_attain_the_value_within_the_radius(self, problem: Problem, radius: float) -> None:
        """The weights are a distribution inside the ball, and its expectation is v."""
        distance = self.make(radius)
        value, slope, weights = distance.worst_case(*problem)
        scale = problem.values.abs().max().item() + 1e-300
        assert value.dtype == slope.dtype == weights.dtype == torch.float64
        assert weights.min() >= 0
        assert abs(weights.sum().item() - 1) <= 1e-9
        assert abs((weights @ problem.values - value).item()) <= 1e-9 * scale
        assert distance.between(weights, problem.reference).item() <= radius + 1e-7 * (1 + radius)
        assert slope <= 0

    @EXAMPLES
    @given(problem=problems())
    def test_radius_zero_is_the_expectation(self, problem: Problem) -> None:
        """The ball holds the reference only."""
        worst = self.make(0.0).worst_case(*problem)
        mean = (problem.values @ problem.reference.weights).item()
        assert worst.value.item() == pytest.approx(mean, rel=1e-9, abs=1e-9 * problem.values.abs().max().item())

    @EXAMPLES
    @given(problem=problems(), radius=st.sampled_from([0.0, 1e-3, 0.05, 0.3, 1.0]), factor=st.floats(1.01, 4.0))
    def test_falls_convexly_with_the_radius(self, problem: Problem, radius: float, factor: float) -> None:
        """The worst expectation does not rise, and lies above its tangent."""
        near, far = (
            self.make(radius).worst_case(*problem),
            self.make(radius * factor + 0.01).worst_case(*problem),
        )
        scale = problem.values.abs().max().item()
        step = radius * factor + 0.01 - radius
        assert far.value <= near.value + 1e-9 * scale
        assert far.value >= near.value + near.slope * step - 1e-7 * scale
        assert far.slope >= near.slope - 1e-5 * (scale - near.slope)

    @EXAMPLES
    @given(problem=problems(), radius=RADII)
    def test_shifts_and_scales_with_the_values(self, problem: Problem, radius: float) -> None:
        """v(3 f + 5) = 3 v(f) + 5."""
        values, reference = problem
        distance = self.make(radius)
        plain, moved = distance.worst_case(values, reference), distance.worst_case(3 * values + 5, reference)
        scale = values.abs().max().item() + 5
        assert moved.value.item() == pytest.approx(3 * plain.value.item() + 5, abs=1e-8 * scale)
        assert moved.slope.item() == pytest.approx(3 * plain.slope.item(), rel=1e-4, abs=1e-6 * scale)

    @EXAMPLES
    @given(problem=problems(distinct=True, largest=20), radius=st.sampled_from([0.011, 0.13, 0.57]))
    def test_gradients(self, problem: Problem, radius: float) -> None:
        """Of values and slopes, against finite differences, away from kinks."""
        values, reference = problem
        assume(len(values) > 1)
        scale = (values.max() - values.min()).item()
        unit = (values - values.min()) / scale
        distance = self.make(radius)
        around = [distance.worst_case(unit, reference, r).slope for r in (radius * 0.99, radius * 1.01)]
        assume(self._smooth_at(unit, reference, radius) and not torch.isinf(torch.stack(around)).any())
        check_gradient(lambda f: distance.worst_case(f, reference).value, unit)
        check_gradient(lambda f: distance.worst_case(f, reference).slope, unit)

    def _smooth_at(self, values: Tensor, reference: Reference, radius: float) -> bool:
        """Return whether the support of q is constant around these values."""
        distance = self.make(radius)
        source = torch.Generator().manual_seed(0)
        support = distance.worst_case(values, reference).weights > 1e-9
        nudges = 1e-4 * torch.randn(8, *values.shape, generator=source, dtype=values.dtype)
        return bool(((distance.worst_case(values + nudges, reference).weights > 1e-9) == support).all())

    @EXAMPLES
    @given(problem=problems(largest=20), radius=RADII)
    def test_batch_equals_loop(self, problem: Problem, radius: float) -> None:
        """Leading dimensions are independent decisions."""
        values, reference = problem
        source = torch.Generator().manual_seed(1)
        batch = values + values.abs().max() * torch.randn(2, 3, len(values), generator=source, dtype=torch.float64)
        distance = self.make(radius)
        together = distance.worst_case(batch, reference)
        for i in range(2):
            for j in range(3):
                alone = distance.worst_case(batch[i, j], reference)
                scale = batch.abs().max().item()
                assert together.value[i, j].item() == pytest.approx(alone.value.item(), abs=1e-8 * scale)
                assert together.slope[i, j].item() == pytest.approx(alone.slope.item(), rel=1e-4, abs=1e-6 * scale)

    @EXAMPLES
    @given(problem=problems(), radius=RADII)
    def test_a_radius_per_decision_equals_one_at_a_time(self, problem: Problem, radius: float) -> None:
        """`radius=` overrides the distance's own."""
        values, reference = problem
        both = self.make(0.7).worst_case(
            values.expand(2, -1), reference, torch.tensor([radius, 0.2], dtype=torch.float64)
        )
        scale = values.abs().max().item()
        for i, r in enumerate((radius, 0.2)):
            alone = self.make(r).worst_case(values, reference)
            assert both.value[i].item() == pytest.approx(alone.value.item(), abs=1e-8 * scale)

    @EXAMPLES
    @given(problem=problems())
    def test_the_distance_to_points_matches(self, problem: Problem) -> None:
        """`to_points` is `between` of point masses, and the reference is at distance 0 from itself."""
        distance, reference = self.make(0.1), problem.reference
        n = min(5, len(reference.weights))
        masses = torch.eye(len(reference.weights), dtype=torch.float64)[:n]
        torch.testing.assert_close(distance.to_points(reference)[:n], distance.between(masses, reference))
        assert distance.between(reference.weights, reference).item() == pytest.approx(0, abs=1e-9)

    @pytest.mark.parametrize("values", [[1.0, float("nan")], [float("inf"), 1.0], [1.0, 2.0, 3.0]])
    def test_refuses_values_that_do_not_fit(self, values: list[float]) -> None:
        """NaN, infinity, or a wrong number of contexts."""
        reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        with pytest.raises(InvalidInput, match="worst_case"):
            self.make(0.1).worst_case(torch.tensor(values), reference)

    @pytest.mark.parametrize("radius", [-1.0, float("nan"), float("inf"), "wide", True])
    def test_refuses_a_radius_that_is_none(self, radius: Any) -> None:
        """Negative, infinite, NaN, or not a number."""
        with pytest.raises(InvalidInput, match="radius"):
            self.make(radius)
