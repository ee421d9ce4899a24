"""Whole numbers and choices, against enumeration."""

import itertools

import numpy as np
import pytest
import torch
from tests.acquisition.optimize.hills import Counted, bowl

from allweather import Choice, Integer, Real, Space
from allweather.acquisition.optimize import Search
from allweather.acquisition.optimize.region import Region, listed, neighbours
from allweather.space.constraints import LinearConstraint


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def wavy(d, seed):
    """A random smooth function of d columns."""
    waves = 2 * torch.randn(30, d, generator=seeded(seed), dtype=torch.float64)
    phases, heights = torch.rand(2, 30, generator=seeded(seed), dtype=torch.float64)
    return lambda u: torch.cos(u @ waves.T + 6 * phases) @ (heights - 0.5)


def test_all_decisions_are_listed_once():
    box = Space(n=Integer(-1, 2), c=Choice("a", "b", "c")).decisions
    region = Region.of(box, (LinearConstraint({"n": 1}, lower=0),))
    expected = [{"n": n, "c": c} for n, c in itertools.product((0, 1, 2), "abc")]
    assert box.decode(torch.from_numpy(listed(region))) == expected
    assert listed(Region.of(Space(n=Integer(0, 2000)).decisions)) is None
    assert listed(Region.of(Space(x=Real(0, 1)).decisions)) is None


@pytest.mark.parametrize("seed", range(3))
def test_few_decisions_are_all_scored(seed):
    box = Space(n=Integer(0, 30), m=Integer(0, 9), c=Choice("a", "b", "c")).decisions
    counted = Counted(wavy(5, seed))
    best = Search(box).best(counted, seeded(seed))
    everything = torch.from_numpy(listed(Region.of(box)))
    assert counted.rows == {True: 0, False: 930}
    assert best.value == pytest.approx(wavy(5, seed)(everything).max().item(), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_many_whole_numbers_are_walked(seed):
    box = Space(n=Integer(0, 99), m=Integer(0, 99), k=Integer(0, 9)).decisions
    constraint = LinearConstraint({"n": 1, "m": 1, "k": 3}, upper=120)
    best = Search(box, (constraint,)).best(wavy(3, seed), seeded(seed))
    rows = [{"n": n, "m": m, "k": k} for n, m, k in itertools.product(range(100), range(100), range(10))]
    everything = torch.tensor([[r["n"] / 99, r["m"] / 99, r["k"] / 9] for r in rows], dtype=torch.float64)
    allowed = torch.tensor([constraint.holds(row) for row in rows])
    assert constraint.holds(*box.decode(best.decision[None]))
    assert best.value == pytest.approx(wavy(3, seed)(everything)[allowed].max().item(), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_decisions_against_a_grid(seed):
    box = Space(x=Real(0, 1), n=Integer(0, 9), c=Choice("a", "b", "c")).decisions
    best = Search(box).best(wavy(5, seed), seeded(seed))
    parts = [torch.linspace(0, 1, 201, dtype=torch.float64), torch.arange(10) / 9, torch.arange(3)]
    grid = torch.cartesian_prod(*(part.to(torch.float64) for part in parts))
    grid = torch.cat([grid[:, :2], torch.nn.functional.one_hot(grid[:, 2].long(), 3)], dim=1)
    assert best.value >= wavy(5, seed)(grid).max().item()
    assert torch.equal(box.snap(best.decision[None])[0], best.decision)


def test_continuous_columns_give_way_to_whole_numbers():
    box = Space(x=Real(0, 1), n=Integer(0, 40)).decisions
    constraint = LinearConstraint({"x": 10, "n": 1}, upper=40)
    best = Search(box, (constraint,), raw=4, starts=1).best(lambda u: 0.5 * u[:, 0] + 4 * u[:, 1], seeded())
    (row,) = box.decode(best.decision[None])
    assert row == {"x": pytest.approx(0, abs=1e-8), "n": 40}


def test_whole_numbers_tied_by_an_equation_move_in_pairs():
    box = Space(n=Integer(0, 50), m=Integer(0, 50), k=Integer(0, 50)).decisions
    equation = LinearConstraint({"n": 1, "m": 1, "k": 1}, lower=50, upper=50)
    best = Search(box, (equation,)).best(bowl([0.3, 0.214, 0.5]), seeded())
    assert box.decode(best.decision[None]) == [{"n": 15, "m": 10, "k": 25}]


def test_neighbours_differ_in_one_variable():
    box = Space(x=Real(0, 1), n=Integer(0, 4), c=Choice("a", "b", "c")).decisions
    points = box.encode([{"x": 0.3, "n": 0, "c": "b"}, {"x": 0.6, "n": 2, "c": "a"}]).numpy()
    trials, owners = neighbours(Region.of(box), points)
    rows, old = box.decode(torch.from_numpy(trials)), box.decode(torch.from_numpy(points))
    for row, owner in zip(rows, owners, strict=True):
        assert sum(row[name] != old[owner][name] for name in row) == 1
        assert row["x"] == old[owner]["x"]
    assert {row["n"] for row, owner in zip(rows, owners, strict=True) if owner == 1} == {1, 2, 3}
    assert np.unique(np.column_stack([owners, trials]), axis=0).shape[0] == len(trials)
