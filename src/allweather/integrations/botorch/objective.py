"""Objectives over weighted contexts for BoTorch's Monte Carlo acquisitions: of one outcome, or several with limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from botorch.acquisition.multi_objective.multi_output_risk_measures import MultiOutputRiskMeasureMCObjective
from botorch.acquisition.risk_measures import RiskMeasureMCObjective
from torch import Tensor

from allweather._utils.timing import one_thread
from allweather.contexts import Reference
from allweather.errors import require, require_number
from allweather.objectives import Band, Expectation, Objective, Outcome


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


WHERE = "robust_outcomes"


def robust_outcomes(
    outcomes: Sequence[Outcome], reference: Reference, infeasible_cost: float = 0.0, eta: float = 1e-3
) -> OutcomesObjective:
    """Return the objective of a model with several outcomes, weighted by how well limits are kept.

    The model appends the contexts to each decision (`AppendFeatures(feature_set=reference.points)`), so BoTorch's own
    `constraints=` would be about single contexts. Here a limit is about the decision, as in `ConstrainedMCObjective`:
    objectives v become `(v + infeasible_cost) * sigmoid(margin / eta) - infeasible_cost`.

    Args:
        outcomes: what is wanted of each of the model's outcomes, in their order. With several objectives the result is
            one for multi-objective acquisitions.
        reference: the contexts and their probabilities.
        infeasible_cost: larger than minus the smallest objective; `botorch.acquisition.utils.get_infeasible_cost`.
        eta: how soft limits are, in the units of their outcomes.

    Example:
        >>> from allweather import AtLeast, Maximize
        >>> reference = Reference.checked([[0.0], [1.0]], [0.5, 0.5])
        >>> objective = robust_outcomes([Maximize(), AtLeast(0.9)], reference)
        >>> samples = torch.tensor([[1.0, 0.8], [3.0, 0.9], [2.0, 0.95], [2.0, 0.95]], dtype=torch.float64)
        >>> objective(samples).round(decimals=6).tolist()  # of two decisions, in two contexts each
        [0.0, 2.0]
    """
    listed = isinstance(outcomes, Sequence) and all(isinstance(each, Outcome) for each in outcomes)
    example = "be one for each outcome of the model: Maximize(), AtLeast(0.9, probability=0.9)"
    require(listed, f"{WHERE}(outcomes=...)", example, outcomes)
    count = sum(not each.constrains for each in outcomes)
    require(count > 0, f"{WHERE}(outcomes=...)", "hold something to maximize or minimize", outcomes)
    require_number(infeasible_cost, f"{WHERE}(infeasible_cost=...)", low=0)
    require_number(eta, f"{WHERE}(eta=...)")
    require(eta > 0, f"{WHERE}(eta=...)", "be above 0", eta)
    return (OutcomesObjective if count == 1 else SeveralObjectives)(outcomes, reference, infeasible_cost, eta)


class OutcomesObjective(RiskMeasureMCObjective):
    """One objective, weighted by how well limits are kept."""

    def __init__(self, outcomes: Sequence[Outcome], reference: Reference, infeasible_cost: float, eta: float) -> None:
        parts = [_measure(each, place, reference) for place, each in enumerate(outcomes)]
        super().__init__(n_w=parts[0].n_w)
        self.outcomes, self.parts = list(outcomes), torch.nn.ModuleList(parts)
        self.levels = [
            each.level(part.objective) for part, each in zip(parts, outcomes, strict=True) if each.constrains
        ]
        self.infeasible_cost, self.eta = infeasible_cost, eta

    def forward(self, samples: Tensor, X: Tensor | None = None) -> Tensor:  # noqa: N803 (name of BoTorch)
        """Return (sample_shape x batch_shape x q) of samples (sample_shape x batch_shape x (q * n_w) x m)."""
        return self.weighted(samples)[..., 0]

    def margins(self, samples: Tensor) -> Tensor:
        """By how much (sample_shape x batch_shape x q x limits) each limit is kept."""
        limits = [part for part, each in zip(self.parts, self.outcomes, strict=True) if each.constrains]
        return torch.stack([part(samples) - level for part, level in zip(limits, self.levels, strict=True)], -1)

    def weighted(self, samples: Tensor) -> Tensor:
        """The objectives (sample_shape x batch_shape x q x m') times how well limits are kept."""
        pairs = zip(self.parts, self.outcomes, strict=True)
        values = torch.stack([part(samples) for part, each in pairs if not each.constrains], -1)
        if all(not each.constrains for each in self.outcomes):
            return values
        kept = torch.sigmoid(self.margins(samples) / self.eta).prod(-1, keepdim=True)
        return (values + self.infeasible_cost) * kept - self.infeasible_cost


class SeveralObjectives(OutcomesObjective, MultiOutputRiskMeasureMCObjective):
    """Several objectives side by side, weighted by how well limits are kept."""

    def forward(self, samples: Tensor, X: Tensor | None = None) -> Tensor:  # noqa: N803 (name of BoTorch)
        """Return (sample_shape x batch_shape x q x m') of samples (sample_shape x batch_shape x (q * n_w) x m)."""
        return self.weighted(samples)


def _measure(outcome: Outcome, place: int, reference: Reference) -> RobustMCObjective:
    """The objective of one of the model's outcomes, in the direction in which larger is better."""
    sign = outcome.sign
    return RobustMCObjective(
        (outcome.measure or Expectation()).facing(sign), reference, lambda samples: sign * samples[..., place]
    )
