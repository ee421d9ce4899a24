"""Conformance suites: inherit one, say how to make your part, and pytest checks it as we check ours.

    from allweather.testing import DistanceSuite

    class TestHellinger(DistanceSuite):
        def make(self, radius):
            return Hellinger(radius)

        def convex(self, q, reference):
            return 2 - 2 * np.sqrt(reference.weights.numpy()) @ cp.sqrt(q), []

Needs pytest, hypothesis, and for distances cvxpy with clarabel: `pip install 'allweather[test]'`.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import cvxpy as cp
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from torch import Tensor

from allweather.contexts import ContextModel, Reference
from allweather.distances import Distance
from allweather.errors import InvalidInput
from allweather.objectives import Objective

EXAMPLES = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)


class Problem(NamedTuple):
    """Values of one decision over the contexts, and the reference distribution."""

    values: Tensor
    reference: Reference

    def __repr__(self) -> str:
        n, d = self.reference.points.shape
        return f"Problem({n} contexts in {d} dimensions, values from {self.values.min():g} to {self.values.max():g})"


@st.composite
def problems(draw: st.DrawFn, distinct: bool = False, largest: int = 200) -> Problem:
    """One to 200 contexts in one to three dimensions, with ties and weights of zero unless `distinct`."""
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


RADII = st.sampled_from([0.0, 1e-9, 1e-3, 0.05, 0.3, 1.0, 2.5, 1e6])


class DistanceSuite:
    """What every distance must do; `make` and `convex` are yours."""

    tolerance = 1e-6
    """Of the conic program's answer, relative to the range of the values."""
    smallest_radius_for_solver = 1e-3
    """Below this the conic solver, not the distance, is what fails."""

    def make(self, radius: float) -> Distance:
        """The distance with this radius."""
        raise NotImplementedError

    def convex(self, q: cp.Variable, reference: Reference) -> tuple[cp.Expression, list[Any]]:
        """d(q, p) as a convex expression, and further constraints that it needs."""
        raise NotImplementedError

    def _solver(self, problem: Problem, radius: float) -> tuple[float, float]:
        """Value and slope by a conic solver, of values scaled to [0, 1]."""
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
        """Q is a distribution, inside the ball, and its expectation is v."""
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
        """Nothing can move."""
        worst = self.make(0.0).worst_case(*problem)
        mean = (problem.values @ problem.reference.weights).item()
        assert worst.value.item() == pytest.approx(mean, rel=1e-9, abs=1e-9 * problem.values.abs().max().item())

    @EXAMPLES
    @given(problem=problems(), radius=st.sampled_from([0.0, 1e-3, 0.05, 0.3, 1.0]), factor=st.floats(1.01, 4.0))
    def test_falls_convexly_with_the_radius(self, problem: Problem, radius: float, factor: float) -> None:
        """V does not rise, and lies above the tangent that the slope draws."""
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
        unit = ((values - values.min()) / scale).requires_grad_()
        distance = self.make(radius)
        around = [distance.worst_case(unit.detach(), reference, r).slope for r in (radius * 0.99, radius * 1.01)]
        assume(self._smooth_at(unit.detach(), reference, radius) and not torch.isinf(torch.stack(around)).any())
        for part in ("value", "slope"):
            check = torch.autograd.gradcheck
            assert check(
                lambda f, p=part: getattr(distance.worst_case(f, reference), p),
                unit,
                eps=1e-6,
                atol=2e-4,
                rtol=1e-3,
            )

    def _smooth_at(self, values: Tensor, reference: Reference, radius: float) -> bool:
        """Whether the support of q stays the same around these values."""
        distance = self.make(radius)
        source = torch.Generator().manual_seed(0)
        support = distance.worst_case(values, reference).weights > 1e-9
        for _ in range(8):
            nudge = 1e-4 * torch.randn(values.shape, generator=source, dtype=values.dtype)
            if bool(((distance.worst_case(values + nudge, reference).weights > 1e-9) != support).any()):
                return False
        return True

    @EXAMPLES
    @given(problem=problems(largest=20), radius=RADII)
    def test_batch_equals_loop(self, problem: Problem, radius: float) -> None:
        """Leading dimensions are decisions, each on its own."""
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


