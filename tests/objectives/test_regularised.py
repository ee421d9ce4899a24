import numpy as np
import pytest
import torch

from allweather import (
    DRO,
    ChiSquared,
    InvalidInput,
    PowerLaw,
    Progress,
    RangeRegularised,
    Reference,
    TotalVariation,
    VarianceRegularised,
)
from allweather.testing import ObjectiveSuite


class TestVarianceRegularised(ObjectiveSuite):
    def make(self):
        return VarianceRegularised(0.3)


class TestRangeRegularised(ObjectiveSuite):
    def make(self):
        return RangeRegularised(0.3)


@pytest.mark.parametrize(("ours", "papers"), [(ChiSquared, VarianceRegularised), (TotalVariation, RangeRegularised)])
def test_the_papers_forms_are_lower_bounds_and_exact_for_small_radii(ours, papers):
    source = np.random.default_rng(0)
    reference = Reference.checked(source.uniform(size=(15, 1)), source.dirichlet(np.full(15, 20.0)))
    values = torch.tensor(source.normal(size=(30, 15)))
    for radius in (0.01, 0.3, 1.5):
        exact, printed = DRO(ours(radius))(values, reference), papers(radius)(values, reference)
        assert bool((printed <= exact + 1e-12).all())
    torch.testing.assert_close(DRO(ours(0.01))(values, reference), papers(0.01)(values, reference))
    assert bool((papers(1.5)(values, reference) < DRO(ours(1.5))(values, reference) - 0.01).any())


def test_a_scheduled_radius():
    assert VarianceRegularised(PowerLaw(1, 0.5)).at(Progress(step=4)) == VarianceRegularised(0.5)


def test_a_schedule_must_be_resolved_first():
    reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
    for papers in (VarianceRegularised, RangeRegularised):
        with pytest.raises(InvalidInput, match="changes with the step"):
            papers(PowerLaw(1, 0.5))(torch.tensor([1.0, 2.0]), reference)


def test_bad_declarations_are_refused():
    for papers in (VarianceRegularised, RangeRegularised):
        with pytest.raises(InvalidInput, match="radius"):
            papers(-0.1)
