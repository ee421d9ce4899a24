import pytest
import torch
from botorch.test_functions import synthetic

from allweather.problems.hartmann import Hartmann


@pytest.mark.parametrize("d", [3, 6])
def test_it_is_botorchs(d):
    joint = torch.rand(30, d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ours = Hartmann(d)(joint[:, :-1], joint[:, -1:]).diagonal()
    # BoTorch keeps its constants in single precision.
    torch.testing.assert_close(ours, synthetic.Hartmann(d, negate=True)(joint), rtol=1e-6, atol=1e-6)
