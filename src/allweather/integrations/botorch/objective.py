"""Objectives over weighted contexts as risk measures for BoTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from botorch.acquisition.risk_measures import RiskMeasureMCObjective
from torch import Tensor

from allweather._utils.timing import one_thread
from allweather.contexts import Reference
from allweather.errors import require
from allweather.objectives import Band, Objective


class RobustMCObjective(RiskMeasureMCObjective):
    """An objective of posterior samples over the contexts of a reference, for BoTorch's Monte Carlo acquisitions.

    The model appends the contexts to each decision (`AppendFeatures(feature_set=reference.points)`), and the objective
    weights them; BoTorch's own risk measures weight all equally, and its CVaR averages one sample too many. For an
    objective that can be -inf, the value is the finite score that it is ranked by.

    Example:
        >>> from allweather import CVaR
        >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.2, 0.3, 0.5])
        >>> cvar = RobustMCObjective(CVaR(0.4), reference)
        >>> two_decisions = torch.tensor([1.0, 2.0, 3.0, 5.0, 5.0, 5.0], dtype=torch.float64)
        >>> cvar(two_decisions[:, None])
        tensor([1.5000, 5.0000], dtype=torch.float64)
    """

    points: Tensor
    weights: Tensor

    def __init__(
        self,
        objective: Objective,
        reference: Reference,
        preprocessing_function: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """Create an objective.

        Args:
            objective: the uncertainty objective, such as `DRO(KL(0.2))`; a radius that is a schedule must be
                evaluated first, by `.at(progress)`.
            reference: the contexts and their probabilities.
            preprocessing_function: reduces several outcomes to one, or changes its sign, as in BoTorch.
        """
        where, fits = "RobustMCObjective", isinstance(objective, Objective)
        require(fits, f"{where}(objective=...)", "be an objective such as CVaR(0.2)", objective)
        require(isinstance(reference, Reference), f"{where}(reference=...)", "be a Reference", reference)
        points, weights = Reference.checked(*reference, f"{where}(reference=...)")
        super().__init__(n_w=len(weights), preprocessing_function=preprocessing_function)
        self.objective = objective
        self.register_buffer("points", points)
        self.register_buffer("weights", weights)
        self._score(torch.zeros_like(weights))  # raises for a schedule now, not during a search

    @one_thread
    def forward(self, samples: Tensor, X: Tensor | None = None) -> Tensor:  # noqa: N803 (name of BoTorch)
        """Return the objective of samples.

        Args:
            samples: (sample_shape x batch_shape x (q * n_w) x m).
            X: not used.

        Returns:
            (sample_shape x batch_shape x q).
        """
        count, n = samples.shape[-2], self.n_w
        fits = count % n == 0
        require(fits, "RobustMCObjective(samples=...)", f"have {n} contexts for each decision", tuple(samples.shape))
        return self._score(self._prepare_samples(samples)).to(samples.dtype)

    def _score(self, values: Tensor) -> Tensor:
        return self.objective.upper(Band(values.double()), Reference(self.points.double(), self.weights.double()))
