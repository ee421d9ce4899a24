"""Conformance suite of context models."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from allweather.contexts import ContextModel, Reference


class ContextModelSuite:
    """Tests that every context model must pass; implement `make`, for `dimensions` context variables."""

    dimensions = (1, 2)

    def make(self, dimension: int) -> ContextModel:
        """Return the model for this many context variables in the unit cube."""
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

    def test_draws_of_the_law_are_distributions_around_the_reference(self) -> None:
        """Zeros stay zeros, the generator is the only randomness, and the mean draw is the reference."""
        for contexts in self._contexts():
            model, reference = self.make(contexts.shape[1]), self._references(contexts)[0]
            first, second = (
                model.resample(contexts, reference, 200, torch.Generator().manual_seed(3)) for _ in range(2)
            )
            torch.testing.assert_close(first, second, rtol=0, atol=0)
            assert first.shape == (200, len(reference.weights))
            assert bool((first >= 0).all())
            assert bool((first[:, reference.weights == 0] == 0).all())
            torch.testing.assert_close(first.sum(-1), torch.ones(200, dtype=torch.float64))
            if self.unbiased_draws:
                away = (first @ reference.points).mean(0) - reference.weights @ reference.points
                assert float(away.abs().max()) < 0.05

    unbiased_draws = True
    """Whether the mean of `resample` is the reference; a model whose support moves is none."""
