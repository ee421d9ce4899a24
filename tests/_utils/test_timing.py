import pytest
import torch

from allweather._utils.timing import Stopwatch, threads


def test_threads_are_given_back_also_after_trouble():
    before = torch.get_num_threads()
    inside = []

    def trouble():
        with threads(1):
            inside.append(torch.get_num_threads())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        trouble()
    assert inside == [1]
    assert torch.get_num_threads() == before


def test_stages_add_up():
    watch = Stopwatch()
    for _ in range(2):
        with watch("fit"):
            sum(range(1000))
    first = watch.seconds["fit"]
    with watch("fit"):
        pass
    assert watch.seconds["fit"] > first > 0