class ContextModelSuite:
    """What every context model must do; `make` is yours, for `dimensions` context variables in the unit cube."""

    dimensions = (1, 2)

    def make(self, dimension: int) -> ContextModel:
        """The model for this many context variables."""
        raise NotImplementedError

    def _references(self, contexts: Tensor, seed: int = 0) -> list[Reference]:
        t, d = contexts.shape
        generators = [torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)]
        return [self.make(d).reference(contexts, t, generator) for generator in generators]

    def _contexts(self) -> list[Tensor]:
        source = torch.Generator().manual_seed(5)
        drawn = [torch.rand(t, d, generator=source, dtype=torch.float64) for d in self.dimensions for t in (1, 2, 30)]
        equal = [torch.full((6, d), 0.25, dtype=torch.float64) for d in self.dimensions]
        return drawn + equal

    def test_is_a_distribution_on_the_unit_cube(self) -> None:
        """Also from one context, and from contexts that are all equal."""
        for contexts in self._contexts():
            points, weights = self._references(contexts)[0]
            assert points.dtype == weights.dtype == torch.float64
            assert points.shape == (len(weights), contexts.shape[1])
            assert bool(((points >= 0) & (points <= 1)).all())
            assert bool((weights >= 0).all())
            assert weights.sum().item() == pytest.approx(1, abs=1e-12)

    def test_the_same_generator_gives_the_same_reference(self) -> None:
        """All randomness is passed in."""
        for contexts in self._contexts():
            torch.manual_seed(11)
            first, second = self._references(contexts)
            torch.testing.assert_close(first, second, rtol=0, atol=0)

    def test_leaves_the_contexts_and_itself_unchanged(self) -> None:
        """A reference is computed, not accumulated."""
        contexts = self._contexts()[0]
        before, model = contexts.clone(), self.make(contexts.shape[1])
        described = copy.copy(repr(model))
        model.reference(contexts, 1, torch.Generator().manual_seed(0))
        torch.testing.assert_close(contexts, before, rtol=0, atol=0)
        assert repr(model) == described


class ObjectiveSuite:
    """What every objective must do; `make` is yours, `of_constant` if a constant is not its own objective."""

    def make(self) -> Objective:
        """The objective."""
        raise NotImplementedError

    def of_constant(self, constant: float) -> float:
        """The objective of a function that is the same in all contexts."""
        return constant

    @EXAMPLES
    @given(problem=problems())
    def test_a_constant_has_no_uncertainty(self, problem: Problem) -> None:
        """Whatever the weights."""
        values = torch.full_like(problem.values, 2.5)
        assert self.make()(values, problem.reference).item() == pytest.approx(self.of_constant(2.5), abs=1e-9)

    @EXAMPLES
    @given(problem=problems(largest=20))
    def test_batch_equals_loop(self, problem: Problem) -> None:
        """Leading dimensions are decisions."""
        values, reference = problem
        source = torch.Generator().manual_seed(2)
        batch = values + torch.randn(2, 3, len(values), generator=source, dtype=torch.float64)
        objective = self.make()
        together = objective(batch, reference)
        assert together.shape == (2, 3)
        assert together.dtype == torch.float64
        alone = torch.stack([torch.stack([objective(row, reference) for row in rows]) for rows in batch])
        torch.testing.assert_close(together, alone, rtol=1e-6, atol=1e-6 * batch.abs().max().item())

    @EXAMPLES
    @given(problem=problems())
    def test_the_order_of_contexts_does_not_matter(self, problem: Problem) -> None:
        """Contexts are a set."""
        values, (points, weights) = problem
        order = torch.randperm(len(values), generator=torch.Generator().manual_seed(3))
        shuffled = self.make()(values[order], Reference(points[order], weights[order]))
        torch.testing.assert_close(shuffled, self.make()(*problem), rtol=1e-6, atol=1e-7 * values.abs().max().item())

    @EXAMPLES
    @given(problem=problems())
    def test_more_everywhere_is_no_worse(self, problem: Problem) -> None:
        """Raising every value by the same amount never lowers the objective."""
        values, reference = problem
        assert self.make()(values + 1, reference) >= self.make()(values, reference) - 1e-6 * values.abs().max()

    @EXAMPLES
    @given(problem=problems(distinct=True, largest=7))
    def test_gradients(self, problem: Problem) -> None:
        """Against finite differences, where the objective is finite."""
        values, reference = problem
        assume(len(values) > 2)
        unit = ((values - values.min()) / (values.max() - values.min())).requires_grad_()
        objective = self.make()
        assume(bool(torch.isfinite(objective(unit.detach(), reference))))
        assert torch.autograd.gradcheck(lambda f: objective(f, reference), unit, eps=1e-6, atol=2e-4, rtol=1e-3)

    def test_refuses_values_that_do_not_fit(self) -> None:
        """NaN, or a wrong number of contexts."""
        reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        for values in ([1.0, float("nan")], [1.0, 2.0, 3.0]):
            with pytest.raises(InvalidInput):
                self.make()(torch.tensor(values), reference)
