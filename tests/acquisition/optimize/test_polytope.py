import numpy as np
import pytest

from allweather.acquisition.optimize.polytope import Polytope, inside, nearest_whole
from allweather.errors import InvalidInput
from allweather.space.constraints import Halfspaces


def rows(*rows):
    """Rows of coefficients followed by their limit."""
    table = np.array(rows, dtype=np.float64)
    lengths = np.linalg.norm(table[:, :-1], axis=1)
    return Halfspaces(table[:, :-1] / lengths[:, None], table[:, -1] / lengths)


def test_the_centre_of_a_triangle():
    centre, basis = inside(rows([1, 1, 1]))
    np.testing.assert_allclose(centre, np.full(2, 1 / (2 + np.sqrt(2))))
    assert basis.shape == (2, 2)


@pytest.mark.parametrize(
    ("constraints", "dimension"),
    [
        (rows([1, 1, 1, 1], [-1, -1, -1, -1]), 2),
        (rows([1, 1, 1, 0]), 0),
        (rows([1, 1, 0, 0]), 1),
        (rows([1, 1, 1, 1.5], [-1, -1, 0, -1.5], [0, 0, -1, 0]), 1),
    ],
)
def test_equations_in_disguise_are_found(constraints, dimension):
    centre, basis = inside(constraints)
    assert basis.shape == (3, dimension)
    assert (constraints.normals @ centre <= constraints.limits + 1e-10).all()


def test_nothing_inside():
    with pytest.raises(InvalidInput, match="at least one decision"):
        inside(rows([1, 1, -0.1]))


def test_the_nearest_whole_numbers():
    total = rows([4, 4, 5], [-4, -4, -5])
    found = nearest_whole(total, np.array([4.0, 4.0]), np.array([0.9, 0.6]))
    assert found is not None
    assert (4 * found).round(6).tolist() in ([3, 2], [4, 1])
    assert nearest_whole(rows([4, 4, 4.6], [-4, -4, -4.4]), np.array([4.0, 4.0]), np.zeros(2)) is None


def test_the_nearest_points_inside():
    polytope = Polytope(rows([1, 1, 1]).normals, rows([1, 1, 1]).limits[None], np.eye(2))
    np.testing.assert_allclose(polytope.nearest(np.array([[1.0, 0.6]])), [[0.7, 0.3]], atol=1e-8)
