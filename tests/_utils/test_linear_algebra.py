"""Cholesky factors of low rank."""

import math

import pytest
import torch

from allweather._utils.linear_algebra import pivoted_cholesky, randomly_pivoted_cholesky
from allweather._utils.matern import Matern

POINTS = torch.rand(600, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
RBF = Matern(math.inf)


def at_random(points, limit, tolerance):
    ones = points.new_ones(len(points))
    return randomly_pivoted_cholesky(lambda picks: RBF(3 * points[picks], 3 * points), ones, limit, tolerance)


def greedy(points, limit, tolerance):
    ones = points.new_ones(len(points))
    return pivoted_cholesky(lambda pivot: RBF(3 * points[pivot, None], 3 * points)[0], ones, limit, tolerance)


@pytest.mark.parametrize("factorise", [at_random, greedy])
def test_as_many_pivots_as_it_takes(factorise):
    found = factorise(POINTS, 600, 1e-3)
    assert float(found.lacking.mean()) <= 1e-3
    assert len(set(found.pivots.tolist())) == len(found.pivots) < 100
    covariance = found.rows.T @ found.rows + torch.diag(found.lacking)
    assert float((covariance - RBF(3 * POINTS, 3 * POINTS)).abs().max()) < 0.1


@pytest.mark.parametrize("factorise", [at_random, greedy])
def test_no_more_pivots_than_the_limit(factorise):
    assert len(factorise(POINTS, 50, 0.0).pivots) == 50


@pytest.mark.parametrize(("factorise", "tolerance"), [(at_random, 0.0), (greedy, 1e-9)])
def test_repeated_points_need_no_pivot_of_their_own(factorise, tolerance):
    assert len(factorise(POINTS[:20].repeat(10, 1), 200, tolerance).pivots) == 20
