"""The fuzzers find nothing in a few draws; `python -m benchmarks fuzz` makes many."""

import numpy as np
import pytest
from benchmarks import fuzz


@pytest.mark.parametrize("act", [fuzz.worst_case, fuzz.study])
def test_a_few_draws(act):
    source = np.random.default_rng(5)
    assert [fuzz._tried(act, source) for _ in range(15)] == [""] * 15
