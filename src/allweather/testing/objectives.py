"""Conformance suite of objectives."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given

from allweather.contexts import Reference
from allweather.errors import InvalidInput
from allweather.objectives import Objective
from allweather.testing.problems import EXAMPLES, Problem, check_gradient, problems


class ObjectiveSuite:
    """Tests that every objective must pass; implement `make`, and `of_constant` if it is not the constant."""

    def make(self) -> Objective:
        """Return the objective."""
        raise NotImplementedError

    def of_constant(self, constant: float) -> float:
        """Return the objective of a function that is constant over the contexts."""
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
        unit = (values - values.min()) / (values.max() - values.min())
        objective = self.make()
        assume(bool(torch.isfinite(objective(unit, reference))))
        check_gradient(lambda f: objective(f, reference), unit)

    def test_refuses_values_that_do_not_fit(self) -> None:
        """NaN, or a wrong number of contexts."""
        reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        for values in ([1.0, float("nan")], [1.0, 2.0, 3.0]):
            with pytest.raises(InvalidInput):
                self.make()(torch.tensor(values), reference)
