"""The fitted kernel between contexts, of every surrogate that has one."""

import pytest
import torch
from botorch.models import SingleTaskGP
from tests.surrogates.tables import table, uniform

from allweather.surrogates import GP, BoTorch


@pytest.mark.parametrize("surrogate", [GP("matern", outputscale="fit"), GP(draws=2)], ids=["gp", "mixture"])
def test_it_is_the_joint_kernel_at_equal_decisions(surrogate):
    posterior = surrogate.fit(table(12))
    kernel = getattr(posterior, "best", posterior).data.kernel
    a, b = uniform(5, 2, seed=1), uniform(3, 2, seed=2)
    decision = uniform(1, 2, seed=3)
    expected = kernel(torch.cat([decision.expand(5, 2), a], -1), torch.cat([decision.expand(3, 2), b], -1))
    torch.testing.assert_close(posterior.context_kernel(a, b), expected)


def test_a_botorch_model_has_that_of_its_covariance():
    posterior = BoTorch(lambda x, y: SingleTaskGP(x, y)).fit(table(12))
    a, b = uniform(5, 2, seed=1), uniform(3, 2, seed=2)
    joint = [torch.cat([torch.zeros(len(each), 2), each], -1) for each in (a, b)]
    expected = posterior.botorch.covar_module(*joint).to_dense().detach()
    torch.testing.assert_close(posterior.context_kernel(a, b), expected)
