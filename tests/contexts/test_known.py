import numpy as np
import pytest
import scipy.stats
import torch

from allweather import Choice, Context, InvalidInput, Known, Real, Space
from allweather.testing import ContextModelSuite

NOTHING = torch.empty(0, 1, dtype=torch.float64)


def draw(model, seed=0):
    return model.reference(NOTHING, 1, torch.Generator().manual_seed(seed))


class TestKnown(ContextModelSuite):
    def make(self, dimension):
        return Known([scipy.stats.norm(0.5, 0.2)] * dimension, samples=64, unseen=8)


class TestKnownJoint(ContextModelSuite):
    def make(self, dimension):
        return Known(lambda n, generator: generator.uniform(size=(n, dimension)), samples=32)


def test_quasi_monte_carlo_beats_chance():
    """1024 scrambled Sobol points give the mean to far better than 1/sqrt(1024)."""
    law = scipy.stats.truncnorm(-1, 2, loc=0.4, scale=0.2)
    errors = [draw(Known(law), seed).points.mean().item() - law.mean() for seed in range(20)]
    assert np.std(errors) < 0.1 * law.std() / np.sqrt(1024)


def test_a_law_in_the_users_units_is_clipped_to_the_box():
    space = Space(x=Real(0, 1), wind=Context(-10, 10))
    points = draw(Known(scipy.stats.norm(0, 10)).on(space.contexts)).points
    assert (points == 0).double().mean() == pytest.approx(scipy.stats.norm.cdf(-1), abs=0.01)
    assert points.median() == pytest.approx(0.5, abs=0.01)


def test_the_space_itself_will_do():
    space = Space(x=Real(0, 1), wind=Context(-10, 10))
    law = Known(scipy.stats.norm(0, 1))
    torch.testing.assert_close(draw(law.on(space)), draw(law.on(space.contexts)))


def test_a_logarithmic_context():
    space = Space(x=Real(0, 1), dose=Context(Real(0.01, 1, log=True)))
    points = draw(Known(scipy.stats.uniform(0.01, 0.99)).on(space.contexts)).points
    assert points.median() == pytest.approx(np.log(0.505 / 0.01) / np.log(100), abs=0.01)


def test_laws_by_name_in_any_order():
    space = Space(x=Real(0, 1), a=Context(0, 1), b=Context(0, 10))
    laws = {"b": scipy.stats.uniform(4, 2), "a": scipy.stats.norm(0.2, 0.01)}
    points = draw(Known(laws).on(space.contexts)).points
    assert points.mean(0).tolist() == pytest.approx([0.2, 0.5], abs=1e-3)


def test_dependent_variables_from_a_joint_sampler():
    space = Space(x=Real(0, 1), a=Context(0, 1), b=Context(0, 1))

    def together(n, generator):
        a = generator.uniform(size=n)
        return np.stack([a, 1 - a], axis=1)

    points = draw(Known(together).on(space.contexts)).points
    torch.testing.assert_close(points.sum(1), torch.ones(1024, dtype=torch.float64))
    joint = scipy.stats.multivariate_normal([0.5, 0.5], [[0.01, 0.009], [0.009, 0.01]])
    drawn = draw(Known(joint).on(space.contexts)).points
    assert np.corrcoef(drawn.numpy().T)[0, 1] == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (lambda: Known(scipy.stats.norm), "frozen"),
        (lambda: Known([1.0]), "ppf"),
        (lambda: Known([]), "law for each"),
        (lambda: Known("normal"), "'normal'"),
        (lambda: draw(Known(lambda n, g: g.uniform(size=n - 1))), "shape"),
        (lambda: draw(Known(lambda n, g: ["a"] * n)), "numbers"),
        (lambda: Known(scipy.stats.norm(), samples=0), "samples"),
        (
            lambda: Known(scipy.stats.norm()).on(Space(a=Context(0, 1), b=Context(0, 1)).contexts),
            "law for each",
        ),
        (lambda: Known({"c": scipy.stats.norm()}).on(Space(a=Context(0, 1)).contexts), "name exactly"),
        (
            lambda: Known(scipy.stats.norm()).on(Space(lot=Context(Choice("A", "B"))).contexts),
            "shares of options",
        ),
        (
            lambda: draw(Known(lambda n, g: g.uniform(size=(n, 2))).on(Space(a=Context(0, 1)).contexts)),
            "shape",
        ),
        (lambda: draw(Known(lambda n, g: np.full((n, 1), np.nan))), "NaN"),
    ],
)
def test_bad_input_is_refused_by_name(declaration, message):
    with pytest.raises(InvalidInput, match=message):
        declaration()
