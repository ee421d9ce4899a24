import builtins

import numpy as np
import pytest
import torch

from allweather import AllweatherError
from allweather.problems import problem
from allweather.problems.robot_push import rest


def test_the_disc_moves_away_from_the_hand():
    x, y = rest(-4.0, -3.0, 250)
    assert x > 1
    assert y / x == pytest.approx(0.75, abs=1e-6)
    assert rest(-4.0, -3.0, 10) == (0, 0)  # too short to reach it


def test_longer_pushes_go_further():
    ways = [np.hypot(*rest(-3.0, 0.0, steps)) for steps in (50, 100, 200, 300)]
    assert sorted(ways) == ways
    assert ways[-1] > 2


def test_the_engine_gives_the_same_again():
    first = rest(-2.3, 1.1, 170)
    rest.cache_clear()
    assert rest(-2.3, 1.1, 170) == first


def test_whole_steps_are_the_whole_truth():
    one = problem("robot-push", goal=(2.0, 2.0))
    points, _ = one.truth()
    assert len(points) == 290
    durations = torch.tensor([[0.5 / 290], [0.1 / 290], [0.9 / 290], [1.0]], dtype=torch.float64)
    values = one.values(torch.tensor([[0.3, 0.3]]), durations)[0]
    assert values[0] == values[1] == values[2]
    opposite, same_side = one.values(torch.tensor([[0.2, 0.2], [0.8, 0.8]]), torch.tensor([[0.6]]))
    assert opposite > same_side


def test_without_pymunk_it_says_what_to_do(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "pymunk":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AllweatherError, match=r"needs pymunk: `pip install .*\[robot\]"):
        problem("robot-push")
